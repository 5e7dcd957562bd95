// Blocks of 256 numbers of two or three bits, and those of four bits that stand
// for the entries of a table. d is a block's f16 scale.
#include <bit>

#include "model/weights/gguf_decoders.h"
#include "model/weights/grouped_row.h"

namespace trivium {
namespace {

using gguf::Byte;
using gguf::Half;
using gguf::High;
using gguf::Low;
using gguf::Nibble;

constexpr int kBlockOfFewBits = 256;

// Returns number i of 64 bytes of two bits each. In each half of the block, the
// numbers 32 k + i have bits 2 k and 2 k + 1 of byte i.
int TwoBits(const std::byte* bytes, int i) {
  return Byte(bytes[i / 128 * 32 + i % 32]) >> (i / 32 % 4 * 2) & 3;
}

// Returns the scale of an unsigned E4M3 number, halved, since tables of four
// bits are doubled. Zero and 0x7f, which is no number, are 0.
float HalfOfE4m3(int x) {
  if (x == 0 || x == 0x7f) return 0;
  const int exponent = x >> 3 & 15, mantissa = x & 7;
  // 2^-10 x mantissa, or 2^(exponent - 8) x (1 + mantissa / 8).
  const float power = std::bit_cast<float>(
      static_cast<uint32_t>(127 - 11 + (exponent == 0 ? 1 : exponent)) << 23);
  return power * static_cast<float>(exponent == 0 ? mantissa : mantissa + 8);
}

}  // namespace

// {16 bytes of scales and minimums, 64 bytes, d, m}: (d scale) q - (m least),
// where each 16 elements have a scale of four bits and a minimum of four.
void DecodeQ2K(const std::byte* block, float* out) {
  const float d = Half(block + 80), m = Half(block + 82);
  for (int i = 0; i < kBlockOfFewBits; ++i) {
    const std::byte part = block[i / 16];
    const float scale = d * static_cast<float>(Low(part));
    const float least = m * static_cast<float>(High(part));
    out[i] = scale * static_cast<float>(TwoBits(block + 16, i)) - least;
  }
}

// {32 bytes of third bits, 64 bytes, 12 bytes of scales, d}: (d (scale - 32))
// (q - 4). Element i has bit i / 32 of byte i % 32 of the third bits. Scale j
// of each 16 elements has its low four bits in bytes 0 to 7, and its high two
// in byte 8 + j % 4.
void DecodeQ3K(const std::byte* block, float* out) {
  const std::byte* const scales = block + 96;
  const float d = Half(block + 108);
  for (int i = 0; i < kBlockOfFewBits; ++i) {
    const int j = i / 16;
    const int low = j < 8 ? Low(scales[j]) : High(scales[j - 8]);
    const int high = Byte(scales[8 + j % 4]) >> (j / 4 * 2) & 3;
    const int third = Byte(block[i % 32]) >> (i / 32) & 1;
    out[i] = d * static_cast<float>((low | high << 4) - 32) *
             static_cast<float>((TwoBits(block + 32, i) | third << 2) - 4);
  }
}

// {48 bytes, 4 bytes, d}: d (q - 1), where q is 0, 1 or 2. A byte is a fraction
// of 256 in base three with five digits, or four in the last 4 bytes. Digit k
// of the first 32 bytes are elements 32 k to 32 k + 31, and so on.
void DecodeTq1(const std::byte* block, float* out) {
  const float d = Half(block + 52);
  struct {
    int first, bytes, digits;
  } const parts[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
  for (const auto& part : parts) {
    for (int power = 1, k = 0; k < part.digits; ++k, power *= 3) {
      for (int i = 0; i < part.bytes; ++i) {
        const int rest = Byte(block[part.first + i]) * power & 255;
        *out++ = d * static_cast<float>((rest * 3 >> 8) - 1);
      }
    }
  }
}

// {64 bytes, d}: d (q - 1).
void DecodeTq2(const std::byte* block, float* out) {
  const float d = Half(block + 64);
  for (int i = 0; i < kBlockOfFewBits; ++i) {
    out[i] = d * static_cast<float>(TwoBits(block, i) - 1);
  }
}

// {d, 16 bytes}: d table[q].
void DecodeIq4Nl(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(kCurve4Numbers[Low(block[2 + i])]);
    out[i + 16] = d * static_cast<float>(kCurve4Numbers[High(block[2 + i])]);
  }
}

uint8_t Iq4XsScale(const std::byte* block, int j) {
  const int high = Load16(block + 2) >> (2 * j) & 3;
  return static_cast<uint8_t>(Nibble(block + 4, j) | high << 4);
}

// {d, 2 bytes of the scales' high two bits, 4 bytes of their low four, 128
// bytes}: (d (scale - 32)) table[q]. Each 32 elements have a scale and their 16
// bytes.
void DecodeIq4Xs(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int j = 0; j < 8; ++j) {
    const float scale = d * static_cast<float>(Iq4XsScale(block, j) - 32);
    const std::byte* const numbers = block + 8 + 16 * j;
    for (int i = 0; i < 16; ++i) {
      float* const to = out + 32 * j + i;
      to[0] = scale * static_cast<float>(kCurve4Numbers[Low(numbers[i])]);
      to[16] = scale * static_cast<float>(kCurve4Numbers[High(numbers[i])]);
    }
  }
}

// {e, 16 bytes}: 2^(e - 128) times twice a 4-bit number (E2M1 of the Open
// Compute Project's Microscaling Formats).
void DecodeMxfp4(const std::byte* block, float* out) {
  const float d = Mxfp4Scale(static_cast<uint8_t>(Byte(block[0])));
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(kFp4Numbers[Low(block[1 + i])]);
    out[i + 16] = d * static_cast<float>(kFp4Numbers[High(block[1 + i])]);
  }
}

// {4 bytes of scales, 32 bytes}: scale times twice a 4-bit number, as MXFP4's.
// Each 16 elements have a scale (E4M3) and 8 bytes.
void DecodeNvfp4(const std::byte* block, float* out) {
  for (int j = 0; j < 4; ++j) {
    const float d = HalfOfE4m3(Byte(block[j]));
    const std::byte* const numbers = block + 4 + 8 * j;
    for (int i = 0; i < 8; ++i) {
      float* const to = out + 16 * j + i;
      to[0] = d * static_cast<float>(kFp4Numbers[Low(numbers[i])]);
      to[8] = d * static_cast<float>(kFp4Numbers[High(numbers[i])]);
    }
  }
}

}  // namespace trivium
