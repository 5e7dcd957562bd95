#ifndef TRIVIUM_MODEL_WEIGHTS_MARIAN_BIN_H_
#define TRIVIUM_MODEL_WEIGHTS_MARIAN_BIN_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "model/weights/tensor_file.h"

namespace trivium {

// Reads a model in Marian's binary format (its src/common/binary.cpp), version
// 1: the version, the number of items, of each item the lengths of name, shape
// and data and its type, then all names, all shapes (s32), padding, and all
// data, each padded again. Numbers are u64 where nothing else is said.
//
// float32, float16 and int8 are read as they are. An item of intgemm8, [in,
// out], is kept as [out, in] (but for embeddings, "Wemb"), and behind its
// numbers stands the multiplier that made integers of real ones: such a tensor
// becomes kI8 [out, in] with its inverse as the scale of every row. What
// marian-conv has packed for one kind of CPU is refused by its name.
//
// Tensors are views of `bytes`. INVALID_ARGUMENT names the item and what is
// wrong with it; the caller adds the file.
absl::StatusOr<TensorFile> ReadMarianBin(std::span<const std::byte> bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_MARIAN_BIN_H_
