#include "server/documents/zip_package.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

absl::Status NotZip(const std::string& why) {
  return absl::InvalidArgumentError(fmt::format(
      "it is not a zip archive, or is damaged ({}); save it again", why));
}

absl::Status WrongPart(const std::string& name, const std::string& what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", Shorten(name), what));
}

// Returns what a file is that is no archive, and what to do; empty: unknown.
std::string OtherKind(std::string_view data) {
  // OLE's compound files (MS-CFB) hold documents of Office until 2003, and
  // those of later Offices that have a password (MS-OFFCRYPTO 2.3.1).
  constexpr std::string_view kCompound("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1");
  constexpr std::string_view kEncrypted(
      "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e", 31);
  if (data.starts_with(kCompound)) {
    return data.find(kEncrypted) != data.npos
               ? "it is encrypted with a password; save it without one"
               : "it is a file of Office 97 to 2003; save it in the format of "
                 "a later Office";
  }
  if (data.starts_with("%PDF-")) {
    return "it is a PDF, which is not read; send the document that it was made "
           "of";
  }
  if (data.starts_with("{\\rtf")) {
    return "it is a file in RTF, which is not read; save it in another format";
  }
  return "";
}

struct ErrorFini {
  zip_error_t error;
  ErrorFini() { zip_error_init(&error); }
  ~ErrorFini() { zip_error_fini(&error); }
  std::string text() { return zip_error_strerror(&error); }
};

struct ArchiveDiscard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct SourceFree {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
struct FileClose {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

// A 64-bit archive can claim any number of entries, for which libzip takes
// memory. Documents are smaller than 4 GiB and need none.
bool IsZip64(std::string_view data) {
  constexpr size_t kTail = 20 + 22 + 65'535;
  return data.substr(data.size() - std::min(data.size(), kTail))
             .find(std::string_view("PK\x06\x07")) != data.npos;
}

// Returns a source that reads `data`. One that will be written owns a copy:
// libzip 1.7.3 shares the bytes before the first changed part between what it
// read and what it writes, and frees them with the latter, whoever owns them.
zip_source_t* NewSource(std::string_view data, bool written,
                        zip_error_t* error) {
  if (!written) {
    return zip_source_buffer_create(data.data(), data.size(), 0, error);
  }
  std::unique_ptr<void, decltype(&std::free)> copy(
      std::malloc(std::max<size_t>(data.size(), 1)), &std::free);
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy.get(), data.data(), data.size());
  zip_source_t* const source =
      zip_source_buffer_create(copy.get(), data.size(), /*freep=*/1, error);
  if (source != nullptr) copy.release();
  return source;
}

// Opens an archive. It may be written if `kept` is not null; `kept` then
// becomes its source.
absl::StatusOr<zip_t*> OpenArchive(std::string_view data, int flags,
                                   zip_source_t** kept) {
  if (const std::string kind = OtherKind(data); !kind.empty()) {
    return absl::InvalidArgumentError(kind);
  }
  if (IsZip64(data)) {
    return absl::InvalidArgumentError(
        "it is a 64-bit zip archive, which is not read; save it again with "
        "another program");
  }
  ErrorFini error;
  std::unique_ptr<zip_source_t, SourceFree> source(
      NewSource(data, /*written=*/kept != nullptr, &error.error));
  if (source == nullptr) return NotZip(error.text());
  zip_t* const archive =
      zip_open_from_source(source.get(), flags, &error.error);
  if (archive == nullptr) return NotZip(error.text());
  if (kept != nullptr) {
    zip_source_keep(source.get());
    *kept = source.get();
  }
  source.release();  // the archive has it
  return archive;
}

// Reads all that an archive's source has become.
absl::StatusOr<std::string> ReadSource(zip_source_t* source) {
  if (zip_source_open(source) < 0) {
    return absl::InternalError("the new archive cannot be read");
  }
  std::string out;
  char buffer[1 << 14];
  zip_int64_t size = 0;
  while ((size = zip_source_read(source, buffer, sizeof(buffer))) > 0) {
    out.append(buffer, static_cast<size_t>(size));
  }
  zip_source_close(source);
  if (size < 0) return absl::InternalError("the new archive cannot be read");
  return out;
}

}  // namespace

ZipPackage::ZipPackage(ZipPackage&& other) noexcept
    : archive_(std::exchange(other.archive_, nullptr)),
      limits_(other.limits_),
      left_(other.left_) {}

