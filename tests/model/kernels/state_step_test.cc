// The steps of states and convolutions against plain loops in double precision.
#include "model/kernels/state_step.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

std::vector<float> Numbers(int n, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(generator);
  return values;
}

// Both kinds of update over a few tokens, for every small number of rows.
TEST(StateStepTest, EqualsThePlainLoops) {
  for (const bool corrects : {false, true}) {
    for (const int rows : {1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 129}) {
      SCOPED_TRACE(rows);
      const size_t size = static_cast<size_t>(rows) * kStateColumns;
      // One number more, which must stay.
      std::vector<float> state(size + 1, 0.0f), out(kStateColumns + 1, 5.0f);
      state[size] = 5;
      std::vector<double> exact(size);
      for (uint32_t token = 0; token < 6; ++token) {
        std::vector<float> key = Numbers(rows, 3 * token);
        for (float& value : key) value /= std::sqrt(1.0f * rows);
        const std::vector<float> query = Numbers(rows, 3 * token + 1);
        const std::vector<float> value = Numbers(kStateColumns, 3 * token + 2);
        const float decay = 0.4f + 0.1f * static_cast<float>(token);
        const float share = 0.9f - 0.1f * static_cast<float>(token);
        const StateStep step = {.rows = rows,
                                .decay = decay,
                                .key = key.data(),
                                .query = query.data(),
                                .value = value.data(),
                                .state = state.data(),
                                .out = out.data()};
        if (corrects) {
          CorrectState(step, share);
        } else {
          AddToState(step);
        }
        for (double& s : exact) s *= decay;
        for (int c = 0; c < kStateColumns; ++c) {
          double change = value[c];
          if (corrects) {
            for (int i = 0; i < rows; ++i) {
              change -= exact[i * kStateColumns + c] * key[i];
            }
            change *= share;
          }
          double sum = 0;
          for (int i = 0; i < rows; ++i) {
            double& s = exact[i * kStateColumns + c];
            s += key[i] * change;
            sum += s * query[i];
          }
          EXPECT_NEAR(out[c], sum, 1e-5 * std::max(1.0, std::fabs(sum)))
              << "token " << token << ", column " << c;
        }
      }
      for (size_t i = 0; i < size; ++i) EXPECT_NEAR(state[i], exact[i], 1e-5);
      EXPECT_EQ(state[size], 5.0f);
      EXPECT_EQ(out[kStateColumns], 5.0f);
    }
  }
}

// Columns of zeros, which fill up the last panel, stay zero.
TEST(StateStepTest, EmptyColumnsStayEmpty) {
  constexpr int kRows = 9;
  std::vector<float> state(static_cast<size_t>(kRows) * kStateColumns);
  std::vector<float> out(kStateColumns);
  std::vector<float> value = Numbers(kStateColumns, 1);
  std::fill(value.begin() + 5, value.end(), 0.0f);
  const std::vector<float> key = Numbers(kRows, 2), query = Numbers(kRows, 3);
  const StateStep step = {.rows = kRows,
                          .decay = 0.5f,
                          .key = key.data(),
                          .query = query.data(),
                          .value = value.data(),
                          .state = state.data(),
                          .out = out.data()};
  CorrectState(step, 0.7f);
  AddToState(step);
  for (int c = 0; c < kStateColumns; ++c) {
    EXPECT_EQ(out[c] == 0, c >= 5);
    for (int i = 0; i < kRows; ++i) {
      EXPECT_EQ(state[i * kStateColumns + c] == 0, c >= 5);
    }
  }
}

TEST(StateStepTest, ScansLikeThePlainLoops) {
  for (const int rows : {1, 2, 3, 8, 16, 17}) {
    SCOPED_TRACE(rows);
    const size_t size = static_cast<size_t>(rows) * kStateColumns;
    std::vector<float> state(size + 1, 0.0f), out(kStateColumns + 1, 5.0f);
    state[size] = 5;
    std::vector<float> decay = Numbers(static_cast<int>(size), 99);
    for (float& value : decay) value = -20 * std::fabs(value);
    std::vector<double> exact(size);
    for (uint32_t token = 0; token < 6; ++token) {
      const std::vector<float> key = Numbers(rows, 4 * token);
      const std::vector<float> query = Numbers(rows, 4 * token + 1);
      const std::vector<float> value = Numbers(kStateColumns, 4 * token + 2);
      std::vector<float> rate = Numbers(kStateColumns, 4 * token + 3);
      for (float& one : rate) one = 0.1f * std::fabs(one);
      ScanState({.rows = rows,
                 .decay = decay.data(),
                 .rate = rate.data(),
                 .key = key.data(),
                 .query = query.data(),
                 .value = value.data(),
                 .state = state.data(),
                 .out = out.data()});
      for (int c = 0; c < kStateColumns; ++c) {
        double sum = 0;
        for (int i = 0; i < rows; ++i) {
          const size_t at = static_cast<size_t>(i) * kStateColumns + c;
          exact[at] = std::exp(double{decay[at]} * rate[c]) * exact[at] +
                      double{key[i]} * value[c];
          sum += exact[at] * query[i];
        }
        EXPECT_NEAR(out[c], sum, 1e-5 * std::max(1.0, std::fabs(sum)))
            << "token " << token << ", column " << c;
      }
    }
    for (size_t i = 0; i < size; ++i) {
      EXPECT_NEAR(state[i], exact[i],
                  1e-5 * std::max(1.0, std::fabs(exact[i])));
    }
    EXPECT_EQ(state[size], 5.0f);
    EXPECT_EQ(out[kStateColumns], 5.0f);
  }
}

TEST(ConvolveRowTest, EqualsThePlainLoopsOnEveryTail) {
  for (int n = 1; n < 70; ++n) {
    for (const int width : {2, 3, 4, 7}) {
      const size_t stride = n + 3;
      const std::vector<float> inputs = Numbers(n * width, n);
      const std::vector<float> weights =
          Numbers(static_cast<int>(stride) * width, n + 1);
      const std::vector<float> bias = Numbers(n, n + 2);
      std::vector<const float*> x;
      for (int i = 0; i < width; ++i) x.push_back(&inputs[i * n]);
      for (const bool biased : {false, true}) {
        std::vector<float> y(n + 1, 5.0f);
        ConvolveRow(x.data(), width, weights.data(), stride,
                    biased ? bias.data() : nullptr, n, y.data());
        EXPECT_EQ(y[n], 5.0f);
        for (int c = 0; c < n; ++c) {
          double sum = biased ? bias[c] : 0;
          for (int i = 0; i < width; ++i) {
            sum += double{x[i][c]} * weights[i * stride + c];
          }
          EXPECT_NEAR(y[c], sum, 1e-5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace trivium
