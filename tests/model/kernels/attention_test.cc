#include "model/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

float RoundToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
  std::memcpy(&x, &bits, 4);
  return x;
}

constexpr int kHeads = 3;

// Keys, values and queries of a few heads, in plain rows [kHeads * size] and in
// tiles.
struct Heads {
  Heads(KvType type, int head_size, int key_count, int query_count)
      : shape{type, kHeads, head_size},
        size(head_size),
        width(kHeads * head_size),
        keys(key_count),
        queries(query_count) {
    std::mt19937 generator(head_size * 1000 + key_count);
    std::normal_distribution<float> normal;
    for (std::vector<float>* v : {&k, &val}) {
      v->resize(static_cast<size_t>(keys) * width);
      for (float& x : *v) x = normal(generator);
    }
    q.resize(static_cast<size_t>(queries) * width);
    for (float& x : q) x = 2 * normal(generator);
    const size_t bytes = KvTileBytes(shape);
    const int count = PaddedKeys(keys) / kTileTokens;
    // NaN bytes where nothing is stored: they must not be seen.
    memory.assign(bytes * count, static_cast<char>(0xff));
    for (int t = 0; t < count; ++t) tiles.push_back(&memory[bytes * t]);
    for (int i = 0; i < keys; ++i) {
      StoreKeyValue(shape, &k[i * width], &val[i * width], i % kTileTokens,
                    &memory[bytes * (i / kTileTokens)]);
    }
  }

  AttentionCall Call(int first, int count, float* out, bool keep = false) {
    weights.resize(WeightsSize(kHeads, count, keys, keep));
    return {.shape = shape,
            .tiles = tiles.data(),
            .keys = keys,
            .queries = count,
            .query = &q[static_cast<size_t>(first) * width],
            .query_stride = static_cast<size_t>(width),
            .scale = 1 / std::sqrt(static_cast<float>(size)),
            .out = out,
            .out_stride = static_cast<size_t>(width),
            .weights = weights.data(),
            .keep_weights = keep};
  }

  KvShape shape;
  int size, width, keys, queries;
  std::vector<float> k, val, q, weights;
  std::vector<char> memory;
  std::vector<const char*> tiles;
};

// The formula in doubles for one query of one head.
void Expect(const Heads& heads, int query, int head, const float* weights,
            const float* out) {
  const bool bf16 = heads.shape.type == KvType::kBf16;
  const auto stored = [bf16](float x) { return bf16 ? RoundToBf16(x) : x; };
  std::vector<double> score(heads.keys);
  double sum = 0, most = -1e300;
  for (int j = 0; j < heads.keys; ++j) {
    for (int d = head * heads.size; d < (head + 1) * heads.size; ++d) {
      score[j] += static_cast<double>(heads.q[query * heads.width + d]) *
                  stored(heads.k[j * heads.width + d]);
    }
    score[j] /= std::sqrt(static_cast<double>(heads.size));
    most = std::max(most, score[j]);
  }
  for (double& s : score) sum += s = std::exp(s - most);
  for (int j = 0; j < heads.keys; ++j) {
    ASSERT_NEAR(weights[j], score[j] / sum, 1e-5);
  }
  for (int j = heads.keys; j < PaddedKeys(heads.keys); ++j) {
    ASSERT_EQ(weights[j], 0);
  }
  for (int d = head * heads.size; d < (head + 1) * heads.size; ++d) {
    double expected = 0;
    for (int j = 0; j < heads.keys; ++j) {
      expected += score[j] / sum * stored(heads.val[j * heads.width + d]);
    }
    ASSERT_NEAR(out[d], expected, 2e-5)
        << "size " << heads.size << " keys " << heads.keys;
  }
}

TEST(AttendTest, EqualsTheFormulaForEveryTail) {
  for (const KvType type : {KvType::kF32, KvType::kBf16}) {
    for (const int size : {1,  2,  3,  7,  8,  15, 16, 17, 20,  31,
                           32, 33, 48, 63, 64, 65, 80, 96, 128, 129}) {
      for (const int keys : {1, 2, 15, 16, 17, 31, 32, 33, 47, 100}) {
        Heads heads(type, size, keys, 7);
        std::vector<float> out(7 * heads.width);
        Attend(heads.Call(0, 7, out.data(), /*keep=*/true));
        for (int i = 0; i < 7; ++i) {
          for (int head = 0; head < kHeads; ++head) {
            Expect(heads, i, head,
                   &heads.weights[(head * 7 + i) * PaddedKeys(keys)],
                   &out[i * heads.width]);
          }
        }
      }
    }
  }
}

// Nor whether the weights are kept.
TEST(AttendTest, QueriesDoNotSeeEachOther) {
  for (const KvType type : {KvType::kF32, KvType::kBf16}) {
    for (const int size : {8, 20, 64}) {
      Heads heads(type, size, 37, 11);
      const int width = heads.width;
      std::vector<float> together(11 * width), alone(width);
      for (int count = 1; count <= 11; ++count) {
        Attend(heads.Call(0, count, together.data()));
        for (int i = 0; i < count; ++i) {
          Attend(heads.Call(i, 1, alone.data(), /*keep=*/i % 2 == 0));
          ASSERT_EQ(std::memcmp(&together[i * width], alone.data(), width * 4),
                    0)
              << "query " << i << " of " << count;
        }
      }
    }
  }
}

TEST(AttendTest, OutputMayReplaceTheQueries) {
  for (const bool keep : {false, true}) {
    Heads heads(KvType::kF32, 16, 20, 5);
    std::vector<float> out(5 * heads.width);
    Attend(heads.Call(0, 5, out.data(), keep));
    Attend(heads.Call(0, 5, heads.q.data(), keep));
    EXPECT_EQ(out, heads.q);
  }
}

}  // namespace
}  // namespace trivium
