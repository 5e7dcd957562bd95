#include "model/weights/quantized/scaled_rows.h"

#include <algorithm>
#include <array>

#include "model/weights/quantized/numbers.h"

namespace trivium {
namespace {

// The numbers that bytes stand for.
using ByteValues = std::array<float, 256>;

const ByteValues& ValuesOf(DType type) {
  const auto make = [](DType made) {
    ByteValues values;
    for (int i = 0; i < 256; ++i) {
      const auto byte = static_cast<uint8_t>(i);
      values[byte] = made == DType::kI8
                         ? static_cast<float>(static_cast<int8_t>(byte))
                         : F8E4m3ToF32(byte);
    }
    return values;
  };
  static const ByteValues integers = make(DType::kI8);
  static const ByteValues reals = make(DType::kF8E4m3);
  return type == DType::kI8 ? integers : reals;
}

}  // namespace

void ScaledRows::UnpackRows(int64_t first, int64_t count, float* out) const {
  const ByteValues& values = ValuesOf(numbers_.dtype);
  for (int64_t row = first; row < first + count; ++row, out += columns()) {
    const int64_t grid_row = row / grid_.block_rows * grid_.grid_columns;
    for (int64_t begin = 0; begin < columns();) {
      const int64_t at = grid_row + begin / grid_.block_columns;
      const float scale = NumberAt(*grid_.scales, at);
      const float zero = grid_.zeros == nullptr
                             ? 0
                             : static_cast<float>(static_cast<int8_t>(
                                   ByteAt(*grid_.zeros, at)));
      const int64_t end = columns() - begin <= grid_.block_columns
                              ? columns()
                              : begin + grid_.block_columns;
      for (; begin < end; ++begin) {
        const float number = values[ByteAt(numbers_, row * columns() + begin)];
        out[begin] = RoundTo(type_, (number - zero) * scale);
      }
    }
  }
}

}  // namespace trivium
