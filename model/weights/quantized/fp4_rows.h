#ifndef TRIVIUM_MODEL_WEIGHTS_QUANTIZED_FP4_ROWS_H_
#define TRIVIUM_MODEL_WEIGHTS_QUANTIZED_FP4_ROWS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "model/weights/packed_rows.h"
#include "model/weights/weights.h"

namespace trivium {

// Numbers of four bits (E2M1), two in a byte, the lower half first: `codes`
// [out, in / 2] u8. Each row has scales for groups of `group_size`, which are
// divided by a scale of the whole matrix:
//   value = number * (scale / whole), in f32, rounded to bf16
// as compressed-tensors computes it for NVFP4, whose scales are f8_e4m3, and
// for MXFP4, whose scales are powers of two and have no scale of the whole.
// Groups of 32 of the latter are exact in the form kFp4.
class Fp4Rows : public PackedRows {
 public:
  Fp4Rows(const TensorView& codes, const TensorView& scales, int64_t group_size,
          float whole)
      : PackedRows(2 * codes.shape[1],
                   {.form = FormOf(scales, group_size, whole)}),
        codes_(codes),
        scales_(scales),
        group_size_(group_size),
        whole_(whole) {}

  void ReadGroups(int64_t first, std::span<GroupedRow> rows) const override;

 private:
  static std::optional<GroupForm> FormOf(const TensorView& scales,
                                         int64_t group_size, float whole);
  void UnpackRows(int64_t first, int64_t count, float* out) const override;

  const TensorView& codes_;
  const TensorView& scales_;
  const int64_t group_size_;
  const float whole_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_QUANTIZED_FP4_ROWS_H_
