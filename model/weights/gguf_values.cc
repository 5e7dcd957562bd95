#include "model/weights/gguf_values.h"

#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/weights/tensor_file.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr size_t kMaxName = 1024;  // bytes of a value's or tensor's name
constexpr int kMaxListDepth = 4;
// Approximate memory of a JSON value without the bytes of a long text.
constexpr size_t kValueBytes = sizeof(json) + 2 * sizeof(std::string);

enum ValueType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kText,
  kList,
  kUint64,
  kInt64,
  kFloat64,
};

absl::Status BrokenValue(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

}  // namespace

absl::Status GgufValues::Truncated() {
  return BrokenValue(
      "it ends within its header; it is truncated or not a GGUF file; fetch it "
      "again");
}

absl::StatusOr<std::string_view> GgufValues::ParseText() {
  uint64_t size = 0;
  TRIVIUM_RETURN_IF_ERROR(Parse(&size));
  if (size > left_.size()) return Truncated();
  const std::string_view text(reinterpret_cast<const char*>(left_.data()),
                              size);
  left_ = left_.subspan(size);
  return text;
}

absl::StatusOr<std::string> GgufValues::ParseName() {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string_view name, ParseText());
  if (name.empty() || name.size() > kMaxName || !IsUtf8(name)) {
    return BrokenValue(fmt::format(
        "the name {} is empty, longer than {} bytes or not UTF-8; fetch the "
        "file again",
        Quoted(name), kMaxName));
  }
  TRIVIUM_RETURN_IF_ERROR(Spend(name.size() + 2 * kValueBytes));
  return std::string(name);
}

absl::Status GgufValues::Spend(uint64_t bytes) {
  if (bytes > kTokenizerJson.memory - spent_) {
    return BrokenValue(
        fmt::format("its metadata needs more than {} MiB of memory",
                    kTokenizerJson.memory >> 20));
  }
  spent_ += bytes;
  return absl::OkStatus();
}

template <class T>
absl::StatusOr<json> GgufValues::ParseNumber() {
  T value{};
  TRIVIUM_RETURN_IF_ERROR(Parse(&value));
  return json(value);
}

absl::StatusOr<json> GgufValues::ParseOfType(uint32_t type, int depth) {
  switch (type) {
    case kUint8:
      return TakeNumber<uint8_t>();
    case kInt8:
      return TakeNumber<int8_t>();
    case kUint16:
      return TakeNumber<uint16_t>();
    case kInt16:
      return TakeNumber<int16_t>();
    case kUint32:
      return TakeNumber<uint32_t>();
    case kInt32:
      return TakeNumber<int32_t>();
    case kFloat32:
      return TakeNumber<float>();
    case kUint64:
      return TakeNumber<uint64_t>();
    case kInt64:
      return TakeNumber<int64_t>();
    case kFloat64:
      return TakeNumber<double>();
    case kBool: {
      uint8_t value = 0;
      TRIVIUM_RETURN_IF_ERROR(Parse(&value));
      if (value > 1)
        return BrokenValue("it is a boolean that is neither 0 nor 1");
      return json(value == 1);
    }
    case kText: {
      TRIVIUM_ASSIGN_OR_RETURN(const std::string_view text, ParseText());
      TRIVIUM_RETURN_IF_ERROR(Spend(text.size()));
      if (!IsUtf8(text)) return BrokenValue("it is a text that is not UTF-8");
      return json(std::string(text));
    }
    case kList:
      return ParseList(depth + 1);
    default:
      return BrokenValue(
          fmt::format("its type is {}, which does not exist", type));
  }
}

absl::StatusOr<json> GgufValues::ParseList(int depth) {
  if (depth > kMaxListDepth) {
    return BrokenValue(
        fmt::format("its lists are nested deeper than {}", kMaxListDepth));
  }
  uint32_t type = 0;
  uint64_t count = 0;
  TRIVIUM_RETURN_IF_ERROR(Parse(&type));
  TRIVIUM_RETURN_IF_ERROR(Parse(&count));
  if (count > left_.size()) return Truncated();  // at least one byte each
  TRIVIUM_RETURN_IF_ERROR(Spend(count * kValueBytes));
  json list = json::array();
  list.get_ref<json::array_t&>().reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(json value, ParseOfType(type, depth));
    list.push_back(std::move(value));
  }
  return list;
}

absl::StatusOr<json> GgufValues::ParseValue() {
  uint32_t type = 0;
  TRIVIUM_RETURN_IF_ERROR(Parse(&type));
  return ParseOfType(type, 0);
}

}  // namespace trivium
