// Kernels whose results have the same bits at every instruction set: sums of
// floats, and functions. Each test compares a hash of many results, which was
// written down once. A new hash needs a reason in the commit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "model/kernels/attention.h"
#include "model/kernels/candidates.h"
#include "model/kernels/relative_attention.h"
#include "model/kernels/row_ops.h"

namespace trivium {
namespace {

// FNV-1a of the bits.
class BitsHash {
 public:
  void Add(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int i = 0; i < 4; ++i) {
      hash_ = (hash_ ^ (bits >> (8 * i) & 0xff)) * 16777619u;
    }
  }
  void Add(std::span<const float> values) {
    for (const float value : values) Add(value);
  }
  uint32_t hash() const { return hash_; }

 private:
  uint32_t hash_ = 2166136261u;
};

// Returns numbers from -4 to 4, the same with every library.
std::vector<float> SomeNumbers(size_t count, std::mt19937* random) {
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    number = static_cast<float>((*random)() % 80001) * 1e-4f - 4;
  }
  return numbers;
}

// Whole vectors of each width, and ends of every length.
std::vector<int> RowLengths() {
  std::vector<int> lengths = {576, 768, 1536};
  for (int n = 1; n <= 131; ++n) lengths.push_back(n);
  return lengths;
}

TEST(SameBitsTest, Norms) {
  std::mt19937 random(1);
  BitsHash hash;
  for (const int n : RowLengths()) {
    const std::vector<float> x = SomeNumbers(n, &random);
    const std::vector<float> residual = SomeNumbers(n, &random);
    const std::vector<float> gamma = SomeNumbers(n, &random);
    const std::vector<float> beta = SomeNumbers(n, &random);
    std::vector<float> y(n);
    const ProductRow row = {.f32 = x.data(), .n = n};
    AddNormRow(row, residual.data(), gamma.data(), beta.data(), 1e-5f,
               y.data());
    hash.Add(y);
    AddRmsNormRow(row, residual.data(), gamma.data(), 1e-6f, y.data());
    hash.Add(y);
  }
  EXPECT_EQ(hash.hash(), 0x17b3408cu);
}

TEST(SameBitsTest, Activations) {
  std::mt19937 random(2);
  BitsHash hash;
  for (const int n : RowLengths()) {
    const std::vector<float> x = SomeNumbers(n, &random);
    const std::vector<float> up = SomeNumbers(n, &random);
    std::vector<float> y(n);
    const ProductRow row = {.f32 = x.data(), .n = n};
    for (const Activation activation :
         {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
          Activation::kSwish, Activation::kTanh, Activation::kSquaredRelu,
          Activation::kSigmoid}) {
      ActivateRow(row, activation, y.data());
      hash.Add(y);
    }
    GateRow(row, {.f32 = up.data(), .n = n}, Activation::kSwish, y.data());
    hash.Add(y);
    SoftCapRow(row, 30, y.data());
    hash.Add(y);
  }
  EXPECT_EQ(hash.hash(), 0x7b134db5u);
}

TEST(SameBitsTest, SumsOfExponentials) {
  std::mt19937 random(3);
  BitsHash hash;
  for (const int n : RowLengths()) {
    const std::vector<float> logits = SomeNumbers(n, &random);
    std::vector<float> scratch(n);
    RowCandidates candidates;
    candidates.Start(1, {});
    candidates.Add(0, {.f32 = logits.data(), .n = n}, scratch.data(), nullptr);
    candidates.Finish();
    hash.Add(candidates.rest_log_sum_exp());
  }
  EXPECT_EQ(hash.hash(), 0x1911ac56u);
}

