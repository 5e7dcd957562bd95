#include "server/calls/convert/embedding_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace trivium {
namespace {

double FromHalf(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const double fraction = half & 1023;
  const double size = exponent == 0
                          ? std::ldexp(fraction, -24)
                          : std::ldexp(1024 + fraction, exponent - 25);
  return half & 0x8000 ? -size : size;
}

TEST(ToHalfTest, KeepsEveryHalf) {
  for (int half = 0; half < 0x10000; ++half) {
    if (((half >> 10) & 31) == 31) continue;  // infinite, or no number
    const double value = FromHalf(static_cast<uint16_t>(half));
    EXPECT_EQ(ToHalf(static_cast<float>(value)), half);
  }
}

TEST(ToHalfTest, RoundsToTheNearestAndThenToTheEven) {
  for (int half = 0; half < 0x7bff; ++half) {
    const double low = FromHalf(static_cast<uint16_t>(half));
    const double high = FromHalf(static_cast<uint16_t>(half + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    EXPECT_EQ(ToHalf(middle), half + (half & 1)) << middle;
    EXPECT_EQ(ToHalf(std::nextafter(middle, 0.f)), half);
    EXPECT_EQ(ToHalf(std::nextafter(middle, 1e9f)), half + 1);
  }
  EXPECT_EQ(ToHalf(65519), 0x7bff);
  EXPECT_EQ(ToHalf(65520), 0x7c00);
  EXPECT_EQ(ToHalf(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(ToHalf(std::numeric_limits<float>::quiet_NaN()) & 0x7e00, 0x7e00);
}

v1::EncodeResult Result(const std::vector<float>& embedding,
                        v1::EmbeddingFormat format) {
  v1::EncodeResult result;
  SetEmbedding(embedding, format, &result);
  return result;
}

TEST(EmbeddingBytesTest, EachFormatGivesTheEmbeddingBack) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const int size : {1, 7, 8, 9, 384}) {
    std::vector<float> embedding(size);
    for (float& value : embedding) value = normal(random);
    EXPECT_EQ(
        Result(embedding, v1::EMBEDDING_FORMAT_UNSPECIFIED).embedding_size(),
        size);
    const v1::EncodeResult half =
        Result(embedding, v1::EMBEDDING_FORMAT_FLOAT16);
    const v1::EncodeResult bytes = Result(embedding, v1::EMBEDDING_FORMAT_INT8);
    const v1::EncodeResult bits =
        Result(embedding, v1::EMBEDDING_FORMAT_BINARY);
    ASSERT_EQ(half.embedding_bytes().size(), 2u * size);
    ASSERT_EQ(bytes.embedding_bytes().size(), size_t(size));
    ASSERT_EQ(bits.embedding_bytes().size(), (size + 7u) / 8);
    double sum = 0;
    for (int i = 0; i < size; ++i) {
      const float value = embedding[i];
      sum += std::fabs(value);
      const auto byte = [](const std::string& from, int at) {
        return static_cast<uint8_t>(from[at]);
      };
      EXPECT_NEAR(FromHalf(static_cast<uint16_t>(
                      byte(half.embedding_bytes(), 2 * i) |
                      byte(half.embedding_bytes(), 2 * i + 1) << 8)),
                  value, std::fabs(value) / 2048);
      EXPECT_NEAR(static_cast<int8_t>(bytes.embedding_bytes()[i]) *
                      bytes.embedding_scale(),
                  value, bytes.embedding_scale() * 0.5001);
      EXPECT_EQ(byte(bits.embedding_bytes(), i / 8) >> (7 - i % 8) & 1,
                value > 0);
    }
    EXPECT_NEAR(bits.embedding_scale(), sum / size, 1e-6);
  }
}

TEST(EmbeddingBytesTest, ZerosStayZeros) {
  for (const float value : {0.f, 1e-45f}) {
    const v1::EncodeResult bytes =
        Result({value, 0}, v1::EMBEDDING_FORMAT_INT8);
    EXPECT_EQ(bytes.embedding_bytes(), std::string(2, '\0'));
    EXPECT_EQ(bytes.embedding_scale(), 0);
  }
}

}  // namespace
}  // namespace trivium
