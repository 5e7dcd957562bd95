// The layout of packed weights in groups (GroupedWeights).
//
// A block of 64 columns holds its groups one after the other, so that a product
// reads memory from its start to its end. A group of four bits is
//
//   4 pairs of steps  each [64 columns, 4 bytes]. Byte j of a column has
//                     numbers 8 pair + j, its low half, and 8 pair + 4 + j
//   scales            f16 [64], and f16 [64] of minimums or bytes [64] of
//                     zeros if the form has them; kParts4 has bytes [64] of
//                     scales and bytes [64] of minimums, kCurveParts4 and kFp4
//                     have bytes [64] of scales
//
// A group of eight bits has 8 steps [64 columns, 4 bytes]. Before each 8
// groups, kParts4 has f16 [64] scales and f16 [64] minimums, and kCurveParts4
// f16 [64] scales.
//
// The layout does not depend on the instruction set.
#ifndef TRIVIUM_MODEL_KERNELS_GROUP_LAYOUT_H_
#define TRIVIUM_MODEL_KERNELS_GROUP_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "model/kernels/grouped_product.h"
#include "model/weights/grouped_row.h"

namespace trivium {

constexpr int kGroupColumns = GroupedWeights::kColumns;
constexpr size_t kStep = 4 * kGroupColumns;  // bytes of a step, or a pair
constexpr size_t kHalves = sizeof(uint16_t) * kGroupColumns;

// The bytes of a group's numbers, of its scales, and of what stands before each
// kPartsOfBlock groups.
constexpr size_t NumberBytes(GroupForm form) {
  return form == GroupForm::kScale8 ? 8 * kStep : 4 * kStep;
}
constexpr size_t ScaleBytes(GroupForm form) {
  switch (form) {
    case GroupForm::kMinimum4:
      return 2 * kHalves;
    case GroupForm::kZero4:
      return kHalves + kGroupColumns;
    case GroupForm::kCurveParts4:
    case GroupForm::kFp4:
      return kGroupColumns;
    default:
      return kHalves;
  }
}
constexpr size_t HeadBytes(GroupForm form) {
  return form == GroupForm::kParts4        ? 2 * kHalves
         : form == GroupForm::kCurveParts4 ? kHalves
                                           : 0;
}
constexpr size_t GroupBytes(GroupForm form) {
  return NumberBytes(form) + ScaleBytes(form);
}
// The place of a group in its block.
constexpr size_t GroupBegin(GroupForm form, int group) {
  return group * GroupBytes(form) +
         (group / kPartsOfBlock + 1) * HeadBytes(form);
}

// True for a form whose q names an entry of a table. The unsigned operand is
// that entry plus TableZero.
constexpr bool HasTable(GroupForm form) {
  return form == GroupForm::kCurve4 || form == GroupForm::kCurveParts4 ||
         form == GroupForm::kFp4;
}
constexpr int TableZero(GroupForm form) {
  return form == GroupForm::kFp4 ? 12 : 128;
}
constexpr const int8_t* TableOf(GroupForm form) {
  return form == GroupForm::kFp4 ? kFp4Numbers : kCurve4Numbers;
}

// Returns the bytes of a block of columns.
inline size_t BlockBytes(int k, GroupForm form) {
  const int groups = GroupsOf(k);
  return groups * GroupBytes(form) +
         (groups + kPartsOfBlock - 1) / kPartsOfBlock * HeadBytes(form);
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_GROUP_LAYOUT_H_
