#include "model/kernels/panel_product.h"

#include <cmath>
#include <cstring>
#include <random>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/buffer.h"

namespace trivium {
namespace {

constexpr int kMostRows = 70;

// N and K: whole panels, partial panels, a few values.
const std::vector<std::pair<int, int>> kShapes = {
    {1, 4}, {15, 8}, {16, 64}, {63, 13}, {64, 32}, {65, 2}, {200, 103}};

void Multiply(const Buffer<char>& packed, int n, int k, const float* x,
              int rows, int begin, int end, float* y) {
  PanelProduct(packed.data(), n, k, x, rows, begin, end, y);
}
void Multiply(const Buffer<char>& packed, int n, int k, const uint8_t* x,
              int rows, int begin, int end, int32_t* y) {
  Buffer<char> scratch;
  PanelProduct(packed.data(), n, k, x, rows, begin, end, y, &scratch);
}

// Packs `w`, multiplies every number of rows, and checks that only these rows
// are written, each with the sums of reference(x's row, w's row).
template <class W, class X, class Y, class Reference>
void ExpectProducts(int n, int k, const std::vector<W>& w,
                    const std::vector<X>& x, Y untouched, Reference reference) {
  Buffer<char> packed(PanelsBytes(n, sizeof(W) * k));
  PackPanels(w.data(), n, k, packed.data());
  std::vector<Y> expected;
  for (int row = 0; row < kMostRows; ++row) {
    for (int i = 0; i < n; ++i) {
      expected.push_back(reference(&x[row * k], &w[i * k]));
    }
  }
  for (int rows = 1; rows <= kMostRows; ++rows) {
    // Copies of exactly their size, so that sanitizers detect reads beyond
    // them.
    const std::vector<X> some(x.begin(), x.begin() + rows * k);
    std::vector<Y> y(static_cast<size_t>(kMostRows + 1) * n, untouched);
    // Multiplies range by range, the last first.
    const int cut = (n - 1) / kPanelColumns * kPanelColumns;
    Multiply(packed, n, k, some.data(), rows, cut, n, y.data());
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < cut; ++i) ASSERT_EQ(y[row * n + i], untouched);
    }
    Multiply(packed, n, k, some.data(), rows, 0, cut, y.data());
    ASSERT_EQ(std::memcmp(y.data(), expected.data(), sizeof(Y) * rows * n), 0)
        << "n " << n << " k " << k << " rows " << rows;
    for (size_t i = static_cast<size_t>(rows) * n; i < y.size(); ++i) {
      ASSERT_EQ(y[i], untouched) << "n " << n << " rows " << rows;
    }
  }
}

TEST(PanelProductTest, BytesAreExact) {
  std::mt19937 generator(3);
  for (const auto& [n, k] : kShapes) {
    std::vector<int8_t> w(static_cast<size_t>(n) * k);
    for (int8_t& v : w) v = static_cast<int8_t>(generator() % 256);
    std::vector<uint8_t> x(static_cast<size_t>(kMostRows) * k);
    for (uint8_t& v : x) v = static_cast<uint8_t>(generator() % 256);
    const int columns = k;
    ExpectProducts(n, k, w, x, int32_t{-7},
                   [columns](const uint8_t* x_row, const int8_t* w_row) {
                     int32_t sum = 0;
                     for (int i = 0; i < columns; ++i) {
                       sum += x_row[i] * w_row[i];
                     }
                     return sum;
                   });
  }
}

// Extreme values do not saturate.
TEST(PanelProductTest, BytesDoNotSaturate) {
  constexpr int kN = 16, kK = 4096;
  const std::vector<int8_t> w(kN * kK, -128);
  const std::vector<uint8_t> x(kMostRows * kK, 255);
  ExpectProducts(kN, kK, w, x, int32_t{0}, [](const uint8_t*, const int8_t*) {
    return int32_t{-128} * 255 * kK;
  });
}

// Sums are in the order of K, each product and sum rounded once, whatever the
// other rows.
TEST(PanelProductTest, FloatsAreSummedInOrder) {
  std::mt19937 generator(4);
  std::normal_distribution<float> normal;
  for (const auto& [n, width] : kShapes) {
    for (const int k : {width, width + 1}) {
      std::vector<float> w(static_cast<size_t>(n) * k);
      for (float& v : w) v = normal(generator);
      std::vector<float> x(static_cast<size_t>(kMostRows) * k);
      for (float& v : x) v = normal(generator);
      ExpectProducts(n, k, w, x, -7.0f,
                     [k](const float* x_row, const float* w_row) {
                       float sum = 0;
                       for (int i = 0; i < k; ++i) {
                         sum = std::fma(x_row[i], w_row[i], sum);
                       }
                       return sum;
                     });
    }
  }
}

}  // namespace
}  // namespace trivium
