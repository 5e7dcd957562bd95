#include "model/transformer/smoothing.h"

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "model/transformer/linear.h"
#include "model/weights/weights.h"

namespace trivium {
namespace {

TensorView View(const std::vector<float>& values, int64_t rows) {
  return {.dtype = DType::kF32,
          .shape = {rows, static_cast<int64_t>(values.size()) / rows},
          .data = std::as_bytes(std::span(values))};
}

TEST(SmoothingTest, FactorsShareTheRangeBetweenInputsAndWeights) {
  const std::vector<float> a = {1, -4, 2, 0, 1}, b = {-2, 1, 1, 0, 1};
  const TensorView first = View(a, 1), second = View(b, 1);
  const LinearTensors parts[] = {{&first, nullptr}, {&second, nullptr}};
  // A usual dimension reaches 8; one with hardly any input counts as 2.
  const std::vector<float> maxima = {8, 16, 0, 8, 2};
  const AlignedVector<float> factors = SmoothingFactors(maxima, parts);
  ASSERT_EQ(factors.size(), 5u);
  EXPECT_FLOAT_EQ(factors[0], std::sqrt(2.0f / 8));
  EXPECT_FLOAT_EQ(factors[1], std::sqrt(4.0f / 16));
  EXPECT_FLOAT_EQ(factors[2], std::sqrt(2.0f / 2));
  EXPECT_FLOAT_EQ(factors[3], 1);  // zero weights
  EXPECT_FLOAT_EQ(factors[4], std::sqrt(1.0f / 2));
}

TEST(SmoothingTest, NaNGetsTheFactorOne) {
  const std::vector<float> w = {1, 1, 1};
  const TensorView view = View(w, 1);
  const LinearTensors part = {&view, nullptr};
  const std::vector<float> maxima = {4, std::numeric_limits<float>::infinity(),
                                     4};
  const AlignedVector<float> factors = SmoothingFactors(maxima, {&part, 1});
  EXPECT_FLOAT_EQ(factors[0], 0.5f);
  EXPECT_FLOAT_EQ(factors[1], 1);
}

TEST(SmoothingTest, MaximaAreKeptForEachReader) {
  const Linear a, b;
  InputMaxima maxima;
  EXPECT_TRUE(maxima.Of(a).empty());
  maxima.Add(a, std::vector<float>{1, -3});
  maxima.Add(a, std::vector<float>{-2, 2});
  maxima.Add(b, std::vector<float>{5});
  EXPECT_EQ(std::vector<float>(maxima.Of(a).begin(), maxima.Of(a).end()),
            (std::vector<float>{2, 3}));
  EXPECT_EQ(maxima.Of(b)[0], 5);
}

// One dimension is sixty times greater than the others, so an int8 row has
// little precision left for them.
TEST(SmoothingTest, AGreatDimensionDoesNotCostTheOthers) {
  constexpr int kIn = 64, kOut = 32;
  std::vector<float> w(kIn * kOut), x(kIn), maxima(kIn, 1.0f);
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] = std::sin(static_cast<float>(i));
  }
  for (int j = 0; j < kIn; ++j) x[j] = std::cos(static_cast<float>(3 * j));
  x[7] = maxima[7] = 60;
  const TensorView view = View(w, kOut);
  const LinearTensors part = {&view, nullptr};
  // Returns the greatest error with factors and without.
  const auto error = [&](const AlignedVector<float>& factors) {
    const auto linear = Linear::Create(kInt8Formats, {&part, 1}, 0, 0, factors);
    EXPECT_TRUE(linear.ok()) << linear.status();
    std::vector<float> input = x;
    for (size_t j = 0; j < factors.size(); ++j) input[j] *= factors[j];
    Operand operand(OperandType::kInt8);
    operand.Resize(1, kIn);
    operand.Set(0, input.data());
    Workspace workspace;
    std::vector<float> y(kOut);
    EXPECT_TRUE(linear
                    ->Forward(operand, 1, &workspace,
                              [&](int, const ProductRow& row, float*) {
                                FinishRow(row, y.data());
                              })
                    .ok());
    double most = 0;
    for (int i = 0; i < kOut; ++i) {
      double sum = 0;
      for (int j = 0; j < kIn; ++j) sum += double{w[i * kIn + j]} * x[j];
      most = std::max(most, std::fabs(y[i] - sum));
    }
    return most;
  };
  EXPECT_LT(error(SmoothingFactors(maxima, {&part, 1})), 0.5 * error({}));
}

}  // namespace
}  // namespace trivium
