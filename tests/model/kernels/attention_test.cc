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

// One head's keys, values and queries, in plain rows and in tiles.
struct Head {
  Head(KvType type, int head_size, int key_count, int query_count)
      : type(type), size(head_size), keys(key_count), queries(query_count) {
    std::mt19937 generator(head_size * 1000 + key_count);
    std::normal_distribution<float> normal;
    for (std::vector<float>* v : {&k, &val}) {
      v->resize(static_cast<size_t>(keys) * size);
      for (float& x : *v) x = normal(generator);
    }
    q.resize(static_cast<size_t>(queries) * size);
    for (float& x : q) x = 2 * normal(generator);
    const size_t bytes = KvTileBytes(type, size);
    const int count = PaddedKeys(keys) / kTileTokens;
    // NaN bytes where nothing is stored: they must not be seen.
    memory.assign(2 * bytes * count, static_cast<char>(0xff));
    for (int t = 0; t < count; ++t) {
      tiles.push_back({&memory[2 * bytes * t], &memory[2 * bytes * t + bytes]});
    }
    for (int i = 0; i < keys; ++i) {
      StoreKeyValue(type, size, &k[i * size], &val[i * size], i % kTileTokens,
                    tiles[i / kTileTokens]);
    }
  }

  AttentionCall Call(int first, int count, float* out, float* weights) {
    return {.type = type,
            .head_size = size,
            .tiles = tiles.data(),
            .keys = keys,
            .queries = count,
            .query = &q[static_cast<size_t>(first) * size],
            .query_stride = static_cast<size_t>(size),
            .scale = 1 / std::sqrt(static_cast<float>(size)),
            .out = out,
            .out_stride = static_cast<size_t>(size),
            .weights = weights};
  }

  KvType type;
  int size, keys, queries;
  std::vector<float> k, val, q;
  std::vector<char> memory;
  std::vector<KvTile> tiles;
};

TEST(AttendTest, EqualsTheFormulaForEveryTail) {
  for (const KvType type : {KvType::kF32, KvType::kBf16}) {
    for (const int size : {1,  2,  3,  7,  8,  15, 16, 17, 20,  31,
                           32, 33, 48, 63, 64, 65, 80, 96, 128, 129}) {
      for (const int keys : {1, 2, 15, 16, 17, 31, 32, 33, 47, 100}) {
        Head head(type, size, keys, 7);
        std::vector<float> out(7 * size), weights(7 * PaddedKeys(keys));
        Attend(head.Call(0, 7, out.data(), weights.data()));
        for (int i = 0; i < 7; ++i) {
          std::vector<double> score(keys);
          double sum = 0, most = -1e300;
          for (int j = 0; j < keys; ++j) {
            for (int d = 0; d < size; ++d) {
              const float key = head.k[j * size + d];
              score[j] += static_cast<double>(head.q[i * size + d]) *
                          (type == KvType::kBf16 ? RoundToBf16(key) : key);
            }
            score[j] /= std::sqrt(static_cast<double>(size));
            most = std::max(most, score[j]);
          }
          for (double& s : score) sum += s = std::exp(s - most);
          for (int j = 0; j < keys; ++j) {
            ASSERT_NEAR(weights[i * PaddedKeys(keys) + j], score[j] / sum,
                        1e-5);
          }
          for (int d = 0; d < size; ++d) {
            double expected = 0;
            for (int j = 0; j < keys; ++j) {
              const float value = head.val[j * size + d];
              expected += score[j] / sum *
                          (type == KvType::kBf16 ? RoundToBf16(value) : value);
            }
            ASSERT_NEAR(out[i * size + d], expected, 2e-5)
                << "size " << size << " keys " << keys;
          }
        }
      }
    }
  }
}

TEST(AttendTest, QueriesDoNotSeeEachOther) {
  for (const KvType type : {KvType::kF32, KvType::kBf16}) {
    for (const int size : {8, 20, 64}) {
      Head head(type, size, 37, 11);
      const int padded = PaddedKeys(37);
      std::vector<float> together(11 * size), alone(size);
      std::vector<float> weights(11 * padded);
      for (int count = 1; count <= 11; ++count) {
        Attend(head.Call(0, count, together.data(), weights.data()));
        for (int i = 0; i < count; ++i) {
          Attend(head.Call(i, 1, alone.data(), weights.data()));
          ASSERT_EQ(std::memcmp(&together[i * size], alone.data(), size * 4), 0)
              << "query " << i << " of " << count;
        }
      }
    }
  }
}

TEST(AttendTest, OutputMayReplaceTheQueries) {
  Head head(KvType::kF32, 16, 20, 5);
  std::vector<float> out(5 * 16), weights(5 * PaddedKeys(20));
  Attend(head.Call(0, 5, out.data(), weights.data()));
  Attend(head.Call(0, 5, head.q.data(), weights.data()));
  EXPECT_EQ(out, head.q);
}

}  // namespace
}  // namespace trivium