// Adds the outputs of queries that see the keys up to them, in a window, or
// all.
void AddAttention(const KvShape& shape, std::mt19937* random, BitsHash* hash) {
  for (const int keys : {1, 7, 8, 9, 16, 17, 40, 133}) {
    const int width = shape.heads * shape.head_size;
    const int queries = std::min(keys, 6);
    const size_t bytes = KvTileBytes(shape);
    std::vector<char> memory(bytes * PaddedKeys(keys) / kTileTokens);
    std::vector<const char*> tiles;
    for (size_t at = 0; at < memory.size(); at += bytes) {
      tiles.push_back(&memory[at]);
    }
    for (int i = 0; i < keys; ++i) {
      const std::vector<float> key = SomeNumbers(width, random);
      const std::vector<float> value = SomeNumbers(width, random);
      StoreKeyValue(shape, key.data(), value.data(), i % kTileTokens,
                    &memory[bytes * (i / kTileTokens)]);
    }
    const std::vector<float> query = SomeNumbers(2 * width * queries, random);
    for (const int look_back : {kAllKeys, 11}) {
      for (const int look_ahead : {kAllKeys, 0}) {
        std::vector<float> out(query.size());
        AttentionCall call = {.shape = shape,
                              .query_heads = 2 * shape.heads,
                              .tiles = tiles.data(),
                              .keys = keys,
                              .queries = queries,
                              .position = keys - queries,
                              .look_back = look_back,
                              .look_ahead = look_ahead,
                              .query = query.data(),
                              .query_stride = static_cast<size_t>(2 * width),
                              .scale = 0.125f,
                              .out = out.data(),
                              .out_stride = static_cast<size_t>(2 * width)};
        std::vector<float> scratch(AttentionScratchSize(call));
        call.scratch = scratch.data();
        Attend(call);
        hash->Add(out);
      }
    }
  }
}

TEST(SameBitsTest, Attention) {
  std::mt19937 random(4);
  BitsHash f32, int8, latent;
  for (const int size : {16, 20, 64}) {
    AddAttention({KvType::kF32, 2, size}, &random, &f32);
    AddAttention({KvType::kInt8, 2, size}, &random, &int8);
    AddAttention({KvType::kF32, 1, size, true}, &random, &latent);
    AddAttention({KvType::kInt8, 1, size, true}, &random, &latent);
    AddAttention({KvType::kBf16, 1, size, true}, &random, &latent);
  }
  EXPECT_EQ(f32.hash(), 0x381103a2u);
  EXPECT_EQ(int8.hash(), 0x8d8922ceu);
  EXPECT_EQ(latent.hash(), 0xaaf5fa8du);
}

// From AVX512_BF16 on, queries and weights are rounded.
TEST(SameBitsTest, AttentionOverBf16) {
  if (RoundsQueries(KvType::kBf16)) GTEST_SKIP() << "multiplies pairs of bf16";
  std::mt19937 random(5);
  BitsHash hash;
  for (const int size : {16, 20, 64}) {
    AddAttention({KvType::kBf16, 2, size}, &random, &hash);
  }
  EXPECT_EQ(hash.hash(), 0xd9344723u);
}

TEST(SameBitsTest, RelativeAttention) {
  std::mt19937 random(6);
  BitsHash hash;
  constexpr int kSize = 16;
  for (int tokens = 1; tokens <= 40; ++tokens) {
    const std::vector<float> query = SomeNumbers(tokens * kSize, &random);
    const std::vector<float> key = SomeNumbers(tokens * kSize, &random);
    const std::vector<float> value = SomeNumbers(tokens * kSize, &random);
    const size_t stride = RelativeColumns(tokens);
    const std::vector<float> table = SomeNumbers(kSize * stride, &random);
    std::vector<float> out(query.size());
    std::vector<float> scratch(RelativeScratchSize(kSize, tokens));
    AttendRelative({.head_size = kSize,
                    .tokens = tokens,
                    .query = query.data(),
                    .key = key.data(),
                    .value = value.data(),
                    .stride = kSize,
                    .scale = 0.25f,
                    .tables = {.key = table.data(),
                               .query = table.data(),
                               .stride = stride,
                               .positions = tokens},
                    .out = out.data(),
                    .out_stride = kSize,
                    .scratch = scratch.data(),
                    .weights = nullptr});
    hash.Add(out);
  }
  EXPECT_EQ(hash.hash(), 0x1bbc54c0u);
}

}  // namespace
}  // namespace trivium
