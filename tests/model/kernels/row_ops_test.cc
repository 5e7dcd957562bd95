#include "model/kernels/row_ops.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

// All tails of the widest vectors, and rows of many vectors.
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

TEST(QuantizeRowTest, EveryValueIsExactWithinHalfAStep) {
  for (const int n : Lengths()) {
    const std::vector<float> x = Random(n, n);
    std::vector<uint8_t> q(n + 1, 77);
    const RowScale scale =
        QuantizeRow(x.data(), n, RangeOf(x.data(), n), q.data());
    EXPECT_EQ(q[n], 77) << "wrote beyond the row of " << n;
    for (int i = 0; i < n; ++i) {
      EXPECT_NEAR(scale.scale * (q[i] - scale.zero), x[i],
                  scale.scale * 0.5001f + 1e-6f)
          << "n " << n << " i " << i;
    }
  }
}

void ExpectRange(Range range, const float* y, int n) {
  EXPECT_EQ(range.low, std::min(0.0f, *std::min_element(y, y + n)));
  EXPECT_EQ(range.high, std::max(0.0f, *std::max_element(y, y + n)));
}

TEST(RangeOfTest, IncludesZero) {
  for (const int n : Lengths()) {
    std::vector<float> x = Random(n, n);
    ExpectRange(RangeOf(x.data(), n), x.data(), n);
    for (float& value : x) value = std::fabs(value);
    ExpectRange(RangeOf(x.data(), n), x.data(), n);
  }
}

TEST(QuantizeRowTest, ZeroIsExact) {
  std::vector<float> x = {0.0f, 1.7f, -0.3f, 0.0f, 2.9f};
  std::vector<uint8_t> q(x.size());
  const RowScale scale =
      QuantizeRow(x.data(), 5, RangeOf(x.data(), 5), q.data());
  EXPECT_EQ(q[0], scale.zero);
  EXPECT_EQ(q[3], scale.zero);
}

TEST(QuantizeRowTest, RowsOfZerosAndOneSidedRows) {
  for (const float value : {0.0f, 3.0f, -3.0f}) {
    std::vector<float> x(20, value);
    std::vector<uint8_t> q(20);
    const RowScale scale =
        QuantizeRow(x.data(), 20, RangeOf(x.data(), 20), q.data());
    for (int i = 0; i < 20; ++i) {
      EXPECT_FLOAT_EQ(scale.scale * (q[i] - scale.zero), value);
    }
  }
}

// Returns a row of an f32 product.
ProductRow Plain(const std::vector<float>& x, const float* bias = nullptr) {
  return {.f32 = x.data(), .bias = bias, .n = static_cast<int>(x.size())};
}

TEST(FinishRowTest, EqualsTheFormulaOfAnInt8Product) {
  for (const int n : Lengths()) {
    std::mt19937 generator(n);
    std::vector<int32_t> sum(n), w_sum(n);
    const std::vector<float> w_scale = Random(n, n + 1, 0.01f);
    std::vector<float> offset(n);
    for (int i = 0; i < n; ++i) {
      sum[i] = static_cast<int32_t>(generator() % 60000000) - 30000000;
      w_sum[i] = static_cast<int32_t>(generator() % 20000) - 10000;
      offset[i] = w_scale[i] * static_cast<float>(w_sum[i]);
    }
    const std::vector<float> bias = Random(n, n + 2);
    for (const float* b : {bias.data(), static_cast<const float*>(nullptr)}) {
      const ProductRow row = {.s32 = sum.data(),
                              .x = {0.0123f, 117},
                              .scale = w_scale.data(),
                              .offset = offset.data(),
                              .bias = b,
                              .n = n};
      std::vector<float> y(n + 1, 5.0f);
      FinishRow(row, y.data());
      EXPECT_EQ(y[n], 5.0f);
      for (int i = 0; i < n; ++i) {
        const double sums = static_cast<double>(sum[i]);
        const double product = 0.0123f * static_cast<double>(w_scale[i]);
        const double exact =
            product * (sums - 117.0 * w_sum[i]) + (b == nullptr ? 0.0 : b[i]);
        // The terms may cancel.
        const double terms =
            std::fabs(product * sums) + std::fabs(product * 117.0 * w_sum[i]);
        EXPECT_NEAR(y[i], exact, 3e-7 * terms + 1e-5);
      }
      const int begin = n / 3;
      std::vector<float> part(n);
      FinishRow(row.Columns(begin, n - begin), part.data());
      for (int i = begin; i < n; ++i) EXPECT_EQ(part[i - begin], y[i]);
    }
  }
}

