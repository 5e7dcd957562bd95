#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <optional>
#include <span>

#include "model/weights/weights.h"

namespace trivium {
namespace {

uint16_t Load16(const std::byte* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// Moves exponent and mantissa to their places in an f32, whose exponent is
// then 112 too small; the product is exact, for subnormal numbers too.
float F16ToF32(uint16_t half) {
  constexpr float kExponentShift = 0x1p112f;
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  const bool special = (half & 0x7c00u) == 0x7c00u;  // infinity or NaN
  const float scaled = std::bit_cast<float>(magnitude) * kExponentShift;
  const uint32_t bits =
      special ? magnitude | 0x7f800000u : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

// The first of the numbers whose exponent is all ones, in an integer of their
// size.
template <class Bits>
std::optional<int64_t> FirstWith(Bits exponent,
                                 std::span<const std::byte> data) {
  constexpr int64_t kBlock = 1024;  // so that compilers make vectors of it
  const int64_t count = static_cast<int64_t>(data.size() / sizeof(Bits));
  const auto is_special = [exponent, &data](int64_t i) {
    Bits bits;
    std::memcpy(&bits, data.data() + i * sizeof(Bits), sizeof(bits));
    return (bits & exponent) == exponent;
  };
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    bool any = count - begin < kBlock;  // perhaps
    if (!any) {
      Bits found = 0;
      for (int64_t i = 0; i < kBlock; ++i) found |= is_special(begin + i);
      any = found != 0;
    }
    if (!any) continue;
    for (int64_t i = begin; i < std::min(begin + kBlock, count); ++i) {
      if (is_special(i)) return i;
    }
  }
  return std::nullopt;
}

}  // namespace

int DTypeSize(DType dtype) {
  switch (dtype) {
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBf16:
      return 2;
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 1;
}

std::string_view DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBf16:
      return "bf16";
    case DType::kI64:
      return "i64";
    case DType::kI32:
      return "i32";
    case DType::kU8:
      return "u8";
    case DType::kBool:
      return "bool";
  }
  return "";
}

int64_t TensorView::elements() const {
  return static_cast<int64_t>(data.size()) / DTypeSize(dtype);
}

std::optional<int64_t> FirstNotFinite(const TensorView& tensor) {
  switch (tensor.dtype) {
    case DType::kF32:
      return FirstWith<uint32_t>(0x7f800000u, tensor.data);
    case DType::kF16:
      return FirstWith<uint16_t>(0x7c00u, tensor.data);
    case DType::kBf16:
      return FirstWith<uint16_t>(0x7f80u, tensor.data);
    default:
      return std::nullopt;
  }
}

void CopyToF32(const TensorView& tensor, int64_t begin, std::span<float> out) {
  const int64_t count = static_cast<int64_t>(out.size());
  assert(begin >= 0 && begin + count <= tensor.elements());
  if (count == 0) return;
  const std::byte* from = tensor.data.data() + begin * DTypeSize(tensor.dtype);
  switch (tensor.dtype) {
    case DType::kF32:
      std::memcpy(out.data(), from, count * sizeof(float));
      return;
    case DType::kF16:
      for (int64_t i = 0; i < count; ++i) {
        out[i] = F16ToF32(Load16(from + 2 * i));
      }
      return;
    case DType::kBf16:
      for (int64_t i = 0; i < count; ++i) {
        out[i] = std::bit_cast<float>(uint32_t{Load16(from + 2 * i)} << 16);
      }
      return;
    default:
      assert(false && "families check that weights are floating point");
  }
}

}  // namespace trivium
