#include "model/weights/torch_legacy.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <utility>

#include "base/status.h"
#include "model/weights/torch_state.h"

namespace trivium {
namespace {

using Kind = PickleValue::Kind;

// 0x1950a86a20f9469cfc6c, little-endian: torch's MAGIC_NUMBER.
constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19",
                                  10);
constexpr int64_t kProtocol = 1001;

using StorageMap = std::map<std::string, std::span<const std::byte>>;

absl::Status LegacyProblem(std::string what) {
  return absl::InvalidArgumentError(std::move(what));
}

absl::Status CheckPreamble(const Pickle& magic, const Pickle& protocol,
                           const Pickle& system) {
  const PickleValue& number = magic.at(magic.root);
  if (number.kind != Kind::kBytes || number.text != kMagic) {
    return LegacyProblem("does not begin like torch weights; fetch it again");
  }
  const PickleValue& version = protocol.at(protocol.root);
  if (version.kind != Kind::kInteger || version.integer != kProtocol) {
    return LegacyProblem(
        "is of an unknown version of torch's format; save it with a current "
        "torch");
  }
  const PickleValue& info = system.at(system.root);
  const PickleValue* little = system.Find(info, "little_endian");
  if (little == nullptr || little->kind != Kind::kBool ||
      little->integer == 0) {
    return LegacyProblem(
        "was written by a big-endian machine; save it on a little-endian one");
  }
  return absl::OkStatus();
}

// Returns the storages that the state dict names, which have the element types;
// the storages themselves do not tell.
std::map<std::string, TorchStorage> NamedStorages(const Pickle& state) {
  std::map<std::string, TorchStorage> named;
  for (const PickleValue& value : state.values) {
    if (value.kind != Kind::kStorage) continue;
    std::optional<TorchStorage> storage = ParseTorchStorage(state, value);
    if (storage) named.emplace(storage->key, *std::move(storage));
  }
  return named;
}

// Reads the storages after the pickles, in the order of `keys`.
absl::StatusOr<StorageMap> ReadStorages(std::span<const std::byte> bytes,
                                        const Pickle& state,
                                        const Pickle& keys) {
  const std::map<std::string, TorchStorage> named = NamedStorages(state);
  StorageMap storages;
  for (const uint32_t item : keys.at(keys.root).items) {
    const std::string& key = keys.at(item).text;
    const auto storage = named.find(key);
    if (storage == named.end()) {
      return LegacyProblem(
          fmt::format("storage {} belongs to no tensor; fetch the file again",
                      Quoted(key)));
    }
    if (!storage->second.dtype) {
      return LegacyProblem(
          fmt::format("storage {} is a {}, which is not supported; "
                      "save the tensors as float32",
                      Quoted(key), storage->second.type));
    }
    int64_t elements = 0;
    if (bytes.size() < sizeof(elements)) {
      return LegacyProblem(
          fmt::format("ends before storage {}; it is truncated, fetch it again",
                      Quoted(key)));
    }
    std::memcpy(&elements, bytes.data(), sizeof(elements));
    bytes = bytes.subspan(sizeof(elements));
    const std::optional<int64_t> size =
        ByteCount(elements, *storage->second.dtype);
    if (elements < 0 || !size || *size > static_cast<int64_t>(bytes.size())) {
      return LegacyProblem(
          fmt::format("storage {} claims {} elements, but {} bytes are left; "
                      "the file is truncated, fetch it again",
                      Quoted(key), elements, bytes.size()));
    }
    if (!storages.emplace(key, bytes.subspan(0, *size)).second) {
      return LegacyProblem(
          fmt::format("storage {} appears twice", Quoted(key)));
    }
    bytes = bytes.subspan(*size);
  }
  return storages;
}

}  // namespace

absl::StatusOr<TensorFile> ReadTorchLegacy(std::span<const std::byte> bytes) {
  size_t position = 0;
  const auto next = [&]() -> absl::StatusOr<Pickle> {
    absl::StatusOr<Pickle> pickle = Unpickle(bytes.subspan(position));
    if (pickle.ok()) position += pickle->size;
    return pickle;
  };
  {
    TRIVIUM_ASSIGN_OR_RETURN(const Pickle magic, next());
    TRIVIUM_ASSIGN_OR_RETURN(const Pickle protocol, next());
    TRIVIUM_ASSIGN_OR_RETURN(const Pickle system, next());
    TRIVIUM_RETURN_IF_ERROR(CheckPreamble(magic, protocol, system));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const Pickle state, next());
  TRIVIUM_ASSIGN_OR_RETURN(const Pickle keys, next());
  TRIVIUM_ASSIGN_OR_RETURN(const StorageMap storages,
                           ReadStorages(bytes.subspan(position), state, keys));
  const StorageLookup lookup =
      [&](const std::string& key,
          int64_t size) -> absl::StatusOr<std::span<const std::byte>> {
    const auto found = storages.find(key);
    if (found == storages.end()) {
      return LegacyProblem(fmt::format(
          "its storage {} is missing; fetch the file again", Quoted(key)));
    }
    if (static_cast<int64_t>(found->second.size()) != size) {
      return LegacyProblem(fmt::format(
          "its storage {} has {} bytes instead of {}; fetch the file again",
          Quoted(key), found->second.size(), size));
    }
    return found->second;
  };
  return ReadTorchState(state, lookup,
                        std::make_shared<CopyArena>(bytes.size()));
}

}  // namespace trivium
