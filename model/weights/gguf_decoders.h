#ifndef TRIVIUM_MODEL_WEIGHTS_GGUF_DECODERS_H_
#define TRIVIUM_MODEL_WEIGHTS_GGUF_DECODERS_H_

#include <cstddef>
#include <cstdint>

#include "model/weights/half.h"

namespace trivium {

// Readers of one block each, for gguf_blocks.cc's list of formats.
void DecodeQ2K(const std::byte* block, float* out);
void DecodeQ3K(const std::byte* block, float* out);
void DecodeTq1(const std::byte* block, float* out);
void DecodeTq2(const std::byte* block, float* out);
void DecodeIq4Nl(const std::byte* block, float* out);
void DecodeIq4Xs(const std::byte* block, float* out);
void DecodeMxfp4(const std::byte* block, float* out);
void DecodeNvfp4(const std::byte* block, float* out);
void DecodeIq1S(const std::byte* block, float* out);
void DecodeIq1M(const std::byte* block, float* out);
void DecodeIq2Xxs(const std::byte* block, float* out);
void DecodeIq2Xs(const std::byte* block, float* out);
void DecodeIq2S(const std::byte* block, float* out);
void DecodeIq3Xxs(const std::byte* block, float* out);
void DecodeIq3S(const std::byte* block, float* out);

// Returns the six bits of group j's scale, 0 <= j < 8, of a block of IQ4_XS.
// The scale is 32 less.
uint8_t Iq4XsScale(const std::byte* block, int j);

namespace gguf {

// The fields of blocks.
inline float Half(const std::byte* bytes) { return F16ToF32(Load16(bytes)); }
inline int Byte(std::byte byte) { return std::to_integer<int>(byte); }
inline int Low(std::byte byte) { return Byte(byte) & 15; }
inline int High(std::byte byte) { return Byte(byte) >> 4; }
inline int Signed(std::byte byte) { return static_cast<int8_t>(Byte(byte)); }
// Returns the i-th number of four bits.
inline int Nibble(const std::byte* bytes, int i) {
  return i % 2 == 0 ? Low(bytes[i / 2]) : High(bytes[i / 2]);
}

}  // namespace gguf
}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_GGUF_DECODERS_H_
