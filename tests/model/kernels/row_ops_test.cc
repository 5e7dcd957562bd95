#include "model/kernels/row_ops.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

// Every tail of the widest vectors, and rows of many vectors.
std::vector<int> Lengths() {
  std::vector<int> lengths;
  for (int n = 1; n <= 67; ++n) lengths.push_back(n);
  for (const int n : {128, 255, 512, 1000, 2048}) lengths.push_back(n);
  return lengths;
}

std::vector<float> Random(int n, uint32_t seed, float scale = 4) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(n);
  for (float& value : values) value = normal(generator);
  return values;
}

TEST(QuantizeRowTest, EveryValueComesBackWithinHalfAStep) {
  for (const int levels : {255, 127}) {
    for (const int n : Lengths()) {
      const std::vector<float> x = Random(n, n);
      std::vector<uint8_t> q(n + 1, 77);
      const RowScale scale = QuantizeRow(x.data(), n, levels, q.data());
      EXPECT_EQ(q[n], 77) << "wrote beyond the row of " << n;
      for (int i = 0; i < n; ++i) {
        EXPECT_LE(q[i], levels);
        EXPECT_NEAR(scale.scale * (q[i] - scale.zero), x[i],
                    scale.scale * 0.5001f + 1e-6f)
            << "n " << n << " i " << i;
      }
    }
  }
}

TEST(QuantizeRowTest, ZeroIsExact) {
  std::vector<float> x = {0.0f, 1.7f, -0.3f, 0.0f, 2.9f};
  std::vector<uint8_t> q(x.size());
  const RowScale scale = QuantizeRow(x.data(), 5, 255, q.data());
  EXPECT_EQ(q[0], scale.zero);
  EXPECT_EQ(q[3], scale.zero);
}

TEST(QuantizeRowTest, RowsOfZerosAndOneSidedRows) {
  for (const float value : {0.0f, 3.0f, -3.0f}) {
    std::vector<float> x(20, value);
    std::vector<uint8_t> q(20);
    const RowScale scale = QuantizeRow(x.data(), 20, 255, q.data());
    for (int i = 0; i < 20; ++i) {
      EXPECT_FLOAT_EQ(scale.scale * (q[i] - scale.zero), value);
    }
  }
}

TEST(DequantizeRowTest, EqualsTheFormula) {
  for (const int n : Lengths()) {
    std::mt19937 generator(n);
    std::vector<int32_t> sum(n), w_sum(n);
    for (int i = 0; i < n; ++i) {
      sum[i] = static_cast<int32_t>(generator() % 60000000) - 30000000;
      w_sum[i] = static_cast<int32_t>(generator() % 20000) - 10000;
    }
    const std::vector<float> w_scale = Random(n, n + 1, 0.01f);
    const std::vector<float> bias = Random(n, n + 2);
    const RowScale x = {0.0123f, 117};
    for (const float* b : {bias.data(), static_cast<const float*>(nullptr)}) {
      std::vector<float> y(n + 1, 5.0f);
      DequantizeRow(sum.data(), x, w_scale.data(), w_sum.data(), b, n,
                    y.data());
      EXPECT_EQ(y[n], 5.0f);
      for (int i = 0; i < n; ++i) {
        const double exact =
            static_cast<double>(x.scale) * w_scale[i] *
                (static_cast<double>(sum[i]) - 117.0 * w_sum[i]) +
            (b == nullptr ? 0.0 : b[i]);
        EXPECT_NEAR(y[i], exact, 1e-6 * std::fabs(exact) + 1e-5);
      }
    }
  }
}

double Exact(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kGeluTanh:
      return x / 2 *
             (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kSwish:
      return x / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
  }
  return 0;
}

TEST(ActivateRowTest, EqualsTheFormulaOnEveryTail) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kGelu,
        Activation::kGeluTanh, Activation::kSwish, Activation::kTanh}) {
    for (const int n : Lengths()) {
      const std::vector<float> x = Random(n, n);
      std::vector<float> y = x;
      y.push_back(5.0f);
      ActivateRow(activation, n, y.data());
      EXPECT_EQ(y[n], 5.0f);
      for (int i = 0; i < n; ++i) {
        EXPECT_NEAR(y[i], Exact(activation, x[i]), 3e-6)
            << static_cast<int>(activation) << " of " << x[i];
      }
    }
  }
}

TEST(ActivateRowTest, HugeValuesStayFinite) {
  for (const Activation activation :
       {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
        Activation::kSwish, Activation::kTanh}) {
    std::vector<float> y = {-1e30f, -500.0f, -90.0f, 90.0f, 500.0f, 1e9f};
    const std::vector<float> x = y;
    ActivateRow(activation, 6, y.data());
    for (int i = 0; i < 6; ++i) {
      EXPECT_NEAR(y[i], Exact(activation, x[i]), 1e-6 * std::fabs(x[i]) + 1e-6);
    }
  }
}

TEST(AddNormRowTest, EqualsLayerNormOnEveryTail) {
  for (const int n : Lengths()) {
    const std::vector<float> x = Random(n, n), residual = Random(n, n + 1);
    const std::vector<float> gamma = Random(n, n + 2, 1),
                             beta = Random(n, n + 3, 1);
    for (const bool with_residual : {true, false}) {
      std::vector<double> s(n);
      double mean = 0, variance = 0;
      for (int i = 0; i < n; ++i) {
        s[i] = x[i] + (with_residual ? residual[i] : 0.0);
        mean += s[i] / n;
      }
      for (int i = 0; i < n; ++i) {
        variance += (s[i] - mean) * (s[i] - mean) / n;
      }
      // In place over the residual, as the layers use it.
      std::vector<float> y = with_residual ? residual : x;
      y.push_back(5.0f);
      AddNormRow(with_residual ? x.data() : y.data(),
                 with_residual ? y.data() : nullptr, gamma.data(), beta.data(),
                 1e-5f, n, y.data());
      EXPECT_EQ(y[n], 5.0f);
      for (int i = 0; i < n; ++i) {
        const double exact =
            (s[i] - mean) / std::sqrt(variance + 1e-5) * gamma[i] + beta[i];
        EXPECT_NEAR(y[i], exact, 2e-5 * (1 + std::fabs(exact))) << n;
      }
    }
  }
}

TEST(Bf16RowTest, RoundsToNearestEven) {
  const std::vector<float> x = {1.0f, 1.00390625f, 1.01171875f, -2.5f, 3e38f};
  std::vector<uint16_t> y(x.size());
  Bf16Row(x.data(), static_cast<int>(x.size()), y.data());
  EXPECT_EQ(y[0], 0x3f80);
  EXPECT_EQ(y[1], 0x3f80);  // halfway: to even, down
  EXPECT_EQ(y[2], 0x3f82);  // halfway: to even, up
  EXPECT_EQ(y[3], 0xc020);
  EXPECT_EQ(y[4], 0x7f62);
}

}  // namespace
}  // namespace trivium
