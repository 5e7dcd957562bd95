#ifndef TRIVIUM_MODEL_WEIGHTS_GGUF_BLOCKS_H_
#define TRIVIUM_MODEL_WEIGHTS_GGUF_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/weights/weights.h"

namespace trivium {

// How GGUF stores numbers in blocks of a few bits each with scales: the layouts
// of ggml-common.h of llama.cpp, and the arithmetic of its ggml-quants.c
// (dequantize_row_*), which PyPI's `gguf` repeats; ours gives the same bits.
struct BlockFormat {
  DType dtype;
  uint32_t ggml_type;     // the number in the file
  std::string_view name;  // "Q4_K"
  int elements;           // of one block
  int bytes;              // of one block
  void (*decode)(const std::byte* block, float* out);
};

// Null for types that are not stored in blocks.
const BlockFormat* FindBlockFormat(DType dtype);

// CopyToF32 of blocks.
void CopyBlocks(const BlockFormat& format, std::span<const std::byte> data,
                int64_t begin, std::span<float> out);

// The type that GGUF numbers so, stored in blocks or not; nothing for one that
// is not known here.
std::optional<DType> FindGgmlType(uint32_t number);
// What llama.cpp calls a type, known here or not: "IQ4_XS"; empty for a number
// that it does not give.
std::string_view GgmlTypeName(uint32_t number);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_GGUF_BLOCKS_H_
