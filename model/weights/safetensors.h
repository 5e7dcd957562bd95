#ifndef TRIVIUM_MODEL_WEIGHTS_SAFETENSORS_H_
#define TRIVIUM_MODEL_WEIGHTS_SAFETENSORS_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "model/weights/tensor_file.h"

namespace trivium {

// Reads a .safetensors file: the header's length (u64), the header (JSON: name
// -> dtype, shape, data_offsets), the data. Tensors are views of `bytes`. As
// the format requires, every byte of the data must belong to exactly one
// tensor. Errors name the tensor; the caller adds the file.
absl::StatusOr<TensorFile> ReadSafetensors(std::span<const std::byte> bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_SAFETENSORS_H_