ZipPackage::~ZipPackage() {
  if (archive_ != nullptr) zip_discard(archive_);
}

absl::StatusOr<ZipPackage> ZipPackage::Open(std::string_view data,
                                            const Limits& limits) {
  TRIVIUM_ASSIGN_OR_RETURN(zip_t* const archive,
                           OpenArchive(data, ZIP_RDONLY, nullptr));
  const auto size = static_cast<int64_t>(data.size());
  const int64_t by_ratio = size > limits.total_bytes
                               ? limits.total_bytes
                               : (1 << 20) + size * limits.ratio;
  ZipPackage package(archive, limits, std::min(limits.total_bytes, by_ratio));
  const int64_t entries = zip_get_num_entries(archive, 0);
  if (entries > limits.entries) {
    return absl::InvalidArgumentError(
        fmt::format("it is an archive of {} entries, and at most {} are read",
                    entries, limits.entries));
  }
  return package;
}

std::vector<std::string> ZipPackage::Names() const {
  std::vector<std::string> names;
  absl::flat_hash_set<std::string> seen;
  const int64_t entries = zip_get_num_entries(archive_, 0);
  for (int64_t i = 0; i < entries; ++i) {
    const char* const name =
        zip_get_name(archive_, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_GUESS);
    if (name != nullptr && seen.insert(name).second) names.emplace_back(name);
  }
  return names;
}

absl::StatusOr<std::string> ZipPackage::Read(const std::string& name) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat(archive_, name.c_str(), 0, &stat) < 0) {
    return WrongPart(name, "the archive lacks it");
  }
  const int64_t most = std::min(left_, limits_.part_bytes);
  const auto too_large = [&] {
    return WrongPart(name, fmt::format("unpacked, it has more than the {} "
                                       "bytes that may still be read of this "
                                       "document; split it",
                                       most));
  };
  if ((stat.valid & ZIP_STAT_SIZE) != 0 &&
      stat.size > static_cast<zip_uint64_t>(most)) {
    return too_large();
  }
  const std::unique_ptr<zip_file_t, FileClose> file(
      zip_fopen(archive_, name.c_str(), 0));
  if (file == nullptr) {
    return WrongPart(name, zip_error_strerror(zip_get_error(archive_)));
  }
  std::string out;
  char buffer[1 << 14];
  zip_int64_t size = 0;
  while ((size = zip_fread(file.get(), buffer, sizeof(buffer))) > 0) {
    out.append(buffer, static_cast<size_t>(size));
    if (static_cast<int64_t>(out.size()) > most) return too_large();
  }
  if (size < 0) {
    return WrongPart(name, zip_error_strerror(zip_file_get_error(file.get())));
  }
  left_ -= static_cast<int64_t>(out.size());
  return out;
}

absl::StatusOr<std::string> ZipPackage::Replace(
    std::string_view data, const std::map<std::string, std::string>& parts) {
  zip_source_t* kept = nullptr;
  TRIVIUM_ASSIGN_OR_RETURN(zip_t* const opened, OpenArchive(data, 0, &kept));
  std::unique_ptr<zip_t, ArchiveDiscard> archive(opened);
  const std::unique_ptr<zip_source_t, SourceFree> source(kept);
  for (const auto& [name, content] : parts) {
    const zip_int64_t index = zip_name_locate(archive.get(), name.c_str(), 0);
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (index < 0 ||
        zip_stat_index(archive.get(), static_cast<zip_uint64_t>(index), 0,
                       &stat) < 0) {
      return WrongPart(name, "the archive lacks it");
    }
    const auto at = static_cast<zip_uint64_t>(index);
    zip_source_t* const part =
        zip_source_buffer(archive.get(), content.data(), content.size(), 0);
    if (part == nullptr || zip_file_replace(archive.get(), at, part, 0) < 0) {
      if (part != nullptr) zip_source_free(part);
      return WrongPart(name, zip_error_strerror(zip_get_error(archive.get())));
    }
    zip_file_set_mtime(archive.get(), at, stat.mtime, 0);
    zip_set_file_compression(archive.get(), at, stat.comp_method, 0);
  }
  if (zip_close(archive.get()) < 0) {
    return NotZip(zip_error_strerror(zip_get_error(archive.get())));
  }
  archive.release();
  return ReadSource(source.get());
}

}  // namespace trivium
