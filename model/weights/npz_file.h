#ifndef TRIVIUM_MODEL_WEIGHTS_NPZ_FILE_H_
#define TRIVIUM_MODEL_WEIGHTS_NPZ_FILE_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "model/weights/tensor_file.h"

namespace trivium {

// Reads a .npz file: a zip archive of stored entries NAME.npy, each an array in
// NumPy's format (numpy.lib.format, versions 1 to 3): magic, the header's
// length, the header (a Python dictionary), and the elements. Supports
// little-endian arrays in C order of f32, f16, i64, i32, i8, u8 and bool.
// Arrays are copied once, and the archive's checksums are verified.
// INVALID_ARGUMENT names the array and what is wrong with it; the caller adds
// the file.
absl::StatusOr<TensorFile> ReadNpz(std::span<const std::byte> bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_NPZ_FILE_H_
