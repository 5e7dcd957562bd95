#include "model/kernels/tile_product.h"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/buffer.h"
#include "model/kernels/row_ops.h"

namespace trivium {
namespace {

constexpr int kTriedRows = 70;

// N: partial tiles, partial strips, partial pairs of strips; K in steps of
// tiles.
constexpr int kWidths[] = {1, 15, 16, 17, 31, 32, 33, 48, 64, 80, 97, 200};
constexpr int kDepths[] = {64, 128, 320};

template <class W, class X, class Y>
struct Case {
  int n, k;
  std::vector<W> w;  // [n, k]
  std::vector<X> x;  // [kTriedRows, k]
  Buffer<char> packed;

  Case(int n, int k)
      : n(n),
        k(k),
        w(static_cast<size_t>(n) * k),
        x(static_cast<size_t>(kTriedRows) * k) {}

  void Pack() {
    packed = Buffer<char>(StripsBytes(n, sizeof(W) * k));
    PackStrips(w.data(), n, sizeof(W) * k, packed.data());
  }

  // Returns rows [first, first + rows) times columns [begin, end), with
  // `untouched` for all else, of which it checks that nothing was written.
  std::vector<Y> Multiply(int first, int rows, int begin, int end,
                          Y untouched) const {
    // A copy of exactly its size, so that sanitizers detect reads beyond it.
    const std::vector<X> some(x.begin() + first * k,
                              x.begin() + (first + rows) * k);
    std::vector<Y> y(static_cast<size_t>(rows + 1) * n, untouched);
    TileProduct(reinterpret_cast<const W*>(packed.data()), n, k, some.data(),
                rows, begin, end, y.data());
    for (int row = 0; row <= rows; ++row) {
      for (int i = 0; i < n; ++i) {
        if (row < rows && begin <= i && i < end) continue;
        EXPECT_EQ(y[row * n + i], untouched)
            << "row " << row << " column " << i;
      }
    }
    return y;
  }
};

TEST(TileProductTest, BytesAreExact) {
  if (!HasByteTiles(64)) GTEST_SKIP() << "needs AMX";
  std::mt19937 generator(3);
  for (const int n : kWidths) {
    for (const int k : kDepths) {
      Case<int8_t, uint8_t, int32_t> one(n, k);
      for (int8_t& v : one.w) v = static_cast<int8_t>(generator() % 256);
      for (uint8_t& v : one.x) v = static_cast<uint8_t>(generator() % 256);
      one.Pack();
      for (int rows = 1; rows <= kTriedRows; ++rows) {
        const int cut = (n - 1) / kStripColumns * kStripColumns;
        for (const auto& [begin, end] :
             {std::pair(0, cut), std::pair(cut, n)}) {
          const std::vector<int32_t> y = one.Multiply(0, rows, begin, end, -7);
          for (int row = 0; row < rows; ++row) {
            for (int i = begin; i < end; ++i) {
              int32_t sum = 0;
              for (int j = 0; j < k; ++j) {
                sum += one.x[row * k + j] * one.w[i * k + j];
              }
              ASSERT_EQ(y[row * n + i], sum)
                  << "n " << n << " k " << k << " rows " << rows;
            }
          }
        }
      }
    }
  }
  EXPECT_FALSE(HasByteTiles(96));
}

// Extreme values do not saturate.
TEST(TileProductTest, BytesDoNotSaturate) {
  if (!HasByteTiles(4096)) GTEST_SKIP() << "needs AMX";
  Case<int8_t, uint8_t, int32_t> one(16, 4096);
  one.w.assign(one.w.size(), -128);
  one.x.assign(one.x.size(), 255);
  one.Pack();
  for (const int32_t sum : one.Multiply(0, 20, 0, 16, 0)) {
    if (sum != 0) {
      ASSERT_EQ(sum, -128 * 255 * 4096);
    }
  }
}

// A row has the same bits at every place and whatever else is multiplied, and
// is close to the sum of the rounded numbers' products.
TEST(TileProductTest, Bf16RowsDoNotDependOnOthers) {
  if (!HasBf16Tiles(32)) GTEST_SKIP() << "needs AMX";
  std::mt19937 generator(4);
  std::normal_distribution<float> normal;
  const auto fill = [&](std::vector<uint16_t>* to) {
    std::vector<float> values(to->size());
    for (float& v : values) v = normal(generator);
    Bf16Row(values.data(), static_cast<int>(values.size()), to->data());
  };
  const auto number = [](uint16_t bf16) {
    const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  };
  for (const int n : kWidths) {
    for (const int k : {32, 96, 512}) {
      Case<uint16_t, uint16_t, float> one(n, k);
      fill(&one.w);
      fill(&one.x);
      one.Pack();
      std::vector<float> alone;  // each row alone
      for (int row = 0; row < kTriedRows; ++row) {
        const std::vector<float> y = one.Multiply(row, 1, 0, n, -7);
        alone.insert(alone.end(), y.begin(), y.begin() + n);
      }
      for (int row = 0; row < kTriedRows; ++row) {
        for (int i = 0; i < n; ++i) {
          double sum = 0, size = 0;
          for (int j = 0; j < k; ++j) {
            const double product =
                static_cast<double>(number(one.x[row * k + j])) *
                number(one.w[i * k + j]);
            sum += product;
            size += std::fabs(product);
          }
          // Each of the K sums is rounded to f32 at most once.
          ASSERT_NEAR(alone[row * n + i], sum, size * k * 0x1p-24);
        }
      }
      for (int rows = 2; rows <= kTriedRows; ++rows) {
        const int first = kTriedRows - rows;
        const std::vector<float> y = one.Multiply(first, rows, 0, n, -7);
        ASSERT_EQ(std::memcmp(y.data(), &alone[static_cast<size_t>(first) * n],
                              sizeof(float) * rows * n),
                  0)
            << "n " << n << " k " << k << " rows " << rows;
      }
    }
  }
  EXPECT_FALSE(HasBf16Tiles(48));
}

}  // namespace
}  // namespace trivium
