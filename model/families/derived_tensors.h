#ifndef TRIVIUM_MODEL_FAMILIES_DERIVED_TENSORS_H_
#define TRIVIUM_MODEL_FAMILIES_DERIVED_TENSORS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/weights/weights.h"

namespace trivium {

// Tensors that a checkpoint keeps otherwise than a description has them. They
// are copies, which `memory` (TransformerDescription's) keeps, of the same type
// or, where that does not allow it, in f32.
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

// The tensor times a factor, in f32.
const TensorView* Scaled(const TensorView& tensor, float factor,
                         TensorMemory* memory);

// A tensor of that shape that begins with the elements of this one, behind
// which all are `value`, in f32.
const TensorView* Extended(const TensorView& tensor, std::vector<int64_t> shape,
                           float value, TensorMemory* memory);

// Of tensor [n, m, columns], matrix `index` turned over: its columns `first`,
// first + step, ... as rows, [columns / step, m]. Of tensor [n, columns] such
// elements of row `index`, [columns / step]. GPT-OSS keeps all experts in one
// tensor, and what gates beside what is gated.
const TensorView* TransposedColumns(const TensorView& tensor, int64_t index,
                                    int64_t first, int64_t step,
                                    TensorMemory* memory);

// Of MXFP4 matrices (OCP Microscaling Formats 1.0), rows `first`,
// first + step, ... of the `index`th as bf16, which is exact: [rows / step,
// 32 groups]. `blocks` [n, rows, groups, 16] has two numbers a byte, the lower
// half first, and `scales` [n, rows, groups] the powers of two of 32 of them,
// 127 more than they are.
const TensorView* Mxfp4Rows(const TensorView& blocks, const TensorView& scales,
                            int64_t index, int64_t first, int64_t step,
                            TensorMemory* memory);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_DERIVED_TENSORS_H_
