#ifndef TRIVIUM_MODEL_WEIGHTS_MARIAN_BIN_H_
#define TRIVIUM_MODEL_WEIGHTS_MARIAN_BIN_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "model/weights/tensor_file.h"

namespace trivium {

// Reads a model in Marian's binary format (its src/common/binary.cpp), version
// 1. Numbers are u64 unless stated otherwise:
//   version, number of items
//   for each item: lengths of its name, shape and data, and its type
//   all names, all shapes (s32), padding, all data, each padded again
//
// float32, float16 and int8 are read as they are. An intgemm8 item [in, out] is
// stored as [out, in] (except embeddings, "Wemb"), followed by the multiplier
// that converted floats to integers. Such a tensor becomes kI8 [out, in] with
// the multiplier's inverse as the scale of every row. Items that marian-conv
// has packed for one kind of CPU are refused by name.
//
// Tensors are views of `bytes`. INVALID_ARGUMENT names the item and what is
// wrong with it; the caller adds the file.
absl::StatusOr<TensorFile> ReadMarianBin(std::span<const std::byte> bytes);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_MARIAN_BIN_H_
