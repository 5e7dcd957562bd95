#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/attention.h"

namespace trivium {
namespace {

float RoundToBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
  std::memcpy(&x, &bits, 4);
  return x;
}

// A vector as int8 tiles store it: bytes and their scale.
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

// One head's vector of a row, rounded as it takes part in the products.
std::vector<float> Rounded(KvType type, const float* x, int n) {
  if (type == KvType::kInt8) return RoundToInt8(x, n);
  std::vector<float> rounded(x, x + n);
  if (type == KvType::kBf16) {
    for (float& value : rounded) value = RoundToBf16(value);
  }
  return rounded;
}

// True if queries and weights are rounded like keys and values.
bool RoundsAll(const KvShape& shape) {
  return shape.type == KvType::kInt8 ||
         (RoundsQueries(shape.type) && !shape.values_are_keys);
}

constexpr KvType kTypes[] = {KvType::kF32, KvType::kBf16, KvType::kInt8};

// What queries see, with AttentionCall's fields.
struct View {
  int position = 0;
  int look_back = kAllKeys;
  int look_ahead = kAllKeys;
};

// Keys and values [kv_heads * size] and queries [kv_heads * sharing * size], as
// plain rows and in tiles.
struct Heads {
  Heads(KvType type, int head_size, int key_count, int query_count,
        int query_heads_a_head = 1, int kv_heads = 3,
        bool values_are_keys = false)
      : shape{type, kv_heads, head_size, values_are_keys},
        size(head_size),
        sharing(query_heads_a_head),
        query_heads(kv_heads * sharing),
        kv_width(kv_heads * head_size),
        width(query_heads * head_size),
        keys(key_count),
        queries(query_count) {
    std::mt19937 generator(head_size * 1000 + key_count);
    std::normal_distribution<float> normal;
    for (std::vector<float>* v : {&k, &val}) {
      v->resize(static_cast<size_t>(keys) * kv_width);
      for (float& x : *v) x = normal(generator);
    }
    if (values_are_keys) val = k;
    q.resize(static_cast<size_t>(queries) * width);
    for (float& x : q) x = 2 * normal(generator);
    const size_t bytes = KvTileBytes(shape);
    const int count = PaddedKeys(keys) / kTileTokens;
    // Unused slots hold NaN, which must not be read.
    memory.assign(bytes * count, static_cast<char>(0xff));
    for (int t = 0; t < count; ++t) tiles.push_back(&memory[bytes * t]);
    for (int i = 0; i < keys; ++i) Store(i);
  }

  void Store(int i) {
    StoreKeyValue(shape, &k[i * kv_width], &val[i * kv_width], i % kTileTokens,
                  &memory[KvTileBytes(shape) * (i / kTileTokens)]);
  }

  // A call for queries [first, first + count), the first of which is at
  // first_view.
  AttentionCall Call(int first, int count, float* out, bool keep = false,
                     const View& first_view = {}) {
    AttentionCall call = {.shape = shape,
                          .query_heads = query_heads,
                          .tiles = tiles.data(),
                          .keys = keys,
                          .queries = count,
                          .position = first_view.position,
                          .look_back = first_view.look_back,
                          .look_ahead = first_view.look_ahead,
                          .query = &q[static_cast<size_t>(first) * width],
                          .query_stride = static_cast<size_t>(width),
                          .scale = 1 / std::sqrt(static_cast<float>(size)),
                          .sinks = sinks.empty() ? nullptr : sinks.data(),
                          .bias = bias.empty() ? nullptr : &bias[kFarthest],
                          .bias_stride = kBiasStride,
                          .bias_of_keys = bias_of_keys,
                          .out = out,
                          .out_stride = static_cast<size_t>(width)};
    if (keep) {
      weights.assign(
          static_cast<size_t>(query_heads) * count * PaddedKeys(keys), NAN);
      call.weights = weights.data();
    }
    // The address sanitizer detects writes beyond it.
    scratch.reset(new float[AttentionScratchSize(call)]);
    call.scratch = scratch.get();
    return call;
  }

  // The bias of query head `head` at position `place` for a key.
  float Bias(int head, int place, int key) const {
    if (bias.empty()) return 0;
    const int ahead = bias_of_keys ? key : key - place;
    return bias[head * kBiasStride + kFarthest + ahead];
  }

  static constexpr int kFarthest = 64;
  static constexpr size_t kBiasStride = 2 * kFarthest + kTileTokens;

