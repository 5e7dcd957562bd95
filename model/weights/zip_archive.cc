#include "model/weights/zip_archive.h"

#include <fmt/format.h>
#include <zip.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "model/weights/tensor_file.h"

namespace trivium {
namespace {

// libzip keeps about 300 bytes for each entry, which takes 46 in the file, so a
// small file could claim much memory. A 32-bit archive has at most 65,535
// entries; a 64-bit one states its number in a record that a locator near its
// end points at (APPNOTE.TXT, 4.3.14 and 15). No model has as many tensors.
constexpr uint64_t kMaxEntries = 65'535;

uint64_t Load64(std::span<const std::byte> bytes, size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

bool HasTooManyEntries(std::span<const std::byte> bytes) {
  constexpr size_t kLocatorBytes = 20;
  constexpr size_t kRecordBytes = 56;
  constexpr size_t kEndBytes = 22 + 65'535;  // including the longest comment
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()),
                             bytes.size());
  const size_t tail = kLocatorBytes + kEndBytes;
  size_t at = all.size() > tail ? all.size() - tail : 0;
  // There may be several locators, of which libzip uses one, so all are
  // checked.
  while ((at = all.find("PK\x06\x07", at)) != all.npos &&
         at + kLocatorBytes <= all.size()) {
    const uint64_t record = Load64(bytes, at + 8);
    if (record <= all.size() && all.size() - record >= kRecordBytes &&
        (Load64(bytes, record + 24) > kMaxEntries ||
         Load64(bytes, record + 32) > kMaxEntries)) {
      return true;
    }
    ++at;
  }
  return false;
}

struct FileCloser {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

}  // namespace

void ZipArchive::Closer::operator()(zip_t* archive) const {
  zip_discard(archive);
}

absl::StatusOr<ZipArchive> ZipArchive::Open(std::span<const std::byte> bytes,
                                            std::shared_ptr<CopyArena> arena) {
  if (HasTooManyEntries(bytes)) {
    return absl::InvalidArgumentError(
        fmt::format("is a zip archive of more than {} entries; fetch it again",
                    kMaxEntries));
  }
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source =
      zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = source == nullptr
                       ? nullptr
                       : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (source != nullptr) zip_source_free(source);
    return absl::InvalidArgumentError(
        fmt::format("is a damaged zip archive ({}); fetch it again", why));
  }
  zip_error_fini(&error);
  return ZipArchive(archive, std::move(arena));
}

std::vector<std::string> ZipArchive::Names() const {
  std::vector<std::string> names;
  const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* name = zip_get_name(archive_.get(), i, ZIP_FL_ENC_RAW);
    if (name != nullptr) names.emplace_back(name);
  }
  return names;
}

bool ZipArchive::Has(const std::string& name) const {
  return zip_name_locate(archive_.get(), name.c_str(), ZIP_FL_ENC_RAW) >= 0;
}

absl::StatusOr<std::span<const std::byte>> ZipArchive::Read(
    const std::string& name) const {
  const auto fail = [&](const std::string& what) {
    return absl::InvalidArgumentError(
        fmt::format("archive entry {} {}", Quoted(name), what));
  };
  const zip_int64_t index =
      zip_name_locate(archive_.get(), name.c_str(), ZIP_FL_ENC_RAW);
  if (index < 0) return fail("is missing; fetch the file again");
  zip_stat_t stat;
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(archive_.get(), index, 0, &stat) != 0 ||
      (stat.valid & kNeeded) != kNeeded) {
    return fail("has no valid description; fetch the file again");
  }
  if (stat.comp_method != ZIP_CM_STORE ||
      stat.encryption_method != ZIP_EM_NONE) {
    return fail(
        "is compressed or encrypted, which is not supported; use the file as "
        "it was first written");
  }
  const std::optional<std::span<std::byte>> copy = arena_->Allocate(stat.size);
  if (!copy) {
    return fail("claims more bytes than the file has; fetch it again");
  }
  const std::unique_ptr<zip_file_t, FileCloser> entry(
      zip_fopen_index(archive_.get(), index, 0));
  if (entry == nullptr) {
    return fail(fmt::format("cannot be opened ({})",
                            zip_error_strerror(zip_get_error(archive_.get()))));
  }
  for (size_t done = 0; done < copy->size();) {
    const zip_int64_t count =
        zip_fread(entry.get(), copy->data() + done, copy->size() - done);
    if (count <= 0) {
      return fail("is truncated or fails its checksum; fetch the file again");
    }
    done += static_cast<size_t>(count);
  }
  // libzip compares the checksum at the end, which a read beyond it reaches.
  std::byte beyond;
  if (zip_fread(entry.get(), &beyond, 1) != 0) {
    return fail("fails its checksum; fetch the file again");
  }
  return std::span<const std::byte>(*copy);
}

}  // namespace trivium
