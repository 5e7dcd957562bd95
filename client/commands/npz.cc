#include "client/commands/npz.h"

#include <zip.h>

#include <algorithm>

#include "base/utf8.h"
#include "client/commands/io.h"
#include "fmt/format.h"

namespace trivium {
namespace {

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

std::vector<uint32_t> CodePoints(std::string_view text) {
  std::vector<uint32_t> points;
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    points.push_back(first.value);
    text.remove_prefix(first.size);
  }
  return points;
}

absl::Status ZipFailure(const std::string& path, const char* why) {
  return IoError("write", path.c_str(), std::string(why));
}

}  // namespace

void NpzWriter::Add(const std::string& name, const std::vector<size_t>& shape,
                    const std::vector<float>& values) {
  AddEntry(name, "<f4", shape, BytesOf(values));
}

void NpzWriter::Add(const std::string& name,
                    const std::vector<uint32_t>& values) {
  AddEntry(name, "<u4", {values.size()}, BytesOf(values));
}

void NpzWriter::Add(const std::string& name,
                    const std::vector<std::string>& values) {
  std::vector<std::vector<uint32_t>> texts;
  size_t longest = 1;
  for (const std::string& value : values) {
    texts.push_back(CodePoints(value));
    longest = std::max(longest, texts.back().size());
  }
  // All strings have the same length, padded with zeros.
  std::vector<uint32_t> all(values.size() * longest);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::copy(texts[i].begin(), texts[i].end(), all.begin() + i * longest);
  }
  AddEntry(name, fmt::format("<U{}", longest), {values.size()}, BytesOf(all));
}

// Writes version 1.0 of numpy's format (numpy.lib.format).
void NpzWriter::AddEntry(const std::string& name, const std::string& type,
                         const std::vector<size_t>& shape,
                         const std::string& values) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}",
                  type, fmt::join(shape, ", "));
  // The terminating 0 is the minor version.
  constexpr char kMagic[] = "\x93NUMPY\x01";
  constexpr size_t kBefore = sizeof(kMagic) + 2;
  // The values begin at a multiple of 64 bytes.
  header.append(63 - (kBefore + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic, sizeof(kMagic));
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  entries_.push_back({name + ".npy", bytes + header + values});
}

absl::Status NpzWriter::Write(const std::string& path) const {
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const absl::Status status = ZipFailure(path, zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
  }
  for (const Entry& entry : entries_) {
    zip_source_t* source =
        zip_source_buffer(archive, entry.bytes.data(), entry.bytes.size(), 0);
    const zip_int64_t index = source == nullptr
                                  ? -1
                                  : zip_file_add(archive, entry.name.c_str(),
                                                 source, ZIP_FL_ENC_UTF_8);
    if (index < 0 ||
        zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) != 0) {
      const absl::Status status = ZipFailure(path, zip_strerror(archive));
      if (source != nullptr && index < 0) zip_source_free(source);
      zip_discard(archive);
      return status;
    }
  }
  if (zip_close(archive) != 0) {
    const absl::Status status = ZipFailure(path, zip_strerror(archive));
    zip_discard(archive);
    return status;
  }
  return absl::OkStatus();
}

}  // namespace trivium
