#ifndef TRIVIUM_TESTS_SUPPORT_GROUPED_NUMBERS_H_
#define TRIVIUM_TESTS_SUPPORT_GROUPED_NUMBERS_H_

#include <cmath>
#include <vector>

#include "model/weights/grouped_row.h"
#include "model/weights/half.h"

namespace trivium {

// Returns the numbers that a row stands for, with those that fill up its last
// group.
inline std::vector<float> NumbersOf(const GroupedRow& row) {
  std::vector<float> numbers;
  for (size_t i = 0; i < row.numbers.size(); ++i) {
    const size_t group = i / kGroupNumbers;
    const float q = row.numbers[i];
    switch (row.form) {
      case GroupForm::kScale4:
        numbers.push_back(F16ToF32(row.scales[group]) * (q - 8));
        break;
      case GroupForm::kMinimum4:
        numbers.push_back(F16ToF32(row.scales[group]) * q +
                          F16ToF32(row.minimums[group]));
        break;
      case GroupForm::kParts4: {
        const size_t block = group / kPartsOfBlock;
        const float scale =
            F16ToF32(row.scales[block]) * row.part_scales[group];
        const float minimum =
            F16ToF32(row.minimums[block]) * row.part_minimums[group];
        numbers.push_back(scale * q - minimum);
        break;
      }
      case GroupForm::kZero4:
        numbers.push_back(F16ToF32(row.scales[group]) * (q - row.zeros[group]));
        break;
      case GroupForm::kCurve4:
        numbers.push_back(F16ToF32(row.scales[group]) *
                          kCurve4Numbers[row.numbers[i]]);
        break;
      case GroupForm::kCurveParts4: {
        const float scale = F16ToF32(row.scales[group / kPartsOfBlock]) *
                            (row.part_scales[group] - 32);
        numbers.push_back(scale * kCurve4Numbers[row.numbers[i]]);
        break;
      }
      case GroupForm::kFp4:
        numbers.push_back(std::ldexp(1.0f, row.part_scales[group] - 128) *
                          kFp4Numbers[row.numbers[i]]);
        break;
      case GroupForm::kScale8:
        numbers.push_back(F16ToF32(row.scales[group]) * (q - 128));
        break;
    }
  }
  return numbers;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_GROUPED_NUMBERS_H_
