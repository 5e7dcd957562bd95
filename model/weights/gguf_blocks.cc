// A block begins or ends with its scale d (f16). If it has a minimum, m (f16)
// follows d. In blocks of 256, m is the scale of the parts' minimums. MXFP4
// begins with an exponent of one byte instead.
//
// In a block of 32, byte i of the 4-bit numbers holds element i in its low half
// and element i + 16 in its high half. A block of 256 ("K") has additional
// scales for 8 parts of 32 elements or 16 parts of 16. Types of fewer bits are
// in gguf_few_bits.cc and gguf_codebooks.cc.
//
// Every product and difference is rounded to f32, in ggml's order.
#include "model/weights/gguf_blocks.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "model/weights/gguf_decoders.h"

namespace trivium {
namespace {

using gguf::Byte;
using gguf::Half;
using gguf::High;
using gguf::Low;
using gguf::Signed;

constexpr int kSmall = 32;
constexpr int kLarge = 256;

// {d, 16 bytes}: d (q - 8).
void DecodeQ4_0(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(Low(block[2 + i]) - 8);
    out[i + 16] = d * static_cast<float>(High(block[2 + i]) - 8);
  }
}

// {d, m, 16 bytes}: d q + m.
void DecodeQ4_1(const std::byte* block, float* out) {
  const float d = Half(block), m = Half(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(Low(block[4 + i])) + m;
    out[i + 16] = d * static_cast<float>(High(block[4 + i])) + m;
  }
}

// Reads the numbers q of {4 bytes of fifth bits, where element i has bit i; 16
// bytes}.
void Read5Bits(const std::byte* block, std::array<int, kSmall>* q) {
  uint32_t fifth;
  std::memcpy(&fifth, block, sizeof(fifth));
  for (int i = 0; i < 16; ++i) {
    (*q)[i] = Low(block[4 + i]) | static_cast<int>(fifth >> i & 1) << 4;
    (*q)[i + 16] = High(block[4 + i]) | static_cast<int>(fifth >> (i + 16) & 1)
                                            << 4;
  }
}

// {d, fifth bits, 16 bytes}: d (q - 16).
void DecodeQ5_0(const std::byte* block, float* out) {
  const float d = Half(block);
  std::array<int, kSmall> q;
  Read5Bits(block + 2, &q);
  for (int i = 0; i < kSmall; ++i) out[i] = d * static_cast<float>(q[i] - 16);
}

// {d, m, fifth bits, 16 bytes}: d q + m.
void DecodeQ5_1(const std::byte* block, float* out) {
  const float d = Half(block), m = Half(block + 2);
  std::array<int, kSmall> q;
  Read5Bits(block + 4, &q);
  for (int i = 0; i < kSmall; ++i) out[i] = d * static_cast<float>(q[i]) + m;
}

// {d, 32 signed bytes}: d q.
void DecodeQ8_0(const std::byte* block, float* out) {
  const float d = Half(block);
  for (int i = 0; i < kSmall; ++i) {
    out[i] = static_cast<float>(Signed(block[2 + i])) * d;
  }
}

// Returns 4-bit number i of part j, which shares its bytes with an adjacent
// part.
int PartNibble(const std::byte* numbers, int j, int i) {
  const std::byte byte = numbers[j / 2 * 32 + i];
  return j % 2 == 0 ? Low(byte) : High(byte);
}

// {d, m, 12 bytes of scales, 128 bytes}: (d scale) q - (m least).
void DecodeQ4K(const std::byte* block, float* out) {
  const float d = Half(block), m = Half(block + 2);
  for (int j = 0; j < 8; ++j) {
    const Q4KPart part = ReadQ4KPart(block + 4, j);
    const float scale = d * part.scale, least = m * part.minimum;
    for (int i = 0; i < 32; ++i) {
      out[j * 32 + i] =
          scale * static_cast<float>(PartNibble(block + 16, j, i)) - least;
    }
  }
}

// {d, m, 12 bytes of scales, 32 bytes of fifth bits, 128 bytes}: as Q4_K; bit j
// of byte i is element i's of part j.
void DecodeQ5K(const std::byte* block, float* out) {
  const float d = Half(block), m = Half(block + 2);
  for (int j = 0; j < 8; ++j) {
    const Q4KPart part = ReadQ4KPart(block + 4, j);
    const float scale = d * part.scale, least = m * part.minimum;
    for (int i = 0; i < 32; ++i) {
      const int q =
          PartNibble(block + 48, j, i) | (Byte(block[16 + i]) >> j & 1) << 4;
      out[j * 32 + i] = scale * static_cast<float>(q) - least;
    }
  }
}

// {128 bytes of low 4 bits, 64 bytes of high 2 bits, 16 signed scales, d}: (d
// scale) (q - 32). In each half of the block, element 32 k + i has its low bits
// in byte 32 (k mod 2) + i, in the low half of the byte if k < 2, and its high
// bits in byte i, from bit 2 k on.
void DecodeQ6K(const std::byte* block, float* out) {
  const std::byte *low = block, *high = block + 128, *scales = block + 192;
  const float d = Half(block + 208);
  for (int half = 0; half < 2; ++half) {
    for (int k = 0; k < 4; ++k) {
      for (int i = 0; i < 32; ++i) {
        const std::byte byte = low[half * 64 + k % 2 * 32 + i];
        const int q = (k < 2 ? Low(byte) : High(byte)) |
                      (Byte(high[half * 32 + i]) >> (2 * k) & 3) << 4;
        const int at = half * 128 + k * 32 + i;
        out[at] = d * static_cast<float>(Signed(scales[at / 16])) *
                  static_cast<float>(q - 32);
      }
    }
  }
}

constexpr BlockFormat kFormats[] = {
    {DType::kQ4_0, 2, "Q4_0", kSmall, 18, DecodeQ4_0, {{0, -1}}},
    {DType::kQ4_1, 3, "Q4_1", kSmall, 20, DecodeQ4_1, {{0, 2}}},
    {DType::kQ5_0, 6, "Q5_0", kSmall, 22, DecodeQ5_0, {{0, -1}}},
    {DType::kQ5_1, 7, "Q5_1", kSmall, 24, DecodeQ5_1, {{0, 2}}},
    {DType::kQ8_0, 8, "Q8_0", kSmall, 34, DecodeQ8_0, {{0, -1}}},
    {DType::kQ4K, 12, "Q4_K", kLarge, 144, DecodeQ4K, {{0, 2}}},
    {DType::kQ5K, 13, "Q5_K", kLarge, 176, DecodeQ5K, {{0, 2}}},
    {DType::kQ6K, 14, "Q6_K", kLarge, 210, DecodeQ6K, {{208, -1}}},
    {DType::kQ2K, 10, "Q2_K", kLarge, 84, DecodeQ2K, {{80, 82}}},
    {DType::kQ3K, 11, "Q3_K", kLarge, 110, DecodeQ3K, {{108, -1}}},
    {DType::kIq1S, 19, "IQ1_S", kLarge, 50, DecodeIq1S, {{0, -1}}},
    {DType::kIq1M, 29, "IQ1_M", kLarge, 56, DecodeIq1M},
    {DType::kIq2Xxs, 16, "IQ2_XXS", kLarge, 66, DecodeIq2Xxs, {{0, -1}}},
    {DType::kIq2Xs, 17, "IQ2_XS", kLarge, 74, DecodeIq2Xs, {{0, -1}}},
    {DType::kIq2S, 22, "IQ2_S", kLarge, 82, DecodeIq2S, {{0, -1}}},
    {DType::kIq3Xxs, 18, "IQ3_XXS", kLarge, 98, DecodeIq3Xxs, {{0, -1}}},
    {DType::kIq3S, 21, "IQ3_S", kLarge, 110, DecodeIq3S, {{0, -1}}},
    {DType::kIq4Nl, 20, "IQ4_NL", kSmall, 18, DecodeIq4Nl, {{0, -1}}},
    {DType::kIq4Xs, 23, "IQ4_XS", kLarge, 136, DecodeIq4Xs, {{0, -1}}},
    {DType::kTq1, 34, "TQ1_0", kLarge, 54, DecodeTq1, {{52, -1}}},
    {DType::kTq2, 35, "TQ2_0", kLarge, 66, DecodeTq2, {{64, -1}}},
    {DType::kMxfp4, 39, "MXFP4", kSmall, 17, DecodeMxfp4},
    {DType::kNvfp4, 40, "NVFP4", 64, 36, DecodeNvfp4},
};

// Names of ggml.h, indexed by number; removed ones are empty.
constexpr std::string_view kNames[] = {
    "F32",   "F16",   "Q4_0",    "Q4_1",   "",        "",      "Q5_0",
    "Q5_1",  "Q8_0",  "Q8_1",    "Q2_K",   "Q3_K",    "Q4_K",  "Q5_K",
    "Q6_K",  "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL",
    "IQ3_S", "IQ2_S", "IQ4_XS",  "I8",     "I16",     "I32",   "I64",
    "F64",   "IQ1_M", "BF16",    "",       "",        "",      "TQ1_0",
    "TQ2_0", "",      "",        "",       "MXFP4",   "NVFP4", "Q1_0"};

}  // namespace