TEST(FinishRowTest, AddsTheBiasOfAnF32Product) {
  for (const int n : Lengths()) {
    const std::vector<float> x = Random(n, n), bias = Random(n, n + 1);
    std::vector<float> y(n + 1, 5.0f);
    FinishRow(Plain(x, bias.data()), y.data());
    EXPECT_EQ(y[n], 5.0f);
    for (int i = 0; i < n; ++i) EXPECT_EQ(y[i], x[i] + bias[i]);
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
    case Activation::kSquaredRelu:
      return std::max(x, 0.0) * std::max(x, 0.0);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return 0;
}

TEST(ActivateRowTest, EqualsTheFormulasOnEveryTail) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kGelu,
        Activation::kGeluTanh, Activation::kSwish, Activation::kTanh,
        Activation::kSigmoid, Activation::kSquaredRelu}) {
    for (const int n : Lengths()) {
      const std::vector<float> x = Random(n, n);
      std::vector<float> y(n + 1, 5.0f);
      const Range range = ActivateRow(Plain(x), activation, y.data());
      EXPECT_EQ(y[n], 5.0f);
      ExpectRange(range, y.data(), n);
      for (int i = 0; i < n; ++i) {
        const double exact = Exact(activation, x[i]);
        EXPECT_NEAR(y[i], exact, 3e-6 * std::max(1.0, exact))
            << static_cast<int>(activation) << " of " << x[i];
      }
    }
  }
}

TEST(ActivateRowTest, HugeValuesStayFinite) {
  for (const Activation activation :
       {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
        Activation::kSwish, Activation::kTanh, Activation::kSigmoid}) {
    const std::vector<float> x = {-1e30f, -500.0f, -90.0f, 90.0f, 500.0f, 1e9f};
    std::vector<float> y(6);
    ActivateRow(Plain(x), activation, y.data());
    for (int i = 0; i < 6; ++i) {
      const double exact = Exact(activation, x[i]);
      EXPECT_NEAR(y[i], exact, 1e-6 * std::fabs(exact) + 1e-6);
    }
  }
}

TEST(SoftCapRowTest, EqualsTheFormulaOnEveryTail) {
  for (const float cap : {0.3f, 30.0f}) {
    for (const int n : Lengths()) {
      const std::vector<float> x = Random(n, n);
      std::vector<float> y(n + 1, 5.0f);
      SoftCapRow(Plain(x), cap, y.data());
      EXPECT_EQ(y[n], 5.0f);
      for (int i = 0; i < n; ++i) {
        const double exact = cap * std::tanh(double{x[i]} / cap);
        EXPECT_NEAR(y[i], exact, 2e-6 * std::fabs(exact)) << x[i];
      }
    }
  }
  const std::vector<float> x = {-1e30f, -500.0f, 0.0f, 1e9f};
  std::vector<float> y(4);
  SoftCapRow(Plain(x), 50, y.data());
  EXPECT_EQ(y, (std::vector<float>{-50, -50, 0, 50}));
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
      // In place, as the layers use it.
      std::vector<float> y = with_residual ? residual : x;
      y.push_back(5.0f);
      const ProductRow row = {.f32 = with_residual ? x.data() : y.data(),
                              .n = n};
      const Range range =
          AddNormRow(row, with_residual ? y.data() : nullptr, gamma.data(),
                     beta.data(), 1e-5f, y.data());
      EXPECT_EQ(y[n], 5.0f);
      ExpectRange(range, y.data(), n);
      for (int i = 0; i < n; ++i) {
        const double exact =
            (s[i] - mean) / std::sqrt(variance + 1e-5) * gamma[i] + beta[i];
        EXPECT_NEAR(y[i], exact, 2e-5 * (1 + std::fabs(exact))) << n;
      }
    }
  }
}

