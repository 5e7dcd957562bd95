#ifndef TRIVIUM_MODEL_WEIGHTS_TORCH_STATE_H_
#define TRIVIUM_MODEL_WEIGHTS_TORCH_STATE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/weights/copy_arena.h"
#include "model/weights/tensor_file.h"
#include "model/weights/unpickler.h"

namespace trivium {

// A storage as described by a persistent id of torch.save: a flat array that
// tensors are views of.
struct TorchStorage {
  std::string type;  // "torch.FloatStorage"
  std::optional<DType> dtype;
  std::string key;
  int64_t elements = 0;
  // First element of this storage within the one named by `key`: in the older
  // format, storages may be views of others.
  int64_t offset = 0;
  int64_t root_elements = 0;
};

// Returns nullopt if the value is not a well-formed description.
std::optional<TorchStorage> ParseTorchStorage(const Pickle& pickle,
                                              const PickleValue& storage);

// Returns the bytes of the storage `key`, which must have `bytes` of them. The
// error says what is wrong, without naming the tensor.
using StorageLookup = std::function<absl::StatusOr<std::span<const std::byte>>(
    const std::string& key, int64_t bytes)>;

// Returns the tensors of a state dict: the pickle's root, a dict of name ->
// tensor. Other values in it are plain data and are ignored. Contiguous tensors
// are views of their storage, others are copied row by row into `arena`. Errors
// name the tensor; the caller adds the file.
absl::StatusOr<TensorFile> ReadTorchState(const Pickle& pickle,
                                          const StorageLookup& lookup,
                                          std::shared_ptr<CopyArena> arena);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_TORCH_STATE_H_
