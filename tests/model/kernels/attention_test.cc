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

// A vector as int8 tiles keep it: bytes and their scale.
std::vector<float> RoundToInt8(const float* x, int n) {
  float most = 0;
  for (int i = 0; i < n; ++i) most = std::max(most, std::fabs(x[i]));
  const float inverse = most > 0 ? 127 / most : 0;
  std::vector<float> rounded(n);
  for (int i = 0; i < n; ++i) {
    rounded[i] = std::nearbyint(x[i] * inverse) * (most / 127);
  }
  return rounded;
}

// One head's vector of a row as it takes part in the products.
std::vector<float> Rounded(KvType type, const float* x, int n) {
  if (type == KvType::kInt8) return RoundToInt8(x, n);
  std::vector<float> rounded(x, x + n);
  if (type == KvType::kBf16) {
    for (float& value : rounded) value = RoundToBf16(value);
  }
  return rounded;
}

// Whether queries and weights are rounded as keys and values are.
bool RoundsAll(KvType type) {
  return type == KvType::kInt8 || RoundsQueries(type);
}

constexpr KvType kTypes[] = {KvType::kF32, KvType::kBf16, KvType::kInt8};
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
    for (int i = 0; i < keys; ++i) Store(i);
  }

  void Store(int i) {
    StoreKeyValue(shape, &k[i * width], &val[i * width], i % kTileTokens,
                  &memory[KvTileBytes(shape) * (i / kTileTokens)]);
  }

  AttentionCall Call(int first, int count, float* out, bool keep = false) {
    weights.resize(WeightsSize(shape, count, keys, keep));
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
  const KvType type = heads.shape.type;
  const int begin = head * heads.size;
  const float* q = &heads.q[query * heads.width + begin];
  const std::vector<float> asked = RoundsAll(type)
                                       ? Rounded(type, q, heads.size)
                                       : std::vector<float>(q, q + heads.size);
  std::vector<double> score(heads.keys), expected(heads.size),
      absolute(heads.size);
  double sum = 0, most = -1e300, largest = 0;
  for (int j = 0; j < heads.keys; ++j) {
    const std::vector<float> key =
        Rounded(type, &heads.k[j * heads.width + begin], heads.size);
    for (int d = 0; d < heads.size; ++d) {
      score[j] += static_cast<double>(asked[d]) * key[d];
    }
    score[j] /= std::sqrt(static_cast<double>(heads.size));
    most = std::max(most, score[j]);
  }
  for (double& s : score) sum += s = std::exp(s - most);
  for (int j = 0; j < heads.keys; ++j) {
    ASSERT_NEAR(weights[j], score[j] / sum, 1e-5);
    const std::vector<float> value =
        Rounded(type, &heads.val[j * heads.width + begin], heads.size);
    for (int d = 0; d < heads.size; ++d) {
      expected[d] += score[j] / sum * value[d];
      absolute[d] += score[j] / sum * std::fabs(value[d]);
      largest = std::max(largest, score[j] / sum * std::fabs(value[d]));
    }
  }
  for (int j = heads.keys; j < PaddedKeys(heads.keys); ++j) {
    ASSERT_EQ(weights[j], 0);
  }
  for (int d = 0; d < heads.size; ++d) {
    // Of weights: for int8, half the lowest of 16 bits; for bf16, half the
    // lowest of a number's 8.
    const double rounding = !RoundsAll(type) ? 0
                            : type == KvType::kInt8
                                ? heads.keys * 0.5 / 65535 * largest
                                : absolute[d] / 256;
    ASSERT_NEAR(out[begin + d], expected[d], 2e-5 + rounding)
        << "size " << heads.size << " keys " << heads.keys;
  }
}

TEST(AttendTest, EqualsTheFormulaForEveryTail) {
  for (const KvType type : kTypes) {
    for (const int size : {1,  2,  3,  7,  8,  15, 16, 17, 20,  31,
                           32, 33, 48, 63, 64, 65, 80, 96, 128, 129}) {
      for (const int keys : {1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 79, 100}) {
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
  for (const KvType type : kTypes) {
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
  for (const KvType type : kTypes) {
    for (const bool keep : {false, true}) {
      Heads heads(type, 16, 20, 5);
      std::vector<float> out(5 * heads.width);
      Attend(heads.Call(0, 5, out.data(), keep));
      Attend(heads.Call(0, 5, heads.q.data(), keep));
      EXPECT_EQ(out, heads.q);
    }
  }
}

TEST(AttendTest, ZerosAreTheirOwnScale) {
  Heads heads(KvType::kInt8, 20, 18, 1);
  std::fill(heads.k.begin(), heads.k.end(), 0.0f);
  std::fill(heads.q.begin(), heads.q.end(), 0.0f);
  for (int i = 0; i < heads.keys; ++i) {
    heads.Store(i);
  }
  std::vector<float> out(heads.width);
  Attend(heads.Call(0, 1, out.data(), /*keep=*/true));
  for (int head = 0; head < kHeads; ++head) {
    Expect(heads, 0, head, &heads.weights[head * PaddedKeys(heads.keys)],
           out.data());
  }
}

// A large weight, 0.94, beside many small ones: with eight bits these would be
// lost.
TEST(AttendTest, SmallWeightsCount) {
  Heads heads(KvType::kInt8, 16, 512, 1);
  std::fill(heads.k.begin(), heads.k.end(), 0.0f);
  std::fill(heads.val.begin(), heads.val.end(), 1.0f);
  for (int d = 0; d < heads.width; ++d) heads.k[d] = heads.q[d] = 1.5f;
  for (int i = 0; i < heads.keys; ++i) heads.Store(i);
  std::vector<float> out(heads.width);
  Attend(heads.Call(0, 1, out.data()));
  for (const float value : out) EXPECT_NEAR(value, 1, 0.002);
}

}  // namespace
}  // namespace trivium
