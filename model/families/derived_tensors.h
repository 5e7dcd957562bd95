#ifndef TRIVIUM_MODEL_FAMILIES_DERIVED_TENSORS_H_
#define TRIVIUM_MODEL_FAMILIES_DERIVED_TENSORS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/weights/weights.h"

namespace trivium {

// Tensors that a checkpoint keeps otherwise than a description has them. They
// are copies of the same type, which `memory` (TransformerDescription's) keeps.
using TensorMemory = std::vector<std::shared_ptr<const void>>;

// Cuts a tensor that joins several along its first dimension, which is
//   [groups, {rows[0], rows[1], ...}]
// and returns them, each with groups x rows[i] rows. Queries, keys and values
// that follow each other are one group; where each head has its own together
// there are as many groups as heads.
std::vector<const TensorView*> SplitRows(const TensorView& joined,
                                         int64_t groups,
                                         std::span<const int64_t> rows,
                                         TensorMemory* memory);

// The [n, m] tensor of an [m, n] one: GPT-2's "Conv1D" layers are x W + b with
// W [in, out].
const TensorView* Transpose(const TensorView& tensor, TensorMemory* memory);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_DERIVED_TENSORS_H_
