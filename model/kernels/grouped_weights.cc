#include <algorithm>
#include <cstring>
#include <utility>

#include "model/kernels/group_layout.h"
#include "model/kernels/grouped_product.h"
#include "model/weights/half.h"

namespace trivium {
namespace {

uint16_t HalfAt(const char* from, int column) {
  uint16_t half;
  std::memcpy(&half, from + 2 * column, sizeof(half));
  return half;
}
void SetHalf(uint16_t half, int column, char* to) {
  std::memcpy(to + 2 * column, &half, sizeof(half));
}

}  // namespace

GroupedWeights::GroupedWeights(int n, int k, std::vector<GroupForm> forms)
    : GroupedWeights(n, k, forms, RawBuffer(PackedBytes(k, forms))) {}

GroupedWeights::GroupedWeights(int n, int k, std::vector<GroupForm> forms,
                               RawBuffer packed)
    : n_(n), k_(k), forms_(std::move(forms)), packed_(std::move(packed)) {
  for (const GroupForm form : forms_) {
    begin_.push_back(bytes_);
    bytes_ += BlockBytes(k, form);
  }
}

size_t GroupedWeights::PackedBytes(int k, std::span<const GroupForm> forms) {
  size_t bytes = 0;
  for (const GroupForm form : forms) bytes += BlockBytes(k, form);
  return bytes;
}

size_t GroupedWeights::PackedBytes(int n, int k, GroupForm form) {
  return static_cast<size_t>((n + kColumns - 1) / kColumns) *
         BlockBytes(k, form);
}

void GroupedWeights::Set(int column, const GroupedRow& row) {
  const int place = column % kColumns;
  const GroupForm form = row.form;
  char* const block =
      static_cast<char*>(packed_.data()) + begin_[column / kColumns];
  for (int group = 0; group < GroupsOf(k_); ++group) {
    char* const to = block + GroupBegin(form, group);
    const uint8_t* const q =
        row.numbers.data() + static_cast<size_t>(group) * kGroupNumbers;
    const bool eight = form == GroupForm::kScale8;
    for (int step = 0; step < (eight ? 8 : 4); ++step) {
      uint32_t four, next;
      std::memcpy(&four, q + (eight ? 4 : 8) * step, sizeof(four));
      if (!eight) {
        std::memcpy(&next, q + 8 * step + 4, sizeof(next));
        four |= next << 4;
      }
      std::memcpy(to + step * kStep + 4 * place, &four, sizeof(four));
    }
    char* const scales = to + NumberBytes(form);
    if (form == GroupForm::kParts4) {
      scales[place] = static_cast<char>(row.part_scales[group]);
      scales[kColumns + place] = static_cast<char>(row.part_minimums[group]);
      if (group % kPartsOfBlock == 0) {
        char* const head = to - HeadBytes(form);
        SetHalf(row.scales[group / kPartsOfBlock], place, head);
        SetHalf(row.minimums[group / kPartsOfBlock], place, head + kHalves);
      }
      continue;
    }
    if (form == GroupForm::kCurveParts4 || form == GroupForm::kFp4) {
      scales[place] = static_cast<char>(row.part_scales[group]);
      if (form == GroupForm::kCurveParts4 && group % kPartsOfBlock == 0) {
        SetHalf(row.scales[group / kPartsOfBlock], place, to - HeadBytes(form));
      }
      continue;
    }
    SetHalf(row.scales[group], place, scales);
    if (form == GroupForm::kMinimum4) {
      SetHalf(row.minimums[group], place, scales + kHalves);
    } else if (form == GroupForm::kZero4) {
      scales[kHalves + place] = static_cast<char>(row.zeros[group]);
    }
  }
}

void GroupedWeights::Get(int column, float* w) const {
  const int place = column % kColumns;
  const GroupForm form = forms_[column / kColumns];
  const char* const block =
      static_cast<const char*>(packed_.data()) + begin_[column / kColumns];
  const auto number = [place](const char* bytes) {
    return static_cast<float>(static_cast<uint8_t>(bytes[place]));
  };
  const char* head = block;
  for (int group = 0; group < GroupsOf(k_); ++group) {
    const char* const from = block + GroupBegin(form, group);
    const char* const scales = from + NumberBytes(form);
    if (group % kPartsOfBlock == 0) head = from - HeadBytes(form);
    // w = scale (q - zero) + minimum, or scale table[q].
    float scale = form == GroupForm::kFp4
                      ? Mxfp4Scale(static_cast<uint8_t>(scales[place]))
                      : F16ToF32(HalfAt(HasParts(form) ? head : scales, place));
    int zero = 0;
    float minimum = 0;
    switch (form) {
      case GroupForm::kScale4:
        zero = 8;
        break;
      case GroupForm::kMinimum4:
        minimum = F16ToF32(HalfAt(scales + kHalves, place));
        break;
      case GroupForm::kParts4:
        scale *= number(scales);
        minimum = -(F16ToF32(HalfAt(head + kHalves, place)) *
                    number(scales + kColumns));
        break;
      case GroupForm::kZero4:
        zero = static_cast<int>(number(scales + kHalves));
        break;
      case GroupForm::kCurveParts4:
        scale *= number(scales) - 32;
        break;
      case GroupForm::kCurve4:
      case GroupForm::kFp4:
        break;
      case GroupForm::kScale8:
        zero = 128;
        break;
    }
    const int count = std::min(kGroupNumbers, k_ - group * kGroupNumbers);
    for (int i = 0; i < count; ++i) {
      const bool whole = form == GroupForm::kScale8;
      const int step = whole ? i / 4 : i / 8;
      const auto byte =
          static_cast<uint8_t>(from[step * kStep + 4 * place + i % 4]);
      const int q = whole ? byte : i % 8 < 4 ? byte & 15 : byte >> 4;
      const int value = HasTable(form) ? TableOf(form)[q] : q - zero;
      w[group * kGroupNumbers + i] =
          scale * static_cast<float>(value) + minimum;
    }
  }
}

}  // namespace trivium
