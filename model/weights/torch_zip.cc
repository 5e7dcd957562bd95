#include "model/weights/torch_zip.h"

#include <fmt/format.h>
#include <zip.h>

#include <cstring>
#include <map>
#include <utility>

#include "base/status.h"
#include "model/weights/torch_state.h"

namespace trivium {
namespace {

// libzip keeps some 300 bytes for each entry, which takes 46 in the file. An
// archive of 32 bits has at most 65,535; one of 64 bits says how many in a
// record that a locator near its end points at (APPNOTE.TXT, 4.3.14 and 15).
// No model has as many tensors.
constexpr uint64_t kMaxEntries = 65'535;

uint64_t Load64(std::span<const std::byte> bytes, size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

bool HasTooManyEntries(std::span<const std::byte> bytes) {
  constexpr size_t kLocatorBytes = 20;
  constexpr size_t kRecordBytes = 56;
  constexpr size_t kEndBytes = 22 + 65'535;  // with the longest comment
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()),
                             bytes.size());
  const size_t tail = kLocatorBytes + kEndBytes;
  size_t at = all.size() > tail ? all.size() - tail : 0;
  // There may be several, of which libzip takes one.
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

struct ZipCloser {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

// An open archive whose entries are copied into an arena.
class Archive {
 public:
  // The error says what is wrong with the file.
  static absl::StatusOr<Archive> Open(std::span<const std::byte> bytes,
                                      std::shared_ptr<CopyArena> arena) {
    if (HasTooManyEntries(bytes)) {
      return absl::InvalidArgumentError(fmt::format(
          "is a zip archive of more than {} entries; fetch it again",
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
    return Archive(archive, std::move(arena));
  }

  // The archive's name of `data.pkl`, or an error when there is none.
  absl::StatusOr<std::string> FindPickle() const {
    const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
    for (zip_int64_t i = 0; i < entries; ++i) {
      const char* name = zip_get_name(archive_.get(), i, ZIP_FL_ENC_RAW);
      if (name == nullptr) continue;
      const std::string_view view(name);
      const size_t slash = view.find('/');
      if (slash != view.npos && view.substr(slash + 1) == "data.pkl") {
        return std::string(view);
      }
    }
    return absl::InvalidArgumentError(
        "is a zip archive without an entry NAME/data.pkl, so no weights of "
        "torch; fetch it again");
  }

  bool Has(const std::string& name) const {
    return zip_name_locate(archive_.get(), name.c_str(), ZIP_FL_ENC_RAW) >= 0;
  }

  // Copies an entry.
  absl::StatusOr<std::span<const std::byte>> Read(
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
      return fail("is not described well; fetch the file again");
    }
    if (stat.comp_method != ZIP_CM_STORE ||
        stat.encryption_method != ZIP_EM_NONE) {
      return fail(
          "is compressed or encrypted, which torch never does; save "
          "the file with torch again");
    }
    const std::optional<std::span<std::byte>> copy =
        arena_->Allocate(stat.size);
    if (!copy) {
      return fail("claims more bytes than the file has; fetch it again");
    }
    const std::unique_ptr<zip_file_t, ZipCloser> entry(
        zip_fopen_index(archive_.get(), index, 0));
    if (entry == nullptr) {
      return fail(
          fmt::format("cannot be opened ({})",
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
    // The checksum is compared at the end, which a read beyond it reaches.
    std::byte beyond;
    if (zip_fread(entry.get(), &beyond, 1) != 0) {
      return fail("fails its checksum; fetch the file again");
    }
    return std::span<const std::byte>(*copy);
  }

 private:
  Archive(zip_t* archive, std::shared_ptr<CopyArena> arena)
      : archive_(archive), arena_(std::move(arena)) {}

  std::unique_ptr<zip_t, ZipCloser> archive_;
  std::shared_ptr<CopyArena> arena_;
};

}  // namespace

absl::StatusOr<TensorFile> ReadTorchZip(std::span<const std::byte> bytes) {
  const auto entries = std::make_shared<CopyArena>(bytes.size());

  TRIVIUM_ASSIGN_OR_RETURN(const Archive archive,
                           Archive::Open(bytes, entries));
  TRIVIUM_ASSIGN_OR_RETURN(const std::string pickle_name, archive.FindPickle());
  const std::string prefix =
      pickle_name.substr(0, pickle_name.size() - sizeof("data.pkl") + 1);
  if (const std::string name = prefix + "byteorder"; archive.Has(name)) {
    TRIVIUM_ASSIGN_OR_RETURN(const auto order, archive.Read(name));
    const std::string_view text(reinterpret_cast<const char*>(order.data()),
                                order.size());
    if (text != "little") {
      return absl::InvalidArgumentError(
          "was written by a big-endian machine; save it on a little-endian "
          "one");
    }
  }
  TRIVIUM_ASSIGN_OR_RETURN(const auto pickle_bytes, archive.Read(pickle_name));
  TRIVIUM_ASSIGN_OR_RETURN(const Pickle pickle, Unpickle(pickle_bytes));

  std::map<std::string, std::span<const std::byte>, std::less<>> storages;
  const StorageLookup lookup =
      [&](const std::string& key,
          int64_t size) -> absl::StatusOr<std::span<const std::byte>> {
    auto found = storages.find(key);
    if (found == storages.end()) {
      TRIVIUM_ASSIGN_OR_RETURN(const auto storage,
                               archive.Read(prefix + "data/" + key));
      found = storages.emplace(key, storage).first;
    }
    if (static_cast<int64_t>(found->second.size()) != size) {
      return absl::InvalidArgumentError(fmt::format(
          "its storage {} has {} bytes instead of {}; fetch the file again",
          Quoted(key), found->second.size(), size));
    }
    return found->second;
  };
  TRIVIUM_ASSIGN_OR_RETURN(
      TensorFile result,
      ReadTorchState(pickle, lookup,
                     std::make_shared<CopyArena>(bytes.size())));
  result.memory.push_back(entries);
  return result;
}

}  // namespace trivium
