#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "model/weights/gguf_blocks.h"
#include "model/weights/half.h"
#include "model/weights/packed_rows.h"
#include "model/weights/tensor_file.h"
#include "model/weights/weights.h"

namespace trivium {
namespace {

// Returns the index of the first number whose exponent has all bits set,
// compared as integers of the same size.
template <class Bits>
std::optional<int64_t> FirstWith(Bits exponent,
                                 std::span<const std::byte> data) {
  constexpr int64_t kBlock = 1024;  // lets compilers vectorize the loop
  const int64_t count = static_cast<int64_t>(data.size() / sizeof(Bits));
  const auto is_special = [exponent, &data](int64_t i) {
    Bits bits;
    std::memcpy(&bits, data.data() + i * sizeof(Bits), sizeof(bits));
    return (bits & exponent) == exponent;
  };
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    bool any = count - begin < kBlock;  // the rest: check each
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

// Like FirstWith for the elements [begin, end) of numbers with scales or packed
// ones. It checks the products, because finite numbers may have infinite ones.
std::optional<int64_t> FirstOfScaled(const TensorView& tensor, int64_t begin,
                                     int64_t end) {
  const int64_t part =
      tensor.packed != nullptr
          ? std::min(end - begin, PackedRows::kRowsAtOnce * tensor.shape.back())
          : 4096;
  std::vector<float> values(part);
  for (; begin < end; begin += part) {
    const auto out = std::span(values).first(std::min(part, end - begin));
    CopyToF32(tensor, begin, out);
    const auto found = FirstWith<uint32_t>(0x7f800000u, std::as_bytes(out));
    if (found.has_value()) return begin + *found;
  }
  return std::nullopt;
}

// Like FirstWith for the f16 scales of blocks: a block's elements are all
// finite, or none is.
std::optional<int64_t> FirstOfBlocks(const TensorView& tensor,
                                     const BlockFormat& format, int64_t begin,
                                     int64_t end) {
  const std::byte* block =
      tensor.data.data() + begin / format.elements * format.bytes;
  for (; begin < end; begin += format.elements, block += format.bytes) {
    for (const int at : format.halves) {
      if (at >= 0 && (Load16(block + at) & 0x7c00) == 0x7c00) return begin;
    }
  }
  return std::nullopt;
}

// Returns the first element of [begin, end) that is not finite.
std::optional<int64_t> FirstOfPart(const TensorView& tensor, int64_t begin,
                                   int64_t end) {
  if (tensor.packed != nullptr || tensor.row_scales != nullptr) {
    return FirstOfScaled(tensor, begin, end);
  }
  const BlockFormat* const blocks = FindBlockFormat(tensor.dtype);
  if (blocks != nullptr) {
    return blocks->halves[0] >= 0 ? FirstOfBlocks(tensor, *blocks, begin, end)
                                  : FirstOfScaled(tensor, begin, end);
  }
  const int size = DTypeSize(tensor.dtype);
  const auto data = tensor.data.subspan(begin * size, (end - begin) * size);
  const auto found =
      tensor.dtype == DType::kF32   ? FirstWith<uint32_t>(0x7f800000u, data)
      : tensor.dtype == DType::kF16 ? FirstWith<uint16_t>(0x7c00u, data)
                                    : FirstWith<uint16_t>(0x7f80u, data);
  return found.has_value() ? std::optional(begin + *found) : std::nullopt;
}

void CopyScaled(const TensorView& tensor, int64_t begin, std::span<float> out) {
  const int64_t columns = tensor.shape.back();
  int64_t row = -1;
  float scale = 0;
  for (float& value : out) {
    if (begin / columns != row) {
      row = begin / columns;
      CopyToF32(*tensor.row_scales, row, std::span(&scale, 1));
    }
    const int number = static_cast<int8_t>(tensor.data[begin++]);
    value = static_cast<float>(number) * scale;
  }
}

}  // namespace

int BlockElements(DType dtype) {
  const BlockFormat* const blocks = FindBlockFormat(dtype);
  return blocks == nullptr ? 1 : blocks->elements;
}

bool IsReal(const TensorView& tensor) {
  return tensor.dtype == DType::kF32 || tensor.dtype == DType::kF16 ||
         tensor.dtype == DType::kBf16 || tensor.row_scales != nullptr ||
         FindBlockFormat(tensor.dtype) != nullptr;
}

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
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
    case DType::kF8E4m3:
    case DType::kF8E8m0:
      return 1;
    default:
      return FindBlockFormat(dtype)->bytes;
  }
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
    case DType::kI8:
      return "i8";
    case DType::kU8:
      return "u8";
    case DType::kBool:
      return "bool";
    case DType::kF8E4m3:
      return "f8_e4m3";
    case DType::kF8E8m0:
      return "f8_e8m0";
    default:
      return FindBlockFormat(dtype)->name;
  }
}

int64_t TensorView::elements() const { return ElementCount(shape).value_or(0); }

std::optional<int64_t> FirstNotFinite(const TensorView& tensor) {
  if (!tensor.has_values()) return std::nullopt;
  if (!IsReal(tensor) && tensor.packed == nullptr) return std::nullopt;
  // Threads check parts of whole blocks, of packed tensors whole rows.
  constexpr int64_t kPart = 1 << 18;
  const int64_t count = tensor.elements();
  if (count == 0) return std::nullopt;
  int64_t part = kPart;
  if (tensor.packed != nullptr) {
    const int64_t rows = PackedRows::kRowsAtOnce * tensor.shape.back();
    part = (kPart + rows - 1) / rows * rows;
  }
  std::atomic<int64_t> first = count;
  ParallelFor(static_cast<int>((count + part - 1) / part), /*least=*/4,
              [&](int begin, int end) {
                for (int i = begin; i < end && i * part < first; ++i) {
                  const auto found = FirstOfPart(
                      tensor, i * part, std::min((i + 1) * part, count));
                  if (!found.has_value()) continue;
                  int64_t least = first;
                  while (*found < least &&
                         !first.compare_exchange_weak(least, *found)) {
                  }
                  break;
                }
              });
  return first < count ? std::optional(first.load()) : std::nullopt;
}

void CopyToF32(const TensorView& tensor, int64_t begin, std::span<float> out) {
  const int64_t count = static_cast<int64_t>(out.size());
  assert(begin >= 0 && begin + count <= tensor.elements());
  if (count == 0) return;
  if (tensor.packed != nullptr) {
    tensor.packed->Read(tensor.packed_begin + begin, out);
    return;
  }
  if (const BlockFormat* blocks = FindBlockFormat(tensor.dtype)) {
    CopyBlocks(*blocks, tensor.data, begin, out);
    return;
  }
  if (tensor.row_scales != nullptr) {
    CopyScaled(tensor, begin, out);
    return;
  }
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
