// With x the embedding of n values:
//   int8:   scale = max |x_i| / 127, byte_i = round(x_i / scale); so x_i is
//           byte_i * scale within scale / 2
//   binary: bit_i = x_i > 0, scale = sum |x_i| / n, which of all scales brings
//           +-scale nearest to x (Rastegari et al. 2016, XNOR-Net, eq. 6)
#include "server/calls/convert/embedding_bytes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <utility>

namespace trivium {
namespace {

std::string ToHalves(std::span<const float> embedding) {
  std::string bytes;
  bytes.reserve(2 * embedding.size());
  for (const float value : embedding) {
    const uint16_t half = ToHalf(value);
    bytes.push_back(static_cast<char>(half & 0xff));
    bytes.push_back(static_cast<char>(half >> 8));
  }
  return bytes;
}

std::string ToInt8(std::span<const float> embedding, float* scale) {
  float most = 0;
  for (const float value : embedding) most = std::max(most, std::fabs(value));
  *scale = most / 127;
  std::string bytes;
  bytes.reserve(embedding.size());
  for (const float value : embedding) {
    // A scale that underflows is that of an embedding of zeros.
    const float byte = *scale > 0 ? std::nearbyint(value / *scale) : 0;
    bytes.push_back(static_cast<char>(
        static_cast<int8_t>(std::clamp(byte, -127.f, 127.f))));
  }
  return bytes;
}

std::string ToBits(std::span<const float> embedding, float* scale) {
  double sum = 0;
  std::string bytes((embedding.size() + 7) / 8, '\0');
  for (size_t i = 0; i < embedding.size(); ++i) {
    sum += std::fabs(embedding[i]);
    if (embedding[i] > 0) {
      bytes[i / 8] = static_cast<char>(static_cast<uint8_t>(bytes[i / 8]) |
                                       (0x80u >> (i % 8)));
    }
  }
  *scale = static_cast<float>(sum / std::max<size_t>(1, embedding.size()));
  return bytes;
}

// True if a format has a scale.
bool IsScaled(v1::EmbeddingFormat format) {
  return format == v1::EMBEDDING_FORMAT_INT8 ||
         format == v1::EMBEDDING_FORMAT_BINARY;
}

// Returns the values in a format other than that of 32-bit floats. Sets the
// scale if the format has one.
std::string ToBytes(std::span<const float> values, v1::EmbeddingFormat format,
                    float* scale) {
  switch (format) {
    case v1::EMBEDDING_FORMAT_INT8:
      return ToInt8(values, scale);
    case v1::EMBEDDING_FORMAT_BINARY:
      return ToBits(values, scale);
    default:
      return ToHalves(values);
  }
}

// Puts an embedding into a message that has the fields of EncodeResult for it.
template <typename Message>
void PutEmbedding(const std::vector<float>& embedding,
                  v1::EmbeddingFormat format, Message* out) {
  if (format == v1::EMBEDDING_FORMAT_UNSPECIFIED) {
    out->mutable_embedding()->Add(embedding.begin(), embedding.end());
    return;
  }
  float scale = 0;
  out->set_embedding_bytes(ToBytes(embedding, format, &scale));
  if (IsScaled(format)) out->set_embedding_scale(scale);
}

}  // namespace

uint16_t ToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const float size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00;  // rounds beyond 65504
  if (size < 0x1p-14f) {
    // Subnormal: multiples of 2^-24. 0x400 is the smallest normal one.
    return sign | static_cast<uint16_t>(std::nearbyint(size * 0x1p24f));
  }
  // Drops 13 of the fraction's 23 bits; 112 is the difference of the biases.
  uint32_t rounded = std::bit_cast<uint32_t>(size);
  rounded += 0xfff + ((rounded >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded >> 13) - (112u << 10));
}

void SetEmbedding(const std::vector<float>& embedding,
                  v1::EmbeddingFormat format, v1::EncodeResult* out) {
  PutEmbedding(embedding, format, out);
}

void SetEmbedding(const std::vector<float>& embedding,
                  v1::EmbeddingFormat format, v1::Chunk* out) {
  PutEmbedding(embedding, format, out);
}

void SetMultiVector(const VectorRows& rows, v1::EmbeddingFormat format,
                    bool positions, v1::MultiVector* out) {
  out->set_row_count(static_cast<uint32_t>(rows.rows()));
  out->set_size(static_cast<uint32_t>(rows.size));
  if (positions) {
    out->mutable_positions()->Add(rows.positions.begin(), rows.positions.end());
  }
  if (format == v1::EMBEDDING_FORMAT_UNSPECIFIED) {
    out->mutable_values()->Add(rows.values.begin(), rows.values.end());
    return;
  }
  std::string bytes;
  for (int i = 0; i < rows.rows(); ++i) {
    float scale = 0;
    bytes += ToBytes(rows.row(i), format, &scale);
    if (IsScaled(format)) out->add_scales(scale);
  }
  out->set_value_bytes(std::move(bytes));
}

int64_t MultiVectorBytes(int64_t count, int64_t size,
                         v1::EmbeddingFormat format) {
  constexpr int64_t kFloat = sizeof(float);
  switch (format) {
    case v1::EMBEDDING_FORMAT_FLOAT16:
      return count * 2 * size;
    case v1::EMBEDDING_FORMAT_INT8:
      return count * (size + kFloat);
    case v1::EMBEDDING_FORMAT_BINARY:
      return count * ((size + 7) / 8 + kFloat);
    default:
      return count * size * kFloat;
  }
}

}  // namespace trivium