// For parts 0 to 3 they are the low bits of bytes j and j + 4. For parts 4 to 7
// the low four bits are the halves of byte j + 4, and the high two are the
// upper bits of bytes j - 4 and j.
Q4KPart ReadQ4KPart(const std::byte* scales, int j) {
  int scale, minimum;
  if (j < 4) {
    scale = Byte(scales[j]) & 63;
    minimum = Byte(scales[j + 4]) & 63;
  } else {
    scale = Low(scales[j + 4]) | Byte(scales[j - 4]) >> 6 << 4;
    minimum = High(scales[j + 4]) | Byte(scales[j]) >> 6 << 4;
  }
  return {static_cast<uint8_t>(scale), static_cast<uint8_t>(minimum)};
}

const BlockFormat* FindBlockFormat(DType dtype) {
  for (const BlockFormat& format : kFormats) {
    if (format.dtype == dtype) return &format;
  }
  return nullptr;
}

std::optional<DType> FindGgmlType(uint32_t number) {
  for (const BlockFormat& format : kFormats) {
    if (format.ggml_type == number) return format.dtype;
  }
  switch (number) {
    case 0:
      return DType::kF32;
    case 1:
      return DType::kF16;
    case 24:
      return DType::kI8;
    case 26:
      return DType::kI32;
    case 27:
      return DType::kI64;
    case 30:
      return DType::kBf16;
    default:
      return std::nullopt;
  }
}

std::string_view GgmlTypeName(uint32_t number) {
  return number < std::size(kNames) ? kNames[number] : std::string_view();
}

void CopyBlocks(const BlockFormat& format, std::span<const std::byte> data,
                int64_t begin, std::span<float> out) {
  std::array<float, kLarge> values;  // a block that is only partly requested
  while (!out.empty()) {
    const std::byte* const block =
        data.data() + begin / format.elements * format.bytes;
    const size_t skipped = static_cast<size_t>(begin % format.elements);
    const size_t count =
        std::min(out.size(), static_cast<size_t>(format.elements) - skipped);
    if (count == static_cast<size_t>(format.elements)) {
      format.decode(block, out.data());
    } else {
      format.decode(block, values.data());
      std::copy_n(values.begin() + static_cast<ptrdiff_t>(skipped), count,
                  out.begin());
    }
    begin += static_cast<int64_t>(count);
    out = out.subspan(count);
  }
}

}  // namespace trivium