TEST(AddNormRowTest, ANullBetaMeansZeros) {
  for (const int n : Lengths()) {
    const std::vector<float> x = Random(n, n), gamma = Random(n, n + 2, 1);
    const std::vector<float> zeros(n);
    std::vector<float> with(n), without(n);
    AddNormRow(Plain(x), nullptr, gamma.data(), zeros.data(), 1e-5f,
               with.data());
    const Range range = AddNormRow(Plain(x), nullptr, gamma.data(), nullptr,
                                   1e-5f, without.data());
    EXPECT_EQ(with, without);
    ExpectRange(range, without.data(), n);
  }
}

TEST(AddRmsNormRowTest, EqualsTheFormulaOnEveryTail) {
  for (const int n : Lengths()) {
    const std::vector<float> x = Random(n, n), residual = Random(n, n + 1);
    const std::vector<float> gamma = Random(n, n + 2, 1);
    for (const bool with_residual : {true, false}) {
      std::vector<double> s(n);
      double square = 0;
      for (int i = 0; i < n; ++i) {
        s[i] = x[i] + (with_residual ? residual[i] : 0.0);
        square += s[i] * s[i] / n;
      }
      // In place, as the layers use it.
      std::vector<float> y = with_residual ? residual : x;
      y.push_back(5.0f);
      const ProductRow row = {.f32 = with_residual ? x.data() : y.data(),
                              .n = n};
      const Range range = AddRmsNormRow(row, with_residual ? y.data() : nullptr,
                                        gamma.data(), 1e-5f, y.data());
      EXPECT_EQ(y[n], 5.0f);
      ExpectRange(range, y.data(), n);
      for (int i = 0; i < n; ++i) {
        const double exact = s[i] / std::sqrt(square + 1e-5) * gamma[i];
        EXPECT_NEAR(y[i], exact, 1e-6 * (1 + std::fabs(exact))) << n;
      }
    }
  }
}

TEST(GateRowTest, EqualsTheFormulasOnEveryTail) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kGelu,
        Activation::kGeluTanh, Activation::kSwish, Activation::kTanh,
        Activation::kSigmoid}) {
    for (const int n : Lengths()) {
      // One product holds both.
      const std::vector<float> both = Random(2 * n, n),
                               bias = Random(2 * n, n + 1, 1);
      const ProductRow product = Plain(both, bias.data());
      std::vector<float> y(n + 1, 5.0f);
      const Range range = GateRow(product.Columns(0, n), product.Columns(n, n),
                                  activation, y.data());
      EXPECT_EQ(y[n], 5.0f);
      ExpectRange(range, y.data(), n);
      for (int i = 0; i < n; ++i) {
        const float gate = both[i] + bias[i], up = both[n + i] + bias[n + i];
        EXPECT_NEAR(y[i], Exact(activation, gate) * up,
                    3e-6 * (1 + std::fabs(up)))
            << static_cast<int>(activation) << " of " << gate << ", " << up;
      }
    }
  }
}

TEST(ClippedGateRowTest, EqualsTheFormulaOnEveryTail) {
  const GateClip clip = {.alpha = 1.7f, .limit = 3.0f};
  for (const int n : Lengths()) {
    const std::vector<float> both = Random(2 * n, n);
    const ProductRow product = Plain(both, nullptr);
    std::vector<float> y(n + 1, 5.0f);
    const Range range = ClippedGateRow(product.Columns(0, n),
                                       product.Columns(n, n), clip, y.data());
    EXPECT_EQ(y[n], 5.0f);
    ExpectRange(range, y.data(), n);
    for (int i = 0; i < n; ++i) {
      const double gate = std::min(both[i], clip.limit);
      const double up = std::clamp(both[n + i], -clip.limit, clip.limit);
      EXPECT_NEAR(y[i], (up + 1) * gate / (1 + std::exp(-clip.alpha * gate)),
                  3e-6 * (1 + std::fabs(up + 1)));
    }
  }
}

