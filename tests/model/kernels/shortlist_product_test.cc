#include "model/kernels/shortlist_product.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/matmul.h"

namespace trivium {
namespace {

constexpr int kRows = 300;

int Padded(int count) { return (count + 3) / 4 * 4; }

// Returns rows [n, k] padded with zeros to the stride.
template <typename T>
std::vector<T> Pad(const std::vector<T>& values, int n, int k) {
  const int stride = ShortlistStride(k, sizeof(T));
  std::vector<T> padded(static_cast<size_t>(n) * stride);
  for (int i = 0; i < n; ++i) {
    std::copy_n(&values[static_cast<size_t>(i) * k], k,
                &padded[static_cast<size_t>(i) * stride]);
  }
  return padded;
}

// Returns some rows in any order, some of them repeatedly.
std::vector<int32_t> RandomRows(int count, std::mt19937* generator) {
  std::vector<int32_t> rows(count);
  for (int32_t& row : rows) {
    row = static_cast<int32_t>((*generator)() % kRows);
  }
  return rows;
}

TEST(ShortlistProductTest, Int8IsExactForEveryWidthAndCount) {
  std::mt19937 generator(1);
  for (const int k : {1, 3, 31, 63, 64, 65, 100, 128, 256, 511, 512, 1000}) {
    std::vector<int8_t> w(static_cast<size_t>(kRows) * k);
    for (int8_t& v : w) v = static_cast<int8_t>(generator() % 255 - 127);
    const std::vector<int8_t> padded = Pad(w, kRows, k);
    for (const int count : {0, 1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 131, 300}) {
      const std::vector<int32_t> rows = RandomRows(count, &generator);
      for (const int queries : {1, 2, 3, 4, 5, 7, 16}) {
        std::vector<uint8_t> x(static_cast<size_t>(queries) * k);
        for (uint8_t& v : x) v = static_cast<uint8_t>(generator());
        const int y_stride = Padded(count) + 4;
        constexpr int32_t kUntouched = 1 << 30;
        std::vector<int32_t> y(static_cast<size_t>(queries) * y_stride,
                               kUntouched);
        ShortlistProduct(padded.data(), ShortlistStride(k, 1), rows,
                         Pad(x, queries, k).data(), queries, y.data(),
                         y_stride);
        for (int q = 0; q < queries; ++q) {
          for (int i = 0; i < count; ++i) {
            int32_t sum = 0;
            for (int j = 0; j < k; ++j) {
              sum += x[q * k + j] * w[static_cast<size_t>(rows[i]) * k + j];
            }
            ASSERT_EQ(y[q * y_stride + i], sum)
                << "k " << k << " count " << count << " queries " << queries;
          }
          for (int i = Padded(count); i < y_stride; ++i) {
            ASSERT_EQ(y[q * y_stride + i], kUntouched);
          }
        }
      }
    }
  }
}

// The greatest int8 numbers, over widths whose sums do not fit into 16 bits.
TEST(ShortlistProductTest, Int8DoesNotSaturate) {
  const int k = 512;
  for (const int8_t w_value : {int8_t{127}, int8_t{-127}, int8_t{-128}}) {
    const std::vector<int8_t> w(k, w_value);
    const std::vector<uint8_t> x(k, 255);
    const std::vector<int32_t> rows = {0};
    std::vector<int32_t> y(4);
    ShortlistProduct(w.data(), k, rows, x.data(), 1, y.data(), 4);
    EXPECT_EQ(y[0], 255 * w_value * k);
  }
}

TEST(ShortlistProductTest, Int8OfAllRowsIsTheFullProduct) {
  std::mt19937 generator(2);
  const int k = 96;
  std::vector<int8_t> w(static_cast<size_t>(kRows) * k);
  for (int8_t& v : w) v = static_cast<int8_t>(generator() % 255 - 127);
  std::vector<uint8_t> x(static_cast<size_t>(kMaxMatmulRows) * k);
  for (uint8_t& v : x) v = static_cast<uint8_t>(generator() % 256);
  const auto matrix = PackedMatrix::Create(
      {WeightType::kInt8, OperandType::kInt8, kRows, k}, w.data());
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  MatmulWorkspace workspace;
  std::vector<int32_t> full(static_cast<size_t>(kMaxMatmulRows) * kRows);
  ASSERT_TRUE((*matrix)->Multiply(x.data(), 5, full.data(), &workspace).ok());
  std::vector<int32_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<int32_t> y(5 * kRows);
  ShortlistProduct(Pad(w, kRows, k).data(), ShortlistStride(k, 1), rows,
                   Pad(x, 5, k).data(), 5, y.data(), kRows);
  EXPECT_TRUE(std::equal(y.begin(), y.end(), full.begin()));
}

TEST(ShortlistProductTest, F32SumsAreRightAndDependOnTheirRowsAlone) {
  std::mt19937 generator(3);
  std::normal_distribution<float> normal;
  for (const int k : {1, 5, 15, 16, 17, 64, 100, 512}) {
    std::vector<float> w(static_cast<size_t>(kRows) * k);
    for (float& v : w) v = normal(generator);
    const std::vector<float> padded = Pad(w, kRows, k);
    const int stride = ShortlistStride(k, sizeof(float));
    for (const int count : {0, 1, 3, 4, 5, 66, 299}) {
      const std::vector<int32_t> rows = RandomRows(count, &generator);
      for (const int queries : {1, 2, 3, 4, 7, 16}) {
        std::vector<float> x(static_cast<size_t>(queries) * k);
        for (float& v : x) v = normal(generator);
        const std::vector<float> padded_x = Pad(x, queries, k);
        const int y_stride = Padded(count);
        std::vector<float> y(static_cast<size_t>(queries) * y_stride);
        ShortlistProduct(padded.data(), stride, rows, padded_x.data(), queries,
                         y.data(), y_stride);
        for (int q = 0; q < queries; ++q) {
          for (int i = 0; i < count; ++i) {
            double sum = 0, size = 0;
            for (int j = 0; j < k; ++j) {
              const double product = static_cast<double>(x[q * k + j]) *
                                     w[static_cast<size_t>(rows[i]) * k + j];
              sum += product;
              size += std::fabs(product);
            }
            ASSERT_NEAR(y[q * y_stride + i], sum, 1e-7 * k * size + 1e-12);
            float alone[4];
            ShortlistProduct(
                padded.data(), stride, std::span(rows).subspan(i, 1),
                &padded_x[static_cast<size_t>(q) * stride], 1, alone, 4);
            ASSERT_EQ(y[q * y_stride + i], alone[0]) << "bits";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trivium
