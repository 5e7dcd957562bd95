#ifndef TRIVIUM_MODEL_WEIGHTS_QUANTIZED_NUMBERS_H_
#define TRIVIUM_MODEL_WEIGHTS_QUANTIZED_NUMBERS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/weights/grouped_row.h"
#include "model/weights/half.h"
#include "model/weights/packed_rows.h"
#include "model/weights/weights.h"

namespace trivium {

// The numbers of quantized formats, and the rounding of their libraries: a
// product of f16 numbers is the f32 product rounded to f16, as in PyTorch.

// Rounds to the nearest number of a type, kF32, kF16 or kBf16.
inline float RoundTo(DType type, float value) {
  switch (type) {
    case DType::kF16:
      return F16ToF32(F32ToF16(value));
    case DType::kBf16:
      return Bf16ToF32(F32ToBf16(value));
    default:
      return value;
  }
}

// E4M3 of OCP's 8-bit Floating Point Specification: a sign, four bits of an
// exponent with bias 7, three of a mantissa; all ones are NaN.
inline float F8E4m3ToF32(uint8_t bits) {
  const uint32_t sign = uint32_t{bits & 0x80u} << 24;
  const uint32_t magnitude = bits & 0x7fu;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
  // The exponent is 120 too small, as in F16ToF32.
  const float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | sign);
}

// E8M0 of OCP's Microscaling Formats: 2^(bits - 127). 255, which is NaN there,
// becomes infinite.
inline float F8E8m0ToF32(uint8_t bits) {
  if (bits == 0) return 0x1p-127f;
  return std::bit_cast<float>(uint32_t{bits} << 23);
}

// E2M1 of the same: four bits.
inline constexpr std::array<float, 16> kF4E2m1 = {
    0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

inline uint8_t ByteAt(const TensorView& tensor, int64_t i) {
  return std::to_integer<uint8_t>(tensor.data[static_cast<size_t>(i)]);
}

// Returns word `i` of an i32 tensor.
inline uint32_t WordAt(const TensorView& tensor, int64_t i) {
  uint32_t word;
  std::memcpy(&word, tensor.data.data() + i * int64_t{sizeof(word)},
              sizeof(word));
  return word;
}

// Returns the `bits` bits from bit `at` on of words that lie `step` words apart
// in an i32 tensor, the first of which is word `first`. The lowest bits of a
// word come first, and bits may continue in the next word.
inline uint32_t BitsAt(const TensorView& words, int64_t first, int64_t step,
                       int64_t at, int bits) {
  const int64_t word = first + at / 32 * step;
  const int shift = static_cast<int>(at % 32);
  uint64_t found = WordAt(words, word);
  if (shift + bits > 32) found |= uint64_t{WordAt(words, word + step)} << 32;
  return static_cast<uint32_t>(found >> shift) & ((uint32_t{1} << bits) - 1);
}

// Reads the first codes of such words.
inline void ReadCodes(const TensorView& words, int64_t first, int64_t step,
                      int bits, std::span<uint8_t> codes) {
  if (32 % bits != 0) {
    for (size_t i = 0; i < codes.size(); ++i) {
      codes[i] = static_cast<uint8_t>(
          BitsAt(words, first, step, static_cast<int64_t>(i) * bits, bits));
    }
    return;
  }
  const size_t in_word = static_cast<size_t>(32 / bits);
  const uint32_t mask = (uint32_t{1} << bits) - 1;
  for (size_t i = 0; i < codes.size(); first += step) {
    uint32_t word = WordAt(words, first);
    const size_t end = std::min(i + in_word, codes.size());
    for (; i < end; ++i, word >>= bits) {
      codes[i] = static_cast<uint8_t>(word & mask);
    }
  }
}

// Returns the words that hold `count` numbers of `bits` bits.
inline int64_t WordsOf(int64_t count, int bits) {
  return (count * bits + 31) / 32;
}

// Returns element `i` of a tensor of f32, f16, bf16, f8 or, as a power of two,
// u8.
inline float NumberAt(const TensorView& tensor, int64_t i) {
  const std::byte* const data = tensor.data.data();
  switch (tensor.dtype) {
    case DType::kF16:
      return F16ToF32(Load16(data + 2 * i));
    case DType::kBf16:
      return Bf16ToF32(Load16(data + 2 * i));
    case DType::kF8E4m3:
      return F8E4m3ToF32(ByteAt(tensor, i));
    case DType::kF8E8m0:
    case DType::kU8:
      return F8E8m0ToF32(ByteAt(tensor, i));
    default: {
      float value;
      std::memcpy(&value, data + i * int64_t{sizeof(value)}, sizeof(value));
      return value;
    }
  }
}

// Empties the groups of columns that are in their order anyway: groups of
// `size`, one after the other.
inline void ForgetOrder(int64_t size, std::vector<int32_t>* groups) {
  for (size_t i = 0; i < groups->size(); ++i) {
    if ((*groups)[i] != static_cast<int64_t>(i) / size) return;
  }
  groups->clear();
}

// Returns the columns in the order of their `groups`, those of one group in
// their own order; empty if a group other than the last has not `size` columns.
inline std::vector<int32_t> OrderByGroup(std::span<const int32_t> groups,
                                         int64_t size) {
  std::vector<int32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return groups[a] < groups[b]; });
  for (size_t i = 0; i < order.size(); ++i) {
    if (groups[order[i]] != static_cast<int64_t>(i) / size) return {};
  }
  return order;
}

