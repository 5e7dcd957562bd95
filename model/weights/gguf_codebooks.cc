// Blocks of 256 whose elements are points of a codebook (gguf_grids.h) with
// scales and signs. d is a block's f16 scale. All products are exact in f32.
#include <bit>
#include <cstring>

#include "model/weights/gguf_decoders.h"
#include "model/weights/gguf_grids.h"

namespace trivium {
namespace {

using gguf::Byte;
using gguf::Half;
using gguf::Nibble;

constexpr int kPoint8 = 8;  // elements
constexpr int kPoint4 = 4;
constexpr int kPointsOfBlock = 256 / kPoint8;

constexpr float kIq2Values[] = {8, 25, 43, 0};  // 3 is in no point
constexpr float kIq3XxsValues[] = {4, 12, 20, 28, 36, 44, 52, 62};

// Sets 8 elements to scale times a point's, whose signs are bits.
void Set8(uint16_t point, float scale, int signs, float* out) {
  for (int i = 0; i < kPoint8; ++i) {
    const float value = scale * kIq2Values[point >> (2 * i) & 3];
    out[i] = signs >> i & 1 ? -value : value;
  }
}

// Returns eight signs of which the file has seven: an even number are set.
int WithEighth(uint32_t seven) {
  seven &= 127;
  return static_cast<int>(seven |
                          static_cast<uint32_t>(std::popcount(seven) & 1) << 7);
}

uint32_t Load32(const std::byte* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// Sets 8 elements to scale times (a point's + delta).
void SetIq1(int index, float scale, float delta, float* out) {
  const uint16_t point = kIq1Grid[index];
  for (int i = 0; i < kPoint8; ++i) {
    out[i] = scale * (static_cast<float>((point >> (2 * i) & 3) - 1) + delta);
  }
}

constexpr float kDelta = 0.125f;

}  // namespace

// {d, 32 bytes, 8 x 16 bits}: 32 elements have four points. Each has its low
// eight bits in a byte, and three more bits in the 16, which have a scale of
// three bits and the sign of delta above them.
void DecodeIq1S(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int point = 0; point < kPointsOfBlock; ++point) {
    const int more = Load16(block + 34 + point / 4 * 2);
    const float scale = d * static_cast<float>(2 * (more >> 12 & 7) + 1);
    SetIq1(Byte(block[2 + point]) | (more >> (point % 4 * 3) & 7) << 8, scale,
           more & 0x8000 ? -kDelta : kDelta, out + point * kPoint8);
  }
}

// {32 bytes, 16 bytes, 4 x 16 bits}: a point has its low eight bits in a byte;
// three more bits, and the sign of delta, in a half of one of the 16. The last
// numbers have d in their high four bits, and below it four scales, each for 16
// elements.
void DecodeIq1M(const std::byte* block, float* out) {
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) {
    bits |= static_cast<uint32_t>(Load16(block + 48 + 2 * i) >> 12) << (4 * i);
  }
  const float d = F16ToF32(static_cast<uint16_t>(bits));
  for (int point = 0; point < kPointsOfBlock; ++point) {
    const int part = point / 2;
    const int scales = Load16(block + 48 + part / 4 * 2);
    const float scale =
        d * static_cast<float>(2 * (scales >> (part % 4 * 3) & 7) + 1);
    const int more = Nibble(block + 32, point);
    SetIq1(Byte(block[point]) | (more & 7) << 8, scale,
           more & 8 ? -kDelta : kDelta, out + point * kPoint8);
  }
}

// {d, 8 x (4 bytes, 32 bits)}: 32 elements have four points and four times
// seven signs, above which is a scale of four bits.
void DecodeIq2Xxs(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int j = 0; j < 8; ++j) {
    const std::byte* const points = block + 2 + 8 * j;
    const uint32_t more = Load32(points + 4);
    const float scale = d * (0.5f + static_cast<float>(more >> 28)) * 0.25f;
    for (int i = 0; i < 4; ++i) {
      Set8(kIq2XxsGrid[Byte(points[i])], scale, WithEighth(more >> (7 * i)),
           out + 32 * j + kPoint8 * i);
    }
  }
}

// {d, 32 x 16 bits, 8 bytes}: a point has nine bits and seven signs. 16
// elements have a scale of four bits.
void DecodeIq2Xs(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int point = 0; point < kPointsOfBlock; ++point) {
    const uint32_t bits = Load16(block + 2 + 2 * point);
    const float scale =
        d * (0.5f + static_cast<float>(Nibble(block + 66, point / 2))) * 0.25f;
    Set8(kIq2XsGrid[bits & 511], scale, WithEighth(bits >> 9),
         out + point * kPoint8);
  }
}

// {d, 32 bytes, 32 bytes of signs, 8 bytes, 8 bytes}: a point has its low eight
// bits in the first bytes and its high two in the next to last. 16 elements
// have a scale of four bits.
void DecodeIq2S(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int point = 0; point < kPointsOfBlock; ++point) {
    const int more = Byte(block[66 + point / 4]) >> (point % 4 * 2) & 3;
    const float scale =
        d * (0.5f + static_cast<float>(Nibble(block + 74, point / 2))) * 0.25f;
    Set8(kIq2SGrid[Byte(block[2 + point]) | more << 8], scale,
         Byte(block[34 + point]), out + point * kPoint8);
  }
}

// {d, 64 bytes, 8 x 32 bits}: 32 elements have eight points and four times
// seven signs, above which is a scale of four bits.
void DecodeIq3Xxs(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int i = 0; i < 256; ++i) {
    const uint32_t more = Load32(block + 66 + i / 32 * 4);
    const float scale = d * (0.5f + static_cast<float>(more >> 28)) * 0.5f;
    const int signs = WithEighth(more >> (i / 8 % 4 * 7));
    const uint16_t point = kIq3XxsGrid[Byte(block[2 + i / kPoint4])];
    const float value = scale * kIq3XxsValues[point >> (i % kPoint4 * 4) & 7];
    out[i] = signs >> (i % 8) & 1 ? -value : value;
  }
}

// {d, 64 bytes, 8 bytes, 32 bytes of signs, 4 bytes}: a point has its low eight
// bits in the first bytes and its ninth in the next. 32 elements have a scale
// of four bits. Values are odd: 1, 3 to 15.
void DecodeIq3S(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int i = 0; i < 256; ++i) {
    const float scale =
        d * static_cast<float>(1 + 2 * Nibble(block + 106, i / 32));
    const int at = i / kPoint4;
    const int ninth = Byte(block[66 + at / 8]) >> (at % 8) & 1;
    const uint16_t point = kIq3SGrid[Byte(block[2 + at]) | ninth << 8];
    const float value =
        scale * static_cast<float>(2 * (point >> (i % kPoint4 * 4) & 7) + 1);
    out[i] = Byte(block[74 + i / 8]) >> (i % 8) & 1 ? -value : value;
  }
}

}  // namespace trivium
