#ifndef TRIVIUM_MODEL_WEIGHTS_TORCH_LEGACY_H_
#define TRIVIUM_MODEL_WEIGHTS_TORCH_LEGACY_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "model/weights/tensor_file.h"

namespace trivium {

// Reads a pytorch_model.bin in the format of torch before 1.6: five pickles
// (magic number, protocol, system, state dict, storage keys), then each storage
// as a count of elements (i64) and the elements. Tensors are views of `bytes`.
// Errors name the tensor; the caller adds the file.
absl::StatusOr<TensorFile> ReadTorchLegacy(std::span<const std::byte> bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_TORCH_LEGACY_H_
