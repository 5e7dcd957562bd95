#ifndef TRIVIUM_MODEL_TRANSFORMER_WEIGHT_ROWS_H_
#define TRIVIUM_MODEL_TRANSFORMER_WEIGHT_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "model/transformer/description.h"
#include "model/weights/mapped_file.h"
#include "model/weights/packed_rows.h"
#include "model/weights/weights.h"

namespace trivium {

// Returns the number of a layer's rows that are used: `count`, or all if that
// is 0.
inline int64_t RowsOf(const LinearTensors& part, int64_t count) {
  return count > 0 ? count : part.weight->shape[0];
}
// The same of all rows of stacked layers.
inline int64_t OutputsOf(std::span<const LinearTensors> parts, int64_t count) {
  int64_t out = 0;
  for (const LinearTensors& part : parts) out += RowsOf(part, count);
  return out;
}

// Calls work(begin, end) for ranges of all rows of a matrix [rows, in], on
// several threads if it is large. Ranges begin at multiples of
// PackedRows::kRowsAtOnce.
template <typename Work>
void ForRowsAtOnce(int64_t rows, int64_t in, const Work& work) {
  // Numbers that justify another thread.
  constexpr int64_t kLeast = 1 << 20;
  constexpr int64_t kUnit = PackedRows::kRowsAtOnce;
  const int units = static_cast<int>((rows + kUnit - 1) / kUnit);
  const int64_t least = kLeast / std::max<int64_t>(in * kUnit, 1) + 1;
  ParallelFor(units, static_cast<int>(least), [&](int begin, int end) {
    work(begin * kUnit, std::min(end * kUnit, rows));
  });
}

// Drops the rows [begin, begin + count) of a matrix from memory (DropPages).
inline void DropRows(const TensorView& weight, int64_t begin, int64_t count) {
  if (weight.data.empty()) return;
  const size_t row = weight.data.size() / static_cast<size_t>(weight.shape[0]);
  DropPages(weight.data.subspan(static_cast<size_t>(begin) * row,
                                static_cast<size_t>(count) * row));
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_WEIGHT_ROWS_H_