// Returns how kZero4 holds codes with a zero in groups of `size`: exactly, if
// they have four bits, groups that are whole groups of kGroupNumbers (but for
// the last), and scales that f16 holds exactly. `groups` are those of columns
// that are not in the order of their groups.
inline RowsInGroups FormOfCodes(int bits, std::span<const int32_t> groups,
                                int64_t size, int64_t columns,
                                const TensorView& scales) {
  if (bits != 4 || (size % kGroupNumbers != 0 && size < columns)) return {};
  for (int64_t i = 0; scales.dtype != DType::kF16 && i < scales.elements();
       ++i) {
    const float scale = NumberAt(scales, i);
    if (F16ToF32(F32ToF16(scale)) != scale) return {};
  }
  std::vector<int32_t> order = OrderByGroup(groups, size);
  if (order.size() != groups.size()) return {};
  return {.form = GroupForm::kZero4, .order = std::move(order)};
}

// Adds the scale and the zero of `size` codes of a row of kZero4.
inline void AddGroups(int64_t size, float scale, int zero, GroupedRow* row) {
  for (int64_t i = 0; i < GroupsOf(size); ++i) {
    if (row->scales.size() == row->zeros.size()) return;  // a last, short group
    row->zeros[row->scales.size()] = static_cast<uint8_t>(zero);
    row->scales.push_back(F32ToF16(scale));
  }
}

// Brings the codes of a row's columns into an order; empty: leaves them.
inline void PutInOrder(std::span<const int32_t> order,
                       std::span<uint8_t> codes) {
  if (order.empty()) return;
  const std::vector<uint8_t> of_columns(codes.begin(), codes.end());
  for (size_t i = 0; i < order.size(); ++i) codes[i] = of_columns[order[i]];
}

// The values of codes. Those of one group share a scale and a zero:
//   value = scale (code - zero), rounded to `type`
// They are tabulated if they are read `reads` times and have fewer values than
// that.
class CodeValues {
 public:
  CodeValues(DType type, int bits, int64_t groups, int64_t reads)
      : type_(type), codes_(int64_t{1} << bits), groups_(groups) {
    if (groups <= reads / codes_) table_.resize(groups * codes_);
  }

  void SetGroup(int64_t group, float scale, int zero) {
    groups_[group] = {scale, zero};
    if (table_.empty()) return;
    for (int64_t code = 0; code < codes_; ++code) {
      table_[group * codes_ + code] = Value(groups_[group], code);
    }
  }
  // Writes the values of a row's codes to `out`. `groups` are those of the
  // codes; empty: each `size` codes are a group.
  void GetRow(std::span<const int32_t> groups, int64_t size,
              std::span<const uint8_t> codes, float* out) const {
    if (!groups.empty()) {
      for (size_t i = 0; i < codes.size(); ++i) {
        out[i] = Get(groups[i], codes[i]);
      }
      return;
    }
    for (int64_t group = 0; !codes.empty(); ++group) {
      const size_t count = std::min(codes.size(), static_cast<size_t>(size));
      GetGroup(group, codes.first(count), out);
      codes = codes.subspan(count);
      out += count;
    }
  }
  float Get(int64_t group, uint32_t code) const {
    return table_.empty() ? Value(groups_[group], code)
                          : table_[group * codes_ + code];
  }

 private:
  struct Group {
    float scale = 0;
    int zero = 0;
  };
  // Writes the values of codes of one group to `out`.
  void GetGroup(int64_t group, std::span<const uint8_t> codes,
                float* out) const {
    if (table_.empty()) {
      for (const uint8_t code : codes) *out++ = Value(groups_[group], code);
      return;
    }
    const float* const values = table_.data() + group * codes_;
    for (const uint8_t code : codes) *out++ = values[code];
  }
  float Value(const Group& group, int64_t code) const {
    return RoundTo(type_, group.scale * static_cast<float>(code - group.zero));
  }

  const DType type_;
  const int64_t codes_;
  std::vector<Group> groups_;
  std::vector<float> table_;  // [groups, codes] or empty
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_QUANTIZED_NUMBERS_H_
