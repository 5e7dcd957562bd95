#ifndef TRIVIUM_MODEL_FAMILIES_DERIVED_TENSORS_H_
#define TRIVIUM_MODEL_FAMILIES_DERIVED_TENSORS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/weights/weights.h"

namespace trivium {

// Tensors that a checkpoint stores differently from the description. They are
// copies, owned by `memory` (TransformerDescription's), of the same type or, if
// that is impossible, in f32.
using TensorMemory = std::vector<std::shared_ptr<const void>>;

// Cuts a tensor that joins several along its first dimension,
//
//   [groups, {rows[0], rows[1], ...}]
//
// and returns them, each with groups x rows[i] rows. There is one group if
// queries, keys and values follow each other, and one group for each head if
// each head keeps its own together. Parts of one group are views, not copies.
std::vector<const TensorView*> SplitRows(const TensorView& joined,
                                         int64_t groups,
                                         std::span<const int64_t> rows,
                                         TensorMemory* memory);

// Returns these rows of a tensor, in this order.
const TensorView* RowsInOrder(const TensorView& tensor,
                              std::span<const int64_t> rows,
                              TensorMemory* memory);

// Returns a tensor [heads x head_size, ...] in which the first 2 x pairs rows
// of each head are in the order 0, 2, 4, ... 1, 3, 5, ... Applied to queries
// and keys, it turns rotary positions of adjacent dimensions (GPT-J) into those
// of halves (kernels/rotary.h); their products stay the same.
const TensorView* PairsToHalves(const TensorView& tensor, int head_size,
                                int pairs, TensorMemory* memory);

// Does the same with the columns of a tensor [heads, head_size], which are
// factors of each head's rows. The result is f32.
const TensorView* RowsOfPairsToHalves(const TensorView& tensor, int pairs,
                                      TensorMemory* memory);

// Returns the matrix of these rows, which are equally long, in f32.
const TensorView* StackedRows(const std::vector<const TensorView*>& rows,
                              TensorMemory* memory);

// Returns the [n, m] tensor of an [m, n] one. GPT-2's "Conv1D" layers are x W +
// b with W [in, out].
const TensorView* Transpose(const TensorView& tensor, TensorMemory* memory);

// Returns the same elements in another shape.
const TensorView* Reshaped(const TensorView& tensor, std::vector<int64_t> shape,
                           TensorMemory* memory);

// Returns the matrix whose rows are those of `left` [n, a] followed by those of
// `right` [n, b], in f32.
const TensorView* JoinedColumns(const TensorView& left, const TensorView& right,
                                TensorMemory* memory);

// Returns the matrix [n x groups, m x groups], in f32, that is zero but for
// blocks along its diagonal: the transposes of the matrices of `blocks`,
// [groups, m, n].
const TensorView* BlockDiagonal(const TensorView& blocks, TensorMemory* memory);

// Returns the tensor times a factor, in f32.
const TensorView* Scaled(const TensorView& tensor, float factor,
                         TensorMemory* memory);

// Returns `tensor` [rows, columns] with row `row` of `other`, [.., columns],
// added to each of its rows, in f32.
const TensorView* PlusRow(const TensorView& tensor, const TensorView& other,
                          int64_t row, TensorMemory* memory);

// Returns w + factor * left right, in f32: w is [m, n], left [m, rank] and
// right [rank, n], both parts `index` of tensors [parts, m, rank] and [parts,
// rank, n]. A low-rank adapter, Hu et al. 2021.
const TensorView* PlusProduct(const TensorView& w, const TensorView& left,
                              const TensorView& right, int64_t index,
                              float factor, TensorMemory* memory);

// Returns a tensor of this shape in f32 that begins with the elements of
// `tensor` and continues with `value`.
const TensorView* Extended(const TensorView& tensor, std::vector<int64_t> shape,
                           float value, TensorMemory* memory);

// Transposes matrix `index` of a tensor [n, m, columns]: its columns `first`,
// first + step, ... become rows, [columns / step, m]. Of a tensor [n, columns]
// it returns such elements of row `index`, [columns / step]. GPT-OSS keeps all
// experts in one tensor, with gates and gated values interleaved.
const TensorView* TransposedColumns(const TensorView& tensor, int64_t index,
                                    int64_t first, int64_t step,
                                    TensorMemory* memory);

// Returns rows `first`, first + step, ... of the `index`th of MXFP4 matrices
// (OCP Microscaling Formats 1.0): packed, of type bf16, which holds all values,
// [rows / step, 32 groups]. `blocks` [n, rows, groups, 16] holds two numbers in
// a byte, the lower half first. `scales` [n, rows, groups] holds an exponent of
// two, plus 127, for each 32 numbers.
const TensorView* Mxfp4Rows(const TensorView& blocks, const TensorView& scales,
                            int64_t index, int64_t first, int64_t step,
                            TensorMemory* memory);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_DERIVED_TENSORS_H_
