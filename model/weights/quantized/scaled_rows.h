#ifndef TRIVIUM_MODEL_WEIGHTS_QUANTIZED_SCALED_ROWS_H_
#define TRIVIUM_MODEL_WEIGHTS_QUANTIZED_SCALED_ROWS_H_

#include <cstdint>

#include "model/weights/packed_rows.h"
#include "model/weights/weights.h"

namespace trivium {

// Scales of a matrix: those of element [r, c] are number
//   r / block_rows * grid_columns + c / block_columns
// of `scales` and, if the numbers are not symmetric, of `zeros`. One scale for
// a whole matrix, for each row, for groups of a row or for blocks are all grids
// of that kind.
struct ScaleGrid {
  const TensorView* scales = nullptr;
  const TensorView* zeros = nullptr;  // i8, or null
  int64_t block_rows = 1;
  int64_t block_columns = 1;
  int64_t grid_columns = 1;
};

// Numbers of one byte with scales, [out, in]:
//   value = (number - zero) * scale, rounded to `type`
// `numbers` are f8_e4m3 or i8.
class ScaledRows : public PackedRows {
 public:
  ScaledRows(const TensorView& numbers, const ScaleGrid& grid, DType type)
      : PackedRows(numbers.shape[1]),
        numbers_(numbers),
        grid_(grid),
        type_(type) {}

 private:
  void UnpackRows(int64_t first, int64_t count, float* out) const override;

  const TensorView& numbers_;
  const ScaleGrid grid_;
  const DType type_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_QUANTIZED_SCALED_ROWS_H_
