#ifndef TRIVIUM_MODEL_WEIGHTS_GGUF_BLOCKS_H_
#define TRIVIUM_MODEL_WEIGHTS_GGUF_BLOCKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/weights/weights.h"

namespace trivium {

// A format of GGUF that stores numbers in blocks of a few bits each, with
// scales. Layouts are those of llama.cpp's ggml-common.h, arithmetic is that of
// its ggml-quants.c (dequantize_row_*), which PyPI's `gguf` repeats; ours gives
// the same bits.
struct BlockFormat {
  DType dtype;
  uint32_t ggml_type;     // the number in the file
  std::string_view name;  // "Q4_K"
  int elements;           // per block
  int bytes;              // per block
  void (*decode)(const std::byte* block, float* out);
  // Places of the block's f16 scales, by which all its elements are multiplied;
  // -1 for none. If they are finite, so are all elements.
  std::array<int, 2> halves = {-1, -1};
};

// The six bits each of part j's scale and minimum, 0 <= j < 8, in the 12 bytes
// of scales of Q4_K and Q5_K.
struct Q4KPart {
  uint8_t scale;
  uint8_t minimum;
};
Q4KPart ReadQ4KPart(const std::byte* scales, int j);

// Returns null for types that are not stored in blocks.
const BlockFormat* FindBlockFormat(DType dtype);

// CopyToF32 for blocks.
void CopyBlocks(const BlockFormat& format, std::span<const std::byte> data,
                int64_t begin, std::span<float> out);

// Returns the type with this GGUF number, in blocks or not; nullopt if it is
// not supported.
std::optional<DType> FindGgmlType(uint32_t number);
// Returns llama.cpp's name of a type, supported or not, such as "IQ4_XS"; empty
// for an unassigned number.
std::string_view GgmlTypeName(uint32_t number);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_GGUF_BLOCKS_H_
