#include "model/weights/quantized/fp4_rows.h"

#include "model/weights/quantized/numbers.h"

namespace trivium {

void Fp4Rows::UnpackRows(int64_t first, int64_t count, float* out) const {
  const int64_t groups = columns() / group_size_;
  for (int64_t row = first; row < first + count; ++row) {
    for (int64_t group = 0; group < groups; ++group) {
      const float scale = NumberAt(scales_, row * groups + group) / whole_;
      const int64_t begin = row * columns() + group * group_size_;
      for (int64_t i = begin; i < begin + group_size_; ++i, ++out) {
        const int code = ByteAt(codes_, i / 2) >> (i % 2 * 4) & 15;
        *out = RoundTo(DType::kBf16, kF4E2m1[code] * scale);
      }
    }
  }
}

}  // namespace trivium
