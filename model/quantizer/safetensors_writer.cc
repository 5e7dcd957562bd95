// Tensors of wider elements come first, so that each is aligned to its elements
// as far as the data are: readers view the mapped file.
#include "model/quantizer/safetensors_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/open_file.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using nlohmann::json;

// The header's length in bytes is a multiple of this.
constexpr size_t kAlignment = 8;

const char* TypeName(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return "F16";
    case DType::kBf16:
      return "BF16";
    case DType::kI64:
      return "I64";
    case DType::kI32:
      return "I32";
    case DType::kI8:
      return "I8";
    case DType::kU8:
      return "U8";
    case DType::kBool:
      return "BOOL";
    case DType::kF8E4m3:
      return "F8_E4M3";
    case DType::kF8E8m0:
      return "F8_E8M0";
    default:
      return "F32";
  }
}

int64_t BytesOf(const SafetensorsWriter::Entry& entry) {
  int64_t bytes = DTypeSize(entry.dtype);
  for (const int64_t size : entry.shape) bytes *= size;
  return bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::Create(
    const std::string& path, std::span<const Entry> entries) {
  std::vector<const Entry*> sorted;
  for (const Entry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const Entry* a, const Entry* b) {
    const int a_size = DTypeSize(a->dtype), b_size = DTypeSize(b->dtype);
    return std::tie(b_size, a->name) < std::tie(a_size, b->name);
  });
  json header = json::object();
  header["__metadata__"] = {{"format", "pt"}};  // Transformers wants it
  int64_t end = 0;
  for (const Entry* const entry : sorted) {
    const int64_t begin = end;
    end += BytesOf(*entry);
    header[entry->name] = {{"dtype", TypeName(entry->dtype)},
                           {"shape", entry->shape},
                           {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const uint64_t length = text.size();
  std::string head(sizeof(length), '\0');
  std::memcpy(head.data(), &length, sizeof(length));
  head += text;

  UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  const int descriptor = file.get(), error = errno;
  std::unique_ptr<SafetensorsWriter> writer(
      new SafetensorsWriter(path, std::move(file)));
  if (descriptor < 0) return writer->Failed(error);
  end = static_cast<int64_t>(head.size());
  for (const Entry* const entry : sorted) {
    writer->begin_.emplace(entry->name, end);
    end += BytesOf(*entry);
  }
  writer->bytes_ = end;
  // Some file systems cannot reserve, and then a full disk is found later.
  if (fallocate(descriptor, 0, 0, end) != 0 && errno != EOPNOTSUPP &&
      errno != ENOSYS) {
    return writer->Failed(errno);
  }
  TRIVIUM_RETURN_IF_ERROR(writer->WriteAt(0, std::as_bytes(std::span(head))));
  return writer;
}

absl::Status SafetensorsWriter::Failed(int error) const {
  return absl::UnavailableError(
      fmt::format("cannot write {}: {}", path_, std::strerror(error)));
}

absl::Status SafetensorsWriter::Write(std::string_view name, int64_t begin,
                                      std::span<const std::byte> bytes) {
  const auto found = begin_.find(name);
  if (found == begin_.end()) {
    return absl::InternalError(fmt::format("{}: no tensor {}", path_, name));
  }
  return WriteAt(found->second + begin, bytes);
}

absl::Status SafetensorsWriter::WriteAt(int64_t at,
                                        std::span<const std::byte> bytes) {
  const int error = WriteAllAt(file_.get(), bytes, at);
  return error == 0 ? absl::OkStatus() : Failed(error);
}

absl::Status SafetensorsWriter::Finish() {
  return fsync(file_.get()) == 0 ? absl::OkStatus() : Failed(errno);
}

}  // namespace trivium
