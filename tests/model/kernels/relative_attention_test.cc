#include "model/kernels/relative_attention.h"

#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

std::vector<float> Random(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

double Dot(const float* a, const float* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

struct Terms {
  bool key, query;
};

class RelativeAttentionTest : public ::testing::TestWithParam<Terms> {};

// Compares with plain loops, over every tail of vectors, queries and tokens.
TEST_P(RelativeAttentionTest, EqualsTheFormula) {
  constexpr int kPositions = 40;
  const size_t columns = RelativeColumns(kPositions);
  for (const int head_size : {1, 3, 8, 15, 16, 17, 64, 70}) {
    for (const int tokens : {1, 2, 3, 7, 16, 33, kPositions}) {
      const size_t stride = head_size + 3;
      const auto query = Random(tokens * stride, 1);
      const auto key = Random(tokens * stride, 2);
      const auto value = Random(tokens * stride, 3);
      const auto position_key = Random(head_size * columns, 4);
      const auto position_query = Random(head_size * columns, 5);
      std::vector<float> out(tokens * stride, -7), weights(tokens * tokens);
      std::vector<float> scratch(RelativeScratchSize(head_size, tokens));
      RelativeAttentionCall call = {
          .head_size = head_size,
          .tokens = tokens,
          .query = query.data(),
          .key = key.data(),
          .value = value.data(),
          .stride = stride,
          .scale = 0.3f,
          .tables = {.key = GetParam().key ? position_key.data() : nullptr,
                     .query =
                         GetParam().query ? position_query.data() : nullptr,
                     .stride = columns,
                     .positions = kPositions},
          .out = out.data(),
          .out_stride = stride,
          .scratch = scratch.data(),
          .weights = weights.data()};
      AttendRelative(call);
      for (int i = 0; i < tokens; ++i) {
        const float* q = &query[i * stride];
        std::vector<double> expected(tokens);
        double sum = 0;
        for (int j = 0; j < tokens; ++j) {
          const float* k = &key[j * stride];
          const int column = j - i + kPositions - 1;
          double score = Dot(q, k, head_size);
          for (int d = 0; d < head_size; ++d) {
            if (GetParam().key) {
              score += double{q[d]} * position_key[d * columns + column];
            }
            if (GetParam().query) {
              score += double{k[d]} * position_query[d * columns + column];
            }
          }
          score *= 0.3f;
          sum += expected[j] = std::exp(score);
        }
        for (int j = 0; j < tokens; ++j) {
          expected[j] /= sum;
          // Scores reach a few tens, so their rounding alone is about 1e-6.
          ASSERT_NEAR(weights[i * tokens + j], expected[j], 2e-5);
        }
        for (int d = 0; d < head_size; ++d) {
          double y = 0;
          for (int j = 0; j < tokens; ++j) {
            y += expected[j] * value[j * stride + d];
          }
          ASSERT_NEAR(out[i * stride + d], y, 1e-4);
        }
        // Nothing beyond the head is written.
        ASSERT_EQ(out[i * stride + head_size], -7);
      }
      // The bits are the same without the map.
      const std::vector<float> with_map = out;
      call.weights = nullptr;
      AttendRelative(call);
      ASSERT_EQ(out, with_map);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Terms, RelativeAttentionTest,
                         ::testing::Values(Terms{false, false},
                                           Terms{true, false},
                                           Terms{false, true},
                                           Terms{true, true}));

}  // namespace
}  // namespace trivium
