#include "model/weights/quantized/fp4_rows.h"

#include <algorithm>
#include <cstddef>

#include "model/weights/quantized/numbers.h"

namespace trivium {

std::optional<GroupForm> Fp4Rows::FormOf(const TensorView& scales,
                                         int64_t group_size, float whole) {
  // The scale 255 is not a number, which the form cannot tell.
  constexpr std::byte kNone{255};
  const bool exact = scales.dtype == DType::kU8 &&
                     group_size == kGroupNumbers && whole == 1 &&
                     std::find(scales.data.begin(), scales.data.end(), kNone) ==
                         scales.data.end();
  return exact ? std::optional(GroupForm::kFp4) : std::nullopt;
}

void Fp4Rows::ReadGroups(int64_t first, std::span<GroupedRow> rows) const {
  const int groups = GroupsOf(columns());
  for (GroupedRow& to : rows) {
    ClearGroups(GroupForm::kFp4, columns(), &to);
    for (int64_t i = 0; i < columns(); ++i) {
      to.numbers[i] =
          ByteAt(codes_, (first * columns() + i) / 2) >> (i % 2 * 4) & 15;
    }
    for (int group = 0; group < groups; ++group) {
      to.part_scales[group] = ByteAt(scales_, first * groups + group);
    }
    ++first;
  }
}

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