  KvShape shape;
  int size, sharing, query_heads, kv_width, width, keys, queries;
  std::vector<float> k, val, q, weights;
  std::vector<float> sinks;  // [query_heads], or empty
  std::vector<float> bias;   // [query_heads, kBiasStride], or empty
  bool bias_of_keys = false;
  std::unique_ptr<float[]> scratch;
  std::vector<char> memory;
  std::vector<const char*> tiles;
};

// Computes the formula in doubles for one query at `place`, of one query head,
// over the keys [begin, end).
void Expect(const Heads& heads, int query, int place, int head, KeyRange seen,
            const float* weights, const float* out) {
  const KvType type = heads.shape.type;
  const int at = head * heads.size;
  const int kv_at = head / heads.sharing * heads.size;
  const float* q = &heads.q[query * heads.width + at];
  const std::vector<float> asked = RoundsAll(heads.shape)
                                       ? Rounded(type, q, heads.size)
                                       : std::vector<float>(q, q + heads.size);
  std::vector<double> score(heads.keys), expected(heads.size),
      absolute(heads.size);
  double sum = 0, most = -1e300, largest = 0;
  for (int j = seen.begin; j < seen.end; ++j) {
    const std::vector<float> key =
        Rounded(type, &heads.k[j * heads.kv_width + kv_at], heads.size);
    for (int d = 0; d < heads.size; ++d) {
      score[j] += static_cast<double>(asked[d]) * key[d];
    }
    score[j] /= std::sqrt(static_cast<double>(heads.size));
    score[j] += heads.Bias(head, place, j);
    most = std::max(most, score[j]);
  }
  if (!heads.sinks.empty()) {
    most = std::max<double>(most, heads.sinks[head]);
    sum = std::exp(heads.sinks[head] - most);
  }
  for (int j = seen.begin; j < seen.end; ++j) {
    sum += score[j] = std::exp(score[j] - most);
  }
  for (int j = seen.begin; j < seen.end; ++j) {
    ASSERT_NEAR(weights[j], score[j] / sum, 1e-5);
    const std::vector<float> value =
        Rounded(type, &heads.val[j * heads.kv_width + kv_at], heads.size);
    for (int d = 0; d < heads.size; ++d) {
      expected[d] += score[j] / sum * value[d];
      absolute[d] += score[j] / sum * std::fabs(value[d]);
      largest = std::max(largest, score[j] / sum * std::fabs(value[d]));
    }
  }
  for (int j = 0; j < PaddedKeys(heads.keys); ++j) {
    const bool sees = seen.begin <= j && j < seen.end;
    ASSERT_TRUE(sees || weights[j] == 0) << j;
  }
  for (int d = 0; d < heads.size; ++d) {
    // The rounding of weights: for int8, half the lowest of 16 bits; for bf16,
    // half the lowest of 8 bits of a number.
    const double rounding = !RoundsAll(heads.shape) ? 0
                            : type == KvType::kInt8 ? (seen.end - seen.begin) *
                                                          0.5 / 65535 * largest
                                                    : absolute[d] / 256;
    ASSERT_NEAR(out[at + d], expected[d], 2e-5 + rounding)
        << "size " << heads.size << " keys " << seen.begin << " to "
        << seen.end;
  }
}

// Returns the results of all queries in one call.
void ExpectAll(Heads* heads, const View& view) {
  std::vector<float> out(heads->queries * heads->width);
  const AttentionCall call =
      heads->Call(0, heads->queries, out.data(), /*keep=*/true, view);
  Attend(call);
  for (int i = 0; i < heads->queries; ++i) {
    const int at = view.position + i;
    const KeyRange seen = {
        view.look_back == kAllKeys ? 0 : std::max(0, at - view.look_back),
        view.look_ahead == kAllKeys
            ? heads->keys
            : std::min(heads->keys, at + view.look_ahead + 1)};
    ASSERT_EQ(SeenKeys(call, i).begin, seen.begin);
    ASSERT_EQ(SeenKeys(call, i).end, seen.end);
    for (int head = 0; head < heads->query_heads; ++head) {
      Expect(
          *heads, i, at, head, seen,
          &heads
               ->weights[(head * heads->queries + i) * PaddedKeys(heads->keys)],
          &out[i * heads->width]);
    }
  }
}

// Expects that every query of a call has the bits that it has alone, with no
// other keys than those it sees, whether or not weights are requested.
void ExpectSameAlone(Heads* heads, int count, const View& view) {
  const int width = heads->width;
  std::vector<float> together(count * width), kept(count * width), alone(width);
  Attend(heads->Call(0, count, together.data(), /*keep=*/false, view));
  Attend(heads->Call(0, count, kept.data(), /*keep=*/true, view));
  ASSERT_EQ(std::memcmp(kept.data(), together.data(), count * width * 4), 0);
  for (int i = 0; i < count; ++i) {
    View one = view;
    one.position += i;
    const int behind = SeenKeys(heads->Call(i, 1, nullptr, false, one), 0).end;
    Heads others(heads->shape.type, heads->size, behind, 1, heads->sharing,
                 heads->shape.heads, heads->shape.values_are_keys);
    const int first = SeenKeys(heads->Call(i, 1, nullptr, false, one), 0).begin;
    std::copy_n(&heads->q[i * width], width, others.q.begin());
    for (int j = 0; j < behind; ++j) {
      const bool seen = j >= first;
      for (int d = 0; d < others.kv_width; ++d) {
        const int at = j * others.kv_width + d;
        others.k[at] = seen ? heads->k[at] : NAN;
        others.val[at] = seen ? heads->val[at] : INFINITY;
      }
      others.Store(j);
    }
    for (int t = 0; t < first / kTileTokens; ++t) others.tiles[t] = nullptr;
    Attend(others.Call(0, 1, alone.data(), /*keep=*/i % 2 == 0, one));
    ASSERT_EQ(std::memcmp(&together[i * width], alone.data(), width * 4), 0)
        << "query " << i << " of " << count << ", keys " << first << " to "
        << behind << ", " << heads->sharing << " query heads a head";
  }
}

TEST(AttendTest, EqualsTheFormulaForEveryTail) {
  for (const KvType type : kTypes) {
    for (const int size : {1,  2,  3,  7,  8,  15, 16, 17, 20,  31,
                           32, 33, 48, 63, 64, 65, 80, 96, 128, 129}) {
      for (const int keys : {1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 79, 100}) {
        Heads heads(type, size, keys, 7);
        ExpectAll(&heads, {});
      }
    }
  }
}

TEST(AttendTest, SeveralQueryHeadsShareAHeadOfKeys) {
  for (const KvType type : kTypes) {
    for (const int sharing : {1, 2, 3, 4, 8}) {
      for (const int queries : {1, 2, 3, 5}) {
        Heads heads(type, 20, 37, queries, sharing, /*kv_heads=*/2);
        ExpectAll(&heads, {});
      }
    }
  }
}

TEST(AttendTest, ValuesThatAreKeysAreStoredOnce) {
  for (const KvType type : kTypes) {
    EXPECT_LT(KvTileBytes({type, 1, 576, /*values_are_keys=*/true}),
              0.6 * KvTileBytes({type, 1, 576}));
    for (const int size : {1, 2, 3, 5, 16, 17, 22, 33, 64, 71}) {
      for (const int keys : {1, 15, 16, 17, 40, 100}) {
        for (const int sharing : {1, 3, 8}) {
          Heads heads(type, size, keys, std::min(keys, 7), sharing,
                      /*kv_heads=*/2, /*values_are_keys=*/true);
          ExpectAll(&heads, {});
          ExpectAll(&heads,
                    {.position = keys - heads.queries, .look_ahead = 0});
          ExpectAll(&heads, {.position = keys - heads.queries,
                             .look_back = 9,
                             .look_ahead = 0});
          ExpectSameAlone(&heads, heads.queries,
                          {.position = keys - heads.queries,
                           .look_back = 20,
                           .look_ahead = 0});
        }
      }
    }
  }
}

TEST(AttendTest, QueriesSeeTheirRangeOfKeysOnly) {
  for (const KvType type : kTypes) {
    for (int keys = 1; keys <= 50; keys += 7) {
      for (int first = 0; first < keys; ++first) {
        Heads heads(type, 17, keys, 1);
        ExpectAll(&heads, {.position = keys - 1,
                           .look_back = keys - 1 - first,
                           .look_ahead = 0});
      }
    }
  }
}

TEST(AttendTest, CausalAndLocalQueriesEqualTheFormula) {
  for (const KvType type : kTypes) {
    for (const int sharing : {1, 3}) {
      for (const int queries : {1, 4, 17, 40}) {
        Heads heads(type, 20, 40, queries, sharing, /*kv_heads=*/2);
        const int first = 40 - queries;
        ExpectAll(&heads, {.position = first, .look_ahead = 0});
        for (const int window : {1, 2, 3, 16, 21}) {
          ExpectAll(
              &heads,
              {.position = first, .look_back = window - 1, .look_ahead = 0});
          ExpectAll(&heads, {.position = first,
                             .look_back = window / 2,
                             .look_ahead = window / 2});
        }
      }
    }
  }
}

// From almost none to almost all of the weight, different for every head.
TEST(AttendTest, SinksGetTheirShareOfTheWeight) {
  std::mt19937 generator(9);
  std::normal_distribution<float> normal(0, 5);
  for (const KvType type : kTypes) {
    for (const int size : {16, 33}) {
      for (const int keys : {1, 5, 17, 40}) {
        for (const int sharing : {1, 3}) {
          Heads heads(type, size, keys, std::min(keys, 3), sharing);
          for (int h = 0; h < heads.query_heads; ++h) {
            heads.sinks.push_back(normal(generator));
          }
          ExpectAll(&heads, {.position = keys - heads.queries,
                             .look_back = 20,
                             .look_ahead = 0});
          heads.sinks[0] = 1000;
          ExpectAll(&heads, {});
        }
      }
    }
  }
}

TEST(AttendTest, ABiasByDistanceOrByKeyIsAdded) {
  std::mt19937 generator(10);
  std::normal_distribution<float> normal(0, 3);
  for (const KvType type : kTypes) {
    for (const int keys : {1, 5, 16, 17, 40, 63}) {
      for (const int sharing : {1, 3}) {
        Heads heads(type, 17, keys, std::min(keys, 7), sharing);
        heads.bias.resize(heads.query_heads * Heads::kBiasStride);
        for (float& x : heads.bias) x = normal(generator);
        ExpectAll(&heads, {});
        for (const bool of_keys : {false, true}) {
          heads.bias_of_keys = of_keys;
          for (const int look_back : {5, kAllKeys}) {
            ExpectAll(&heads, {.position = keys - heads.queries,
                               .look_back = look_back,
                               .look_ahead = 0});
          }
        }
      }
    }
  }
}

TEST(AttendTest, QueriesDoNotSeeEachOther) {
  for (const KvType type : kTypes) {
    for (const int size : {8, 20, 64}) {
      Heads heads(type, size, 37, 11);
      for (int count = 1; count <= 11; ++count) {
        ExpectSameAlone(&heads, count, {});
      }
    }
  }
}

TEST(AttendTest, AChunkHasTheBitsOfOneQueryAfterTheOther) {
  for (const KvType type : kTypes) {
    for (const int sharing : {1, 2, 3, 4, 8}) {
      Heads heads(type, 20, 70, 17, sharing, /*kv_heads=*/2);
      for (const int count : {1, 2, 3, 4, 5, 7, 16, 17}) {
        for (const int position : {0, 13, 31, 53}) {
          ExpectSameAlone(&heads, count,
                          {.position = position, .look_ahead = 0});
          for (const int window : {1, 5, 19}) {
            ExpectSameAlone(&heads, count,
                            {.position = position,
                             .look_back = window - 1,
                             .look_ahead = 0});
          }
        }
      }
    }
  }
}

// 72 rows of a head share blocks of keys, of which a row sees some or all.
TEST(AttendTest, RowsThatShareBlocksOfKeysHaveTheBitsOfOneAlone) {
  constexpr int kKeys = 1100, kQueries = 36;
  for (const KvType type : kTypes) {
    for (const bool values_are_keys : {false, true}) {
      Heads heads(type, 20, kKeys, kQueries, 2, 1, values_are_keys);
      for (const int look_back : {kAllKeys, 300}) {
        ExpectSameAlone(&heads, kQueries,
                        {.position = kKeys - kQueries,
                         .look_back = look_back,
                         .look_ahead = 0});
      }
    }
  }
}

TEST(AttendTest, HeadsMayBeProcessedSeparately) {
  for (const KvType type : kTypes) {
    for (const int sharing : {1, 3}) {
      for (const bool keep : {false, true}) {
        Heads heads(type, 24, 40, 5, sharing, /*kv_heads=*/5);
        std::vector<float> together(heads.q.size()), apart(heads.q.size());
        Attend(heads.Call(0, 5, together.data(), keep));
        const std::vector<float> weights = heads.weights;
        AttentionCall call = heads.Call(0, 5, apart.data(), keep);
        for (const auto& [begin, end] :
             std::vector<std::pair<int, int>>{{3, kAllHeads}, {0, 1}, {1, 3}}) {
          call.begin_head = begin;
          call.end_head = end;
          Attend(call);
        }
        EXPECT_EQ(apart, together);
        EXPECT_EQ(heads.weights, weights);
      }
    }
  }
}

TEST(AttendTest, OutputMayReplaceTheQueries) {
  for (const KvType type : kTypes) {
    for (const bool keep : {false, true}) {
      Heads heads(type, 16, 20, 5, /*query_heads_a_head=*/2);
      std::vector<float> out(5 * heads.width);
      Attend(heads.Call(0, 5, out.data(), keep));
      Attend(heads.Call(0, 5, heads.q.data(), keep));
      EXPECT_EQ(out, heads.q);
    }
  }
}

TEST(AttendTest, VectorsOfZerosAreExact) {
  Heads heads(KvType::kInt8, 20, 18, 1);
  std::fill(heads.k.begin(), heads.k.end(), 0.0f);
  std::fill(heads.q.begin(), heads.q.end(), 0.0f);
  for (int i = 0; i < heads.keys; ++i) {
    heads.Store(i);
  }
  std::vector<float> out(heads.width);
  Attend(heads.Call(0, 1, out.data(), /*keep=*/true));
  for (int head = 0; head < heads.query_heads; ++head) {
    Expect(heads, 0, 0, head, {0, heads.keys},
           &heads.weights[head * PaddedKeys(heads.keys)], out.data());
  }
}

// A large weight, 0.94, beside many small ones, which eight bits would lose.
TEST(AttendTest, SmallWeightsAreNotLost) {
  Heads heads(KvType::kInt8, 16, 512, 1);
  std::fill(heads.k.begin(), heads.k.end(), 0.0f);
  std::fill(heads.val.begin(), heads.val.end(), 1.0f);
  for (int d = 0; d < heads.width; ++d) heads.k[d] = heads.q[d] = 1.5f;
  for (int i = 0; i < heads.keys; ++i) heads.Store(i);
  std::vector<float> out(heads.width);
  Attend(heads.Call(0, 1, out.data()));
  for (const float value : out) EXPECT_NEAR(value, 1, 0.002);
}

// All bytes are the greatest, so their sums would overflow 32 bits.
TEST(AttendTest, SumsOfManyKeysDoNotOverflow) {
  Heads heads(KvType::kInt8, 4, 16, 1, 1, /*kv_heads=*/1);
  std::fill(heads.k.begin(), heads.k.end(), 1.0f);
  std::fill(heads.val.begin(), heads.val.end(), 1.0f);
  std::fill(heads.q.begin(), heads.q.end(), -1.0f);
  for (int i = 0; i < heads.keys; ++i) heads.Store(i);
  heads.keys = 131072;
  heads.tiles.assign(heads.keys / kTileTokens, heads.tiles[0]);
  std::vector<float> out(heads.width);
  Attend(heads.Call(0, 1, out.data()));
  for (const float value : out) EXPECT_NEAR(value, 1, 1e-4);
}

// If keys are summed in parts, each query of a call still has the bits that it
// has alone, whatever the others see.
TEST(AttendTest, SumsOfManyKeysHaveTheSameBitsTogetherAndAlone) {
  constexpr int kQueries = 6;
  constexpr int kBoundary = 65536;
  for (const KvType type : kTypes) {
    for (const int look_back : {kAllKeys, 40}) {
      Heads heads(type, 20, 256, kQueries, 2, 2);
      heads.keys = kBoundary + 4;
      for (int t = 16; t <= kBoundary / kTileTokens; ++t) {
        heads.tiles.push_back(heads.tiles[t % 16]);
      }
      const auto attend = [&](int first, int count) {
        std::vector<float> out(count * heads.width, NAN);
        Attend(heads.Call(first, count, out.data(), false,
                          {kBoundary - 2 + first, look_back, 0}));
        return out;
      };
      const std::vector<float> together = attend(0, kQueries);
      for (int i = 0; i < kQueries; ++i) {
        const std::vector<float> alone = attend(i, 1);
        ASSERT_EQ(std::memcmp(alone.data(), &together[i * heads.width],
                              heads.width * sizeof(float)),
                  0)
            << "query " << i << ", window " << look_back;
      }
    }
  }
}

}  // namespace
}  // namespace trivium
