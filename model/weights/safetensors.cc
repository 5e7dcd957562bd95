// The header is JSON of bounded size and memory (ParseJson). Each entry is
// checked by itself: type, shape, offsets within the data, and size equal to
// the shape's. Then all ranges, sorted, must cover the data exactly: no
// overlap, no gap. Tensors are views of the file and are not aligned.
#include "model/weights/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/json.h"
#include "base/status.h"

namespace trivium {
namespace {

using nlohmann::json;

// About 100 bytes per tensor, so this allows more tensors than any file has.
// The format's own limit of 100 MB would need gigabytes to parse.
constexpr JsonLimits kHeaderLimits = {size_t{16} << 20, size_t{128} << 20};

std::optional<DType> ParseDType(const std::string& name) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"F32", DType::kF32},        {"F16", DType::kF16},
      {"BF16", DType::kBf16},      {"I64", DType::kI64},
      {"I32", DType::kI32},        {"I8", DType::kI8},
      {"U8", DType::kU8},          {"BOOL", DType::kBool},
      {"F8_E4M3", DType::kF8E4m3}, {"F8_E8M0", DType::kF8E8m0}};
  for (const auto& [type_name, dtype] : kTypes) {
    if (name == type_name) return dtype;
  }
  return std::nullopt;
}

// Parses a JSON array of integers in [0, 2^63).
std::optional<std::vector<int64_t>> ParseSizes(const json& value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const json& entry : value) {
    if (!entry.is_number_unsigned() ||
        entry.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
      return std::nullopt;
    }
    sizes.push_back(static_cast<int64_t>(entry.get<uint64_t>()));
  }
  return sizes;
}

struct Range {
  int64_t begin;
  int64_t end;
  const std::string* name;
};

// Returns the tensor that `entry` describes, and the range of its data. The
// error says what is wrong, without file and tensor.
absl::StatusOr<TensorView> ParseTensor(const json& entry,
                                       std::span<const std::byte> data,
                                       Range* range) {
  const auto fail = [](const std::string& what) {
    return absl::InvalidArgumentError(what);
  };
  if (!entry.is_object()) return fail("its entry is not an object");
  const auto type = entry.find("dtype");
  if (type == entry.end() || !type->is_string()) {
    return fail("it has no dtype");
  }
  const std::string& type_name = type->get_ref<const std::string&>();
  const std::optional<DType> dtype = ParseDType(type_name);
  if (!dtype) {
    return fail(
        fmt::format("type {} is not supported; convert it to F32, F16 or BF16",
                    Quoted(type_name)));
  }
  const auto shape_entry = entry.find("shape");
  const auto shape =
      shape_entry == entry.end() ? std::nullopt : ParseSizes(*shape_entry);
  if (!shape) return fail("its shape is not a list of sizes");
  const auto offsets_entry = entry.find("data_offsets");
  const auto offsets =
      offsets_entry == entry.end() ? std::nullopt : ParseSizes(*offsets_entry);
  if (!offsets || offsets->size() != 2) {
    return fail("its data_offsets are not two positions");
  }
  range->begin = (*offsets)[0];
  range->end = (*offsets)[1];
  if (range->begin > range->end) return fail("it ends before it begins");
  if (range->end > static_cast<int64_t>(data.size())) {
    return fail(fmt::format(
        "it ends at byte {} of {} bytes of data; the file is truncated, fetch "
        "it again",
        range->end, data.size()));
  }
  const std::optional<int64_t> elements = ElementCount(*shape);
  const std::optional<int64_t> bytes =
      elements ? ByteCount(*elements, *dtype) : std::nullopt;
  if (bytes != range->end - range->begin) {
    return fail(fmt::format(
        "its shape [{}] of {} does not match the {} bytes that it has",
        fmt::join(*shape, ", "), type_name, range->end - range->begin));
  }
  return TensorView{*dtype, *shape,
                    data.subspan(range->begin, range->end - range->begin)};
}

// Checks that every byte of the data belongs to exactly one tensor.
absl::Status CheckCoverage(std::vector<Range> ranges, int64_t data_size) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t covered = 0;
  for (const Range& range : ranges) {
    if (range.begin < covered) {
      return absl::InvalidArgumentError(
          fmt::format("tensor {} overlaps another; fetch the file again",
                      Quoted(*range.name)));
    }
    if (range.begin > covered) {
      return absl::InvalidArgumentError(fmt::format(
          "{} bytes before tensor {} belong to no tensor; fetch the file again",
          range.begin - covered, Quoted(*range.name)));
    }
    covered = range.end;
  }
  if (covered != data_size) {
    return absl::InvalidArgumentError(fmt::format(
        "{} bytes at its end belong to no tensor; fetch the file again",
        data_size - covered));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorFile> ReadSafetensors(std::span<const std::byte> bytes) {
  uint64_t header_size = 0;
  if (bytes.size() < sizeof(header_size)) {
    return absl::InvalidArgumentError(
        fmt::format("its {} bytes are not a safetensors file; fetch it again",
                    bytes.size()));
  }
  std::memcpy(&header_size, bytes.data(), sizeof(header_size));
  bytes = bytes.subspan(sizeof(header_size));
  if (header_size > bytes.size()) {
    return absl::InvalidArgumentError(
        fmt::format("claims a header of {} bytes, but {} follow; it is "
                    "truncated or not a safetensors file; fetch it again",
                    header_size, bytes.size()));
  }
  const char* text = reinterpret_cast<const char*>(bytes.data());
  const absl::StatusOr<json> parsed =
      ParseJson(std::string_view(text, header_size), kHeaderLimits);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("the header {}; fetch the file again",
                    std::string(parsed.status().message())));
  }
  const json& header = *parsed;
  if (!header.is_object()) {
    return absl::InvalidArgumentError(
        "the header is not a JSON object; fetch the file again");
  }
  const std::span<const std::byte> data = bytes.subspan(header_size);
  TensorFile result;
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    Range range{};
    absl::StatusOr<TensorView> tensor = ParseTensor(entry, data, &range);
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("tensor {}: {}", Quoted(name),
                      std::string(tensor.status().message())));
    }
    const auto added = result.tensors.emplace(name, *std::move(tensor)).first;
    range.name = &added->first;
    ranges.push_back(range);
  }
  TRIVIUM_RETURN_IF_ERROR(
      CheckCoverage(std::move(ranges), static_cast<int64_t>(data.size())));
  return result;
}

}  // namespace trivium
