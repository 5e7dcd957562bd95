#include "model/weights/torch_zip.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/status.h"
#include "model/weights/torch_state.h"
#include "model/weights/zip_archive.h"

namespace trivium {
namespace {

// Returns the archive's name of `data.pkl`, or an error if there is none.
absl::StatusOr<std::string> FindPickle(const ZipArchive& archive) {
  for (const std::string& name : archive.Names()) {
    const size_t slash = name.find('/');
    if (slash != name.npos && name.substr(slash + 1) == "data.pkl") return name;
  }
  return absl::InvalidArgumentError(
      "is a zip archive without an entry NAME/data.pkl, so it has no torch "
      "weights; fetch it again");
}

}  // namespace

absl::StatusOr<TensorFile> ReadTorchZip(std::span<const std::byte> bytes) {
  const auto entries = std::make_shared<CopyArena>(bytes.size());

  TRIVIUM_ASSIGN_OR_RETURN(const ZipArchive archive,
                           ZipArchive::Open(bytes, entries));
  TRIVIUM_ASSIGN_OR_RETURN(const std::string pickle_name, FindPickle(archive));
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
