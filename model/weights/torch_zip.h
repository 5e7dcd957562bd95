#ifndef TRIVIUM_MODEL_WEIGHTS_TORCH_ZIP_H_
#define TRIVIUM_MODEL_WEIGHTS_TORCH_ZIP_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "model/weights/tensor_file.h"

namespace trivium {

// Reads a pytorch_model.bin in the format of torch since 1.6: a zip archive of
// stored entries NAME/data.pkl (the state dict) and NAME/data/KEY (storages).
// Storages are copied once, and the archive's checksums are verified. Errors
// name the tensor; the caller adds the file.
absl::StatusOr<TensorFile> ReadTorchZip(std::span<const std::byte> bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_TORCH_ZIP_H_
