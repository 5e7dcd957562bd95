#ifndef TRIVIUM_MODEL_WEIGHTS_GROUPED_ROW_H_
#define TRIVIUM_MODEL_WEIGHTS_GROUPED_ROW_H_

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace trivium {

struct TensorView;

// Numbers that share a scale.
inline constexpr int kGroupNumbers = 32;
// Groups that share a scale of their scales, in forms that have parts.
inline constexpr int kPartsOfBlock = 8;

// The ways in which groups of numbers q are stored.
enum class GroupForm : uint8_t {
  kScale4,    // scale * (q - 8), 0 <= q < 16
  kMinimum4,  // scale * q + minimum, 0 <= q < 16
  // scale * s * q - minimum * m, 0 <= q < 16. s and m are bytes of the group;
  // scale and minimum are those of kPartsOfBlock groups.
  kParts4,
  kZero4,   // scale * (q - zero), 0 <= q, zero < 16
  kCurve4,  // scale * kCurve4Numbers[q], 0 <= q < 16
  // scale * (s - 32) * kCurve4Numbers[q], where s < 64 is a byte of the group;
  // scale is that of kPartsOfBlock groups.
  kCurveParts4,
  kFp4,     // Mxfp4Scale(s) * kFp4Numbers[q]; s is a byte of the group
  kScale8,  // scale * (q - 128), 1 <= q < 256
};
// All of them, for tests.
inline constexpr GroupForm kGroupForms[] = {
    GroupForm::kScale4, GroupForm::kMinimum4, GroupForm::kParts4,
    GroupForm::kZero4,  GroupForm::kCurve4,   GroupForm::kCurveParts4,
    GroupForm::kFp4,    GroupForm::kScale8};

// The numbers of GGUF's IQ4_NL and IQ4_XS, closer together near zero.
inline constexpr int8_t kCurve4Numbers[16] = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// Twice the numbers of E2M1 (Open Compute Project's Microscaling Formats).
inline constexpr int8_t kFp4Numbers[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                           0, -1, -2, -3, -4, -6, -8, -12};
// Returns 2^(exponent - 128), the scale of MXFP4's doubled numbers.
inline float Mxfp4Scale(uint8_t exponent) {
  // The two least are subnormal.
  return std::bit_cast<float>(exponent < 2 ? uint32_t{0x00200000} << exponent
                                           : (uint32_t{exponent} - 1) << 23);
}

// A row of weights whose numbers stand in groups of kGroupNumbers. The last
// group is filled up with zeros.
struct GroupedRow {
  GroupForm form = GroupForm::kScale8;
  std::vector<uint8_t> numbers;  // q, [groups x kGroupNumbers]
  // f16, [groups]; of forms in parts [groups / kPartsOfBlock]. Each is empty
  // where the form has none.
  std::vector<uint16_t> scales, minimums;
  // [groups], or empty. kParts4 has both; kCurveParts4 and kFp4 have scales.
  std::vector<uint8_t> part_scales, part_minimums;
  std::vector<uint8_t> zeros;  // kZero4, [groups]
};

// Returns the number of groups of a row of k numbers.
inline int GroupsOf(int64_t k) {
  return static_cast<int>((k + kGroupNumbers - 1) / kGroupNumbers);
}

// Returns the form that holds a matrix's own numbers exactly: that of GGUF's
// Q4_0, Q4_1, Q4_K, IQ4_NL, IQ4_XS, MXFP4 and Q8_0, and of packed rows of four
// bits (packed_rows.h). Returns nullopt if the file stores the matrix in
// another way.
std::optional<GroupForm> GroupFormOf(const TensorView& tensor);
// Returns the column of each number of such a row: a permutation, or empty if
// numbers are in the order of their columns.
std::span<const int32_t> NumberOrderOf(const TensorView& tensor);
// Returns true for a form whose scales belong to kPartsOfBlock groups.
inline bool HasParts(GroupForm form) {
  return form == GroupForm::kParts4 || form == GroupForm::kCurveParts4;
}
// Returns true for a form of four bits.
inline bool HasFourBits(GroupForm form) { return form != GroupForm::kScale8; }

// Reads the rows from `first` on of a matrix that has a form; up to
// PackedRows::kRowsAtOnce are read fastest.
void ReadGroups(const TensorView& tensor, int64_t first,
                std::span<GroupedRow> to);

// Makes a row of `form` with `k` numbers ready to be filled in.
void ClearGroups(GroupForm form, int64_t k, GroupedRow* to);

// Rounds a row to `form`, kScale4 or kScale8. Each scale of kScale4 is the one
// of several with the least sum of squared errors. Numbers that f16 cannot hold
// become the greatest that it can.
void RoundToGroups(std::span<const float> row, GroupForm form, GroupedRow* to);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_GROUPED_ROW_H_
