// GGUF's blocks are those of gguf_blocks.cc. A row is read without any
// arithmetic: what the file has is moved to its place.
#include "model/weights/grouped_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/weights/four_bit_rounding.h"
#include "model/weights/gguf_blocks.h"
#include "model/weights/gguf_decoders.h"
#include "model/weights/half.h"
#include "model/weights/packed_rows.h"
#include "model/weights/weights.h"

namespace trivium {
namespace {

constexpr int kHalf = kGroupNumbers / 2;
constexpr float kGreatestF16 = 65504;
// Nothing is at least this.
constexpr double kNoBound = std::numeric_limits<double>::quiet_NaN();

uint8_t Number(std::byte byte) { return std::to_integer<uint8_t>(byte); }

// Reads 32 numbers of which byte i holds i and i + 16.
void ReadHalves(const std::byte* bytes, uint8_t* to) {
  for (int i = 0; i < kHalf; ++i) {
    to[i] = Number(bytes[i]) & 15;
    to[i + kHalf] = Number(bytes[i]) >> 4;
  }
}

// Reads {d, m, 12 bytes of scales, 128 bytes} to eight groups.
void ReadQ4K(const std::byte* block, int group, GroupedRow* to) {
  to->scales.push_back(Load16(block));
  to->minimums.push_back(Load16(block + 2));
  for (int j = 0; j < kPartsOfBlock; ++j) {
    const Q4KPart part = ReadQ4KPart(block + 4, j);
    to->part_scales[group + j] = part.scale;
    to->part_minimums[group + j] = part.minimum;
    uint8_t* const numbers =
        to->numbers.data() + static_cast<size_t>(group + j) * kGroupNumbers;
    for (int i = 0; i < kGroupNumbers; ++i) {
      const uint8_t byte = Number(block[16 + j / 2 * 32 + i]);
      numbers[i] = j % 2 == 0 ? byte & 15 : byte >> 4;
    }
  }
}

float ToF16(float value) {
  return F16ToF32(F32ToF16(std::clamp(value, -kGreatestF16, kGreatestF16)));
}

// bf16 has fewer digits than f16, and a greater range.
float ToScale(float value, ScaleType type) {
  if (type == ScaleType::kF16) return ToF16(value);
  constexpr float kGreatest = 65280;  // of bf16 within f16
  const float f16 = ToF16(std::clamp(value, -kGreatest, kGreatest));
  return Bf16ToF32(F32ToBf16(f16));
}

// Sets q = round(x / scale) + zero within [0, most]; returns the sum of squared
// errors. Stops when that is at least `bound`.
double Round(std::span<const float> x, float scale, int zero, int most,
             double bound, uint8_t* q) {
  // 1.5 * 2^23: a sum with it has no fraction, and is rounded to the nearest.
  constexpr float kWhole = 12582912;
  constexpr size_t kStep = 8;  // numbers between two looks at the bound
  const float inverse = scale == 0 ? 0 : 1 / scale;
  double error = 0;
  for (size_t begin = 0; begin < x.size() && !(error >= bound);
       begin += kStep) {
    const size_t end = std::min(begin + kStep, x.size());
    for (size_t i = begin; i < end; ++i) {
      const float place = x[i] * inverse;
      const float near = std::clamp(place, -256.f, 256.f) + kWhole;
      const int number =
          std::isnan(place) ? 0 : static_cast<int>(near - kWhole);
      q[i] = static_cast<uint8_t>(std::clamp(number + zero, 0, most));
      const double off = x[i] - double{scale} * (q[i] - zero);
      error += off * off;
    }
  }
  return error;
}

// Reads a row of GGUF's blocks.
void ReadBlocks(const TensorView& tensor, int64_t row, GroupForm form,
                GroupedRow* to) {
  const int64_t k = tensor.shape[1];
  const int groups = GroupsOf(k);
  ClearGroups(form, k, to);
  const BlockFormat& format = *FindBlockFormat(tensor.dtype);
  const std::byte* block =
      tensor.data.data() + row * (k / format.elements) * format.bytes;
  for (int group = 0; group < groups;
       group += format.elements / kGroupNumbers, block += format.bytes) {
    uint8_t* const numbers =
        to->numbers.data() + static_cast<size_t>(group) * kGroupNumbers;
    switch (to->form) {
      case GroupForm::kScale4:
        to->scales.push_back(Load16(block));
        ReadHalves(block + 2, numbers);
        break;
      case GroupForm::kMinimum4:
        to->scales.push_back(Load16(block));
        to->minimums.push_back(Load16(block + 2));
        ReadHalves(block + 4, numbers);
        break;
      case GroupForm::kParts4:
        ReadQ4K(block, group, to);
        break;
      case GroupForm::kZero4:  // not GGUF's
        break;
      case GroupForm::kCurve4:
        to->scales.push_back(Load16(block));
        ReadHalves(block + 2, numbers);
        break;
      case GroupForm::kCurveParts4:
        to->scales.push_back(Load16(block));
        for (int j = 0; j < kPartsOfBlock; ++j) {
          to->part_scales[group + j] = Iq4XsScale(block, j);
          ReadHalves(block + 8 + j * kHalf, numbers + j * kGroupNumbers);
        }
        break;
      case GroupForm::kFp4:
        to->part_scales[group] = Number(block[0]);
        ReadHalves(block + 1, numbers);
        break;
      case GroupForm::kScale8:
        to->scales.push_back(Load16(block));
        for (int i = 0; i < kGroupNumbers; ++i) {
          numbers[i] = Number(block[2 + i]) ^ 0x80;  // + 128
        }
        break;
    }
  }
}

}  // namespace

void ClearGroups(GroupForm form, int64_t k, GroupedRow* to) {
  const size_t groups = static_cast<size_t>(GroupsOf(k));
  to->form = form;
  to->numbers.assign(groups * kGroupNumbers, 0);
  to->scales.clear();
  to->minimums.clear();
  const bool bytes = HasParts(form) || form == GroupForm::kFp4;
  to->part_scales.assign(bytes ? groups : 0, 0);
  to->part_minimums.assign(form == GroupForm::kParts4 ? groups : 0, 0);
  to->zeros.assign(form == GroupForm::kZero4 ? groups : 0, 0);
}

std::optional<GroupForm> GroupFormOf(const TensorView& tensor) {
  if (tensor.shape.size() != 2) return std::nullopt;
  if (tensor.packed != nullptr) {
    return tensor.packed_begin % tensor.shape[1] == 0 ? tensor.packed->form()
                                                      : std::nullopt;
  }
  switch (tensor.dtype) {
    case DType::kQ4_0:
      return GroupForm::kScale4;
    case DType::kQ4_1:
      return GroupForm::kMinimum4;
    case DType::kQ4K:
      return GroupForm::kParts4;
    case DType::kIq4Nl:
      return GroupForm::kCurve4;
    case DType::kIq4Xs:
      return GroupForm::kCurveParts4;
    case DType::kMxfp4:
      return GroupForm::kFp4;
    case DType::kQ8_0:
      return GroupForm::kScale8;
    default:
      return std::nullopt;
  }
}

std::span<const int32_t> NumberOrderOf(const TensorView& tensor) {
  if (tensor.packed == nullptr || !GroupFormOf(tensor)) return {};
  return tensor.packed->order();
}

void ReadGroups(const TensorView& tensor, int64_t first,
                std::span<GroupedRow> to) {
  if (tensor.packed != nullptr) {
    return tensor.packed->ReadGroups(
        tensor.packed_begin / tensor.shape[1] + first, to);
  }
  const GroupForm form = *GroupFormOf(tensor);
  for (GroupedRow& row : to) ReadBlocks(tensor, first++, form, &row);
}

// Tries scales around the one that makes the number of the greatest size -8 or
// 7: smaller ones clip it and leave less error to the others.
float RoundTo4Bits(std::span<const float> x, ScaleType type, uint8_t* q) {
  float most = 0;
  for (const float value : x) {
    if (std::fabs(value) > std::fabs(most)) most = value;
  }
  float best = 0;
  double least = 0;
  uint8_t tried[kMostNumbers];
  for (int step = 0; step < 16; ++step) {
    const float scale =
        ToScale(most / (-8.5f + 0.15f * static_cast<float>(step)), type);
    const double error =
        Round(x, scale, 8, 15, step == 0 ? kNoBound : least, tried);
    if (step > 0 && !(error < least)) continue;
    least = error;
    best = scale;
    std::copy_n(tried, x.size(), q);
  }
  return best;
}

void RoundToGroups(std::span<const float> row, GroupForm form, GroupedRow* to) {
  const int groups = GroupsOf(static_cast<int64_t>(row.size()));
  ClearGroups(form, static_cast<int64_t>(row.size()), to);
  const bool four = form == GroupForm::kScale4;
  // The numbers after a row's end are zero.
  std::fill(to->numbers.begin(), to->numbers.end(), four ? 8 : 128);
  for (int group = 0; group < groups; ++group) {
    const size_t at = static_cast<size_t>(group) * kGroupNumbers;
    const auto x =
        row.subspan(at, std::min<size_t>(kGroupNumbers, row.size() - at));
    uint8_t* const q = to->numbers.data() + at;
    float scale;
    if (four) {
      scale = RoundTo4Bits(x, ScaleType::kF16, q);
    } else {
      float most = 0;
      for (const float value : x) most = std::max(most, std::fabs(value));
      scale = ToF16(most / 127);
      Round(x, scale, 128, 255, kNoBound, q);
    }
    to->scales.push_back(F32ToF16(scale));
  }
}

}  // namespace trivium