TEST(RecurRowTest, EqualsTheFormulaOnEveryTail) {
  for (const int n : Lengths()) {
    const std::vector<float> both = Random(2 * n, n);
    const ProductRow product = Plain(both, nullptr);
    const ProductRow forget = product.Columns(0, n);
    const ProductRow input = product.Columns(n, n);
    std::vector<float> first(n + 1, 5.0f), second(n + 1, 5.0f), y(n + 1, 5.0f);
    ExpectRange(
        RecurRow(forget, input, /*before=*/nullptr, first.data(), y.data()),
        y.data(), n);
    ExpectRange(RecurRow(forget, input, first.data(), second.data(), y.data()),
                y.data(), n);
    for (const std::vector<float>& row : {first, second, y}) {
      EXPECT_EQ(row[n], 5.0f) << "wrote beyond the row of " << n;
    }
    for (int i = 0; i < n; ++i) {
      const double kept = 1 / (1 + std::exp(-double{both[i]}));
      const double once = (1 - kept) * both[n + i];
      const double twice = kept * once + once;
      const double tolerance = 1e-6 * (1 + std::fabs(both[n + i]));
      EXPECT_NEAR(first[i], once, tolerance);
      EXPECT_NEAR(second[i], twice, tolerance);
      EXPECT_EQ(y[i], std::max(second[i], 0.0f));
    }
  }
}

TEST(HadamardRowTest, SpreadsEachNumberAndKeepsProducts) {
  EXPECT_EQ(HadamardSize(576), 64);
  EXPECT_EQ(HadamardSize(96), 32);
  EXPECT_EQ(HadamardSize(33), 1);
  for (const int n : Lengths()) {
    const int size = HadamardSize(n);
    const std::vector<float> x = Random(n, n), w = Random(n, n + 1);
    std::vector<float> y(n + 1, 77), v(n);
    ExpectRange(HadamardRow(x.data(), n, y.data()), y.data(), n);
    EXPECT_EQ(y[n], 77) << "wrote beyond the row of " << n;
    double product = 0, rotated = 0, sizes = 0;
    HadamardRow(w.data(), n, v.data());
    for (int i = 0; i < n; ++i) {
      product += double{x[i]} * w[i];
      rotated += double{y[i]} * v[i];
      sizes += std::fabs(x[i] * w[i]);
      // Row i % size of Hadamard's matrix.
      const int begin = i / size * size;
      double sum = 0;
      for (int j = 0; j < size; ++j) {
        const int sign = __builtin_parity((i - begin) & j) ? -1 : 1;
        sum += double{x[begin + j]} * sign;
      }
      EXPECT_NEAR(y[i], sum, 1e-4) << "n " << n << " i " << i;
    }
    EXPECT_NEAR(rotated / size, product, 1e-5 * sizes) << n;
    std::vector<float> same = x;
    HadamardRow(same.data(), n, same.data());
    y.pop_back();
    EXPECT_EQ(same, y) << "in place, n " << n;
  }
}

TEST(AddScaledRowTest, AddsOnEveryTail) {
  for (const int n : Lengths()) {
    const std::vector<float> x = Random(n, n);
    std::vector<float> y = Random(n + 1, n + 1);
    const std::vector<float> before = y;
    AddScaledRow(x.data(), 0.3f, n, y.data());
    for (int i = 0; i < n; ++i) {
      EXPECT_NEAR(y[i], before[i] + 0.3 * x[i], 2e-6);
    }
    EXPECT_EQ(y[n], before[n]);
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
