// The kernels, one thread. Rates are operations or bytes a second.
#include <benchmark/benchmark.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "base/isa.h"
#include "model/kernels/attention.h"
#include "model/kernels/buffer.h"
#include "model/kernels/candidates.h"
#include "model/kernels/grouped_product.h"
#include "model/kernels/matmul.h"
#include "model/kernels/max_sim.h"
#include "model/kernels/row_ops.h"
#include "model/kernels/runtime.h"
#include "model/kernels/shortlist_product.h"

namespace trivium {
namespace {

std::vector<float> RandomFloats(size_t count) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

// The same bytes again and again: what a core reads of each cache and, when
// there are more than in the last, of memory.
void Read(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Buffer<float> values(bytes / sizeof(float));
  std::fill_n(values.data(), bytes / sizeof(float), 1.0f);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        RangeOf(values.data(), static_cast<int>(bytes / sizeof(float))));
  }
  state.SetBytesProcessed(state.range(0) * state.iterations());
}
BENCHMARK(Read)->Arg(16 << 10)->Arg(512 << 10)->Arg(8 << 20)->Arg(256 << 20);
// Of threads together.
BENCHMARK(Read)
    ->Arg(256 << 20)
    ->Threads(2)
    ->Threads(4)
    ->Threads(8)
    ->UseRealTime();

#if defined(__x86_64__)
// Multiplications alone, in registers: what no product can pass.
constexpr int kChains = 12;  // of sums, which do not wait for each other

__attribute__((target("avx512f"))) float FloatsOfAvx512(int steps) {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(i);
  float factor = 1e-3f;
  benchmark::DoNotOptimize(factor);
  const __m512 x = _mm512_set1_ps(factor);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12  // kChains, so that sums stay in registers
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, x, x);
  }
  for (const __m512& sum : sums) sums[0] = _mm512_add_ps(sums[0], sum);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx512f,avx512vnni"))) float BytesOfVnni(int steps) {
  __m512i sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_epi32(i);
  char factor = 1;
  benchmark::DoNotOptimize(factor);
  const __m512i x = _mm512_set1_epi8(factor);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12  // kChains, so that sums stay in registers
    for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, x, x);
  }
  for (const __m512i& sum : sums) sums[0] = _mm512_add_epi32(sums[0], sum);
  return static_cast<float>(_mm512_cvtsi512_si32(sums[0]));
}

__attribute__((target("avx2,fma"))) float FloatsOfAvx2(int steps) {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(i);
  float factor = 1e-3f;
  benchmark::DoNotOptimize(factor);
  const __m256 x = _mm256_set1_ps(factor);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12  // kChains, so that sums stay in registers
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, x, x);
  }
  for (const __m256& sum : sums) sums[0] = _mm256_add_ps(sums[0], sum);
  return _mm256_cvtss_f32(sums[0]);
}

// Widened to 16 bits, as exact sums of eight bits are made without VNNI.
__attribute__((target("avx2"))) float BytesOfAvx2(int steps) {
  __m256i sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_epi32(i);
  const __m256i x = _mm256_set1_epi16(1);
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12  // kChains
    for (__m256i& sum : sums) {
      __m256i products;
      asm volatile("vpmaddwd %2, %2, %1\n\tvpaddd %1, %0, %0"
                   : "+x"(sum), "=&x"(products)
                   : "x"(x));
    }
  }
  for (const __m256i& sum : sums) sums[0] = _mm256_add_epi32(sums[0], sum);
  return static_cast<float>(_mm256_cvtsi256_si32(sums[0]));
}

// Products of weights in groups: for each eight steps of bytes, their sum is
// multiplied by two scales, and where groups have minimums, one is added.
template <bool kMinimums>
__attribute__((target("avx512f,avx512vnni"))) float GroupsOfVnni(int steps) {
  __m512i sums[kChains];
  __m512 ys[kChains];
  for (int i = 0; i < kChains; ++i) {
    sums[i] = _mm512_set1_epi32(i);
    ys[i] = _mm512_set1_ps(i);
  }
  char factor = 1;
  float scale_of_x = 1e-3f;
  benchmark::DoNotOptimize(factor);
  benchmark::DoNotOptimize(scale_of_x);
  const __m512i x = _mm512_set1_epi8(factor);
  const __m512 scale = _mm512_set1_ps(scale_of_x);
  for (int step = 0; step < steps; step += 8) {
    for (int i = 0; i < 8; ++i) {
#pragma GCC unroll 12  // kChains, so that sums stay in registers
      for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, x, x);
    }
#pragma GCC unroll 12  // kChains
    for (int i = 0; i < kChains; ++i) {
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[i]), scale);
      ys[i] = _mm512_fmadd_ps(scaled, scale, ys[i]);
      if constexpr (kMinimums) ys[i] = _mm512_fmadd_ps(scale, scale, ys[i]);
    }
  }
  for (const __m512& y : ys) ys[0] = _mm512_add_ps(ys[0], y);
  return _mm512_cvtss_f32(ys[0]);
}

// Four bits: sums of a group fit 16 bits.
template <bool kMinimums>
__attribute__((target("avx2,fma"))) float GroupsOfAvx2(int steps) {
  constexpr int kFew = 4;  // 16 registers hold no more
  __m256i sums[kFew];
  __m256 ys[kFew];
  for (int i = 0; i < kFew; ++i) {
    sums[i] = _mm256_set1_epi16(static_cast<short>(i));
    ys[i] = _mm256_set1_ps(i);
  }
  float scale_of_x = 1e-3f;
  benchmark::DoNotOptimize(scale_of_x);
  const __m256 scale = _mm256_set1_ps(scale_of_x);
  const __m256i x = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
  for (int step = 0; step < steps; step += 8) {
    for (int i = 0; i < 8; ++i) {
#pragma GCC unroll 4  // kFew
      for (__m256i& sum : sums) {
        __m256i products;
        asm volatile("vpmaddubsw %2, %2, %1\n\tvpaddw %1, %0, %0"
                     : "+x"(sum), "=&x"(products)
                     : "x"(x));
      }
    }
#pragma GCC unroll 4  // kFew
    for (int i = 0; i < kFew; ++i) {
      const __m256 sum = _mm256_cvtepi32_ps(_mm256_madd_epi16(sums[i], ones));
      ys[i] = _mm256_fmadd_ps(_mm256_mul_ps(sum, scale), scale, ys[i]);
      if constexpr (kMinimums) ys[i] = _mm256_fmadd_ps(scale, scale, ys[i]);
    }
  }
  for (const __m256& y : ys) ys[0] = _mm256_add_ps(ys[0], y);
  return _mm256_cvtss_f32(ys[0]);
}

// `products` of a step of all chains.
void Peak(benchmark::State& state, float (*multiply)(int), int products) {
  constexpr int kSteps = 10000;
  for (auto _ : state) benchmark::DoNotOptimize(multiply(kSteps));
  state.counters["op/s"] =
      benchmark::Counter(2.0 * products * kSteps * state.iterations(),
                         benchmark::Counter::kIsRate);
}
void PeakOfFloats(benchmark::State& state) {
  if (ActiveIsa() >= Isa::kAvx512) {
    Peak(state, FloatsOfAvx512, kChains * 16);
  } else {
    Peak(state, FloatsOfAvx2, kChains * 8);
  }
}
BENCHMARK(PeakOfFloats)->Name("Peak/f32");
void PeakOfBytes(benchmark::State& state) {
  if (ActiveIsa() >= Isa::kAvx512Vnni) {
    Peak(state, BytesOfVnni, kChains * 64);
  } else {
    Peak(state, BytesOfAvx2, kChains * 16);
  }
}
BENCHMARK(PeakOfBytes)->Name("Peak/int8");
template <bool kMinimums>
void PeakOfGroups(benchmark::State& state) {
  if (ActiveIsa() >= Isa::kAvx512Vnni) {
    Peak(state, GroupsOfVnni<kMinimums>, kChains * 64);
  } else {
    Peak(state, GroupsOfAvx2<kMinimums>, 4 * 32);
  }
}
BENCHMARK(PeakOfGroups<false>)->Name("Peak/groups");
BENCHMARK(PeakOfGroups<true>)->Name("Peak/minimums");
#endif

// MaxSim of a query of 32 rows with 1,000 documents of 180, 128 numbers a row.
// Documents stay in memory, not in the caches, and have huge pages, as numpy's
// arrays have.
void CompareDocuments(benchmark::State& state) {
  constexpr int kQueryRows = 32, kDocuments = 1000, kRows = 180, kSize = 128;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto rows = [&](int count) {
    std::vector<float> values(static_cast<size_t>(count) * kSize);
    for (size_t row = 0; row < values.size(); row += kSize) {
      float squares = 0;
      for (int k = 0; k < kSize; ++k) {
        const float value = values[row + k] = normal(random);
        squares += value * value;
      }
      const float scale = 1 / std::sqrt(squares);
      for (int k = 0; k < kSize; ++k) values[row + k] *= scale;
    }
    return values;
  };
  const std::vector<float> query = rows(kQueryRows);
  const std::vector<float> all_rows = rows(kDocuments * kRows);
  const Buffer<float> documents(all_rows.size());
  std::copy(all_rows.begin(), all_rows.end(), documents.data());
  for (auto _ : state) {
    const MaxSimQuery prepared(query.data(), kQueryRows, kSize);
    double sum = 0;
    for (int i = 0; i < kDocuments; ++i) {
      sum += prepared.Compare(
          documents.data() + static_cast<size_t>(i) * kRows * kSize, kRows);
    }
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(CompareDocuments)->Name("MaxSim");

// y = x W^T: rows, K, N, matrices of that shape that take turns. `create` makes
// one of N and K.
template <typename Create>
void Multiply(benchmark::State& state, const Create& create) {
  const int rows = static_cast<int>(state.range(0));
  const int k = static_cast<int>(state.range(1));
  const int n = static_cast<int>(state.range(2));
  std::vector<std::unique_ptr<PackedMatrix>> matrices;
  int64_t bytes = 0;
  for (int i = 0; i < state.range(3); ++i) {
    absl::StatusOr<std::unique_ptr<PackedMatrix>> matrix = create(n, k);
    if (!matrix.ok()) {
      state.SkipWithError(matrix.status().ToString().c_str());
      return;
    }
    bytes = (*matrix)->bytes();
    matrices.push_back(*std::move(matrix));
  }
  const Buffer<char> x(static_cast<size_t>(kMaxMatmulRows) * k * sizeof(float));
  const Buffer<float> y(static_cast<size_t>(kMaxMatmulRows) * n);
  MatmulWorkspace workspace;
  size_t turn = 0;
  for (auto _ : state) {
    const PackedMatrix& matrix = *matrices[turn++ % matrices.size()];
    const absl::Status status =
        matrix.Multiply(x.data(), rows, y.data(), &workspace);
    if (!status.ok()) state.SkipWithError(status.ToString().c_str());
  }
  state.SetLabel(matrices.front()->implementation());
  state.counters["op/s"] = benchmark::Counter(
      2.0 * rows * k * n * state.iterations(), benchmark::Counter::kIsRate);
  state.counters["weights/s"] = benchmark::Counter(
      static_cast<double>(bytes) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate, benchmark::Counter::kIs1024);
}
void Matmul(benchmark::State& state, WeightType weight_type,
            OperandType operand_type) {
  Multiply(state, [&](int n, int k) {
    // Zeros are numbers of every type, and no slower or faster than others.
    const Buffer<char> weights(static_cast<size_t>(n) * k * sizeof(float));
    return PackedMatrix::Create({weight_type, operand_type, n, k},
                                weights.data());
  });
}
void GroupedMatmul(benchmark::State& state, GroupForm form) {
  Multiply(state, [&](int n, int k) {
    const int blocks =
        (n + GroupedWeights::kColumns - 1) / GroupedWeights::kColumns;
    GroupedWeights weights(n, k, std::vector<GroupForm>(blocks, form));
    // Written, for the system has memory only for what was.
    const size_t groups = GroupsOf(k);
    const GroupedRow row = {.form = form,
                            .numbers = std::vector<uint8_t>(k),
                            .scales = std::vector<uint16_t>(groups),
                            .minimums = std::vector<uint16_t>(groups),
                            .part_scales = std::vector<uint8_t>(groups),
                            .part_minimums = std::vector<uint8_t>(groups),
                            .zeros = std::vector<uint8_t>(groups)};
    for (int column = 0; column < n; ++column) weights.Set(column, row);
    return absl::StatusOr<std::unique_ptr<PackedMatrix>>(
        PackedMatrix::Create(std::move(weights)));
  });
}
void MatmulShapes(benchmark::internal::Benchmark* benchmark) {
  for (const auto& [k, n] :
       {std::pair(256, 768), std::pair(512, 512), std::pair(512, 2048),
        std::pair(2048, 512), std::pair(512, 1024)}) {
    for (const int rows : {1, 4, 16, 32, 64}) benchmark->Args({rows, k, n, 1});
  }
  for (const int rows : {1, 4, 16, 64}) benchmark->Args({rows, 2048, 2048, 1});
}
// 128 MiB of weights, which no cache holds.
void MatmulsOutOfMemory(benchmark::internal::Benchmark* benchmark) {
  for (const int rows : {1, 4, 16, 32, 64}) {
    benchmark->Args({rows, 512, 1024, 256});
  }
}
BENCHMARK_CAPTURE(Matmul, f32, WeightType::kF32, OperandType::kF32)
    ->Apply(MatmulShapes);
BENCHMARK_CAPTURE(Matmul, bf16, WeightType::kBf16, OperandType::kBf16)
    ->Apply(MatmulShapes);
BENCHMARK_CAPTURE(Matmul, int8, WeightType::kInt8, OperandType::kInt8)
    ->Apply(MatmulShapes)
    ->Apply(MatmulsOutOfMemory);
void GroupedShapes(benchmark::internal::Benchmark* benchmark) {
  for (const int rows : {1, 4, 16, 64}) benchmark->Args({rows, 2048, 2048, 1});
  MatmulsOutOfMemory(benchmark);
}
BENCHMARK_CAPTURE(GroupedMatmul, Q4_0, GroupForm::kScale4)
    ->Apply(GroupedShapes);
BENCHMARK_CAPTURE(GroupedMatmul, Q4_1, GroupForm::kMinimum4)
    ->Apply(GroupedShapes);
BENCHMARK_CAPTURE(GroupedMatmul, Q4_K, GroupForm::kParts4)
    ->Apply(GroupedShapes);
BENCHMARK_CAPTURE(GroupedMatmul, GPTQ, GroupForm::kZero4)->Apply(GroupedShapes);
BENCHMARK_CAPTURE(GroupedMatmul, IQ4_NL, GroupForm::kCurve4)
    ->Apply(GroupedShapes);
BENCHMARK_CAPTURE(GroupedMatmul, IQ4_XS, GroupForm::kCurveParts4)
    ->Apply(GroupedShapes);
BENCHMARK_CAPTURE(GroupedMatmul, MXFP4, GroupForm::kFp4)->Apply(GroupedShapes);
BENCHMARK_CAPTURE(GroupedMatmul, Q8_0, GroupForm::kScale8)
    ->Apply(GroupedShapes);

// Rows of 32 sources, each with a list of its own out of 8,000 tokens:
// hypotheses of a source, tokens of a list, K.
void Shortlist(benchmark::State& state) {
  constexpr int kSources = 32, kVocabulary = 8000;
  const int queries = static_cast<int>(state.range(0));
  const int tokens = static_cast<int>(state.range(1));
  const int k = static_cast<int>(state.range(2));
  std::mt19937 generator(2);
  std::vector<std::vector<int32_t>> lists(kSources);
  for (std::vector<int32_t>& list : lists) {
    for (int i = 0; i < tokens; ++i) {
      list.push_back(static_cast<int32_t>(generator() % kVocabulary));
    }
    std::sort(list.begin(), list.end());
  }
  const Buffer<int8_t> weights(static_cast<size_t>(kVocabulary) * k);
  const Buffer<uint8_t> x(static_cast<size_t>(queries) * k);
  const int y_stride = (tokens + 3) / 4 * 4;
  const Buffer<int32_t> y(static_cast<size_t>(queries) * y_stride);
  for (auto _ : state) {
    for (const std::vector<int32_t>& list : lists) {
      ShortlistProduct(weights.data(), k, list, x.data(), queries, y.data(),
                       y_stride);
    }
  }
  state.counters["row"] = benchmark::Counter(
      1.0 * kSources * queries * state.iterations(),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(Shortlist)->ArgsProduct({{1, 4}, {200, 450}, {256, 512}});

// Keys and values of heads of 64.
constexpr int kHeads = 8, kHeadSize = 64, kWidth = kHeads * kHeadSize;
struct KeyValues {
  KeyValues(KvType type, int tokens, int heads = kHeads)
      : shape{type, heads, kHeadSize},
        tile_bytes(KvTileBytes(shape)),
        memory(PaddedKeys(tokens) / kTileTokens * tile_bytes) {
    const int width = heads * kHeadSize;
    const std::vector<float> values = RandomFloats(width * tokens);
    for (int token = 0; token < tokens; ++token) {
      char* tile = memory.data() + token / kTileTokens * tile_bytes;
      if (token % kTileTokens == 0) tiles.push_back(tile);
      const float* value = values.data() + token * width;
      StoreKeyValue(shape, value, value, token % kTileTokens, tile);
    }
  }

  const KvShape shape;
  const size_t tile_bytes;
  const Buffer<char> memory;
  std::vector<const char*> tiles;
};

// One query over so many keys.
void Attention(benchmark::State& state, KvType type) {
  const int keys = static_cast<int>(state.range(0));
  const KeyValues cached(type, keys);
  const std::vector<float> query = RandomFloats(kWidth);
  std::vector<float> out(kWidth);
  AttentionCall call = {.shape = cached.shape,
                        .query_heads = kHeads,
                        .tiles = cached.tiles.data(),
                        .keys = keys,
                        .queries = 1,
                        .query = query.data(),
                        .query_stride = kWidth,
                        .scale = 0.125f,
                        .out = out.data(),
                        .out_stride = kWidth};
  const Buffer<float> scratch(AttentionScratchSize(call));
  call.scratch = scratch.data();
  for (auto _ : state) {
    Attend(call);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(cached.tile_bytes * cached.tiles.size() *
                          state.iterations());
}
BENCHMARK_CAPTURE(Attention, f32, KvType::kF32)->Range(16, 512);
BENCHMARK_CAPTURE(Attention, bf16, KvType::kBf16)->Range(16, 512);
BENCHMARK_CAPTURE(Attention, int8, KvType::kInt8)->Range(16, 512);

// A prompt of 512 tokens, causal, so many queries a call, of so many query
// heads for each of keys.
void PromptAttention(benchmark::State& state, KvType type) {
  constexpr int kTokens = 512;
  const int group = static_cast<int>(state.range(0));
  const int query_heads = kHeads * static_cast<int>(state.range(1));
  const int width = query_heads * kHeadSize;
  const KeyValues cached(type, kTokens);
  const std::vector<float> query = RandomFloats(group * width);
  std::vector<float> out(query.size());
  AttentionCall call = {.shape = cached.shape,
                        .query_heads = query_heads,
                        .tiles = cached.tiles.data(),
                        .keys = kTokens,
                        .queries = group,
                        .position = kTokens - group,
                        .look_ahead = 0,
                        .query = query.data(),
                        .query_stride = static_cast<size_t>(width),
                        .scale = 0.125f,
                        .out = out.data(),
                        .out_stride = static_cast<size_t>(width)};
  const Buffer<float> scratch(AttentionScratchSize(call));
  call.scratch = scratch.data();
  for (auto _ : state) {
    for (call.position = 0; call.position < kTokens; call.position += group) {
      Attend(call);
    }
    benchmark::DoNotOptimize(out.data());
  }
  // Two operations a number of each key and each value that a query sees.
  state.counters["operations"] = benchmark::Counter(
      2.0 * width * kTokens * (kTokens + 1) * state.iterations(),
      benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(PromptAttention, f32, KvType::kF32)
    ->ArgsProduct({{1, 16}, {1, 4}});
BENCHMARK_CAPTURE(PromptAttention, bf16, KvType::kBf16)
    ->ArgsProduct({{1, 16}, {1, 4}});
BENCHMARK_CAPTURE(PromptAttention, int8, KvType::kInt8)
    ->ArgsProduct({{1, 16}, {1, 4}});

// A call of an encoder: so many keys, all of which so many queries see, in
// twelve heads.
void EncoderAttention(benchmark::State& state, KvType type) {
  constexpr int kEncoderHeads = 12, kEncoderWidth = kEncoderHeads * kHeadSize;
  const int keys = static_cast<int>(state.range(0));
  const int queries = static_cast<int>(state.range(1));
  const KeyValues cached(type, keys, kEncoderHeads);
  const std::vector<float> query = RandomFloats(queries * kEncoderWidth);
  std::vector<float> out(query.size());
  AttentionCall call = {.shape = cached.shape,
                        .query_heads = kEncoderHeads,
                        .tiles = cached.tiles.data(),
                        .keys = keys,
                        .queries = queries,
                        .query = query.data(),
                        .query_stride = kEncoderWidth,
                        .scale = 0.125f,
                        .out = out.data(),
                        .out_stride = kEncoderWidth};
  const Buffer<float> scratch(AttentionScratchSize(call));
  call.scratch = scratch.data();
  for (auto _ : state) {
    Attend(call);
    benchmark::DoNotOptimize(out.data());
  }
  // Two operations a number of each key and each value.
  state.counters["operations"] = benchmark::Counter(
      4.0 * kEncoderWidth * keys * queries * state.iterations(),
      benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(EncoderAttention, f32, KvType::kF32)
    ->ArgsProduct({{32, 512, 8192}, {16, 32, 64}});
BENCHMARK_CAPTURE(EncoderAttention, bf16, KvType::kBf16)
    ->ArgsProduct({{32, 512, 8192, 16384}, {16, 32, 64}});
BENCHMARK_CAPTURE(EncoderAttention, int8, KvType::kInt8)
    ->ArgsProduct({{32, 512, 8192, 16384}, {16, 32, 64}});

void QuantizeOneRow(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  const std::vector<float> x = RandomFloats(n);
  std::vector<uint8_t> q(n);
  for (auto _ : state) {
    benchmark::DoNotOptimize(QuantizeRow(x.data(), n, {-4, 4}, q.data()));
  }
  state.SetBytesProcessed(n * sizeof(float) * state.iterations());
}
BENCHMARK(QuantizeOneRow)->Arg(256)->Arg(512)->Arg(2048);

void FinishOneRow(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  const std::vector<float> x = RandomFloats(n);
  const std::vector<int32_t> product(n, 1000);
  std::vector<float> y(n);
  const ProductRow row = {.s32 = product.data(),
                          .x = {1, 100},
                          .scale = x.data(),
                          .offset = x.data(),
                          .n = n};
  for (auto _ : state) {
    benchmark::DoNotOptimize(ActivateRow(row, Activation::kRelu, y.data()));
    benchmark::DoNotOptimize(y.data());
  }
  state.SetBytesProcessed(n * sizeof(float) * state.iterations());
}
BENCHMARK(FinishOneRow)->Arg(256)->Arg(512)->Arg(2048);

void NormOneRow(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  const std::vector<float> x = RandomFloats(n);
  std::vector<float> y(n);
  const ProductRow row = {.f32 = x.data(), .n = n};
  for (auto _ : state) {
    AddNormRow(row, x.data(), x.data(), x.data(), 1e-5f, y.data());
    benchmark::DoNotOptimize(y.data());
  }
  state.SetBytesProcessed(n * sizeof(float) * state.iterations());
}
BENCHMARK(NormOneRow)->Arg(256)->Arg(512);

// The best of a vocabulary, found block by block.
void Candidates(benchmark::State& state) {
  constexpr int kBlock = 1024;
  const int vocabulary = static_cast<int>(state.range(0));
  const int top_k = static_cast<int>(state.range(1));
  const std::vector<float> logits = RandomFloats(vocabulary);
  std::vector<float> scratch(kBlock);
  RowCandidates row;
  for (auto _ : state) {
    row.Start(top_k, {});
    for (int begin = 0; begin < vocabulary; begin += kBlock) {
      row.Add(begin,
              {.f32 = logits.data() + begin,
               .n = std::min(kBlock, vocabulary - begin)},
              scratch.data(), nullptr);
    }
    row.Finish();
    benchmark::DoNotOptimize(row.best().data());
  }
  state.SetItemsProcessed(vocabulary * state.iterations());
}
BENCHMARK(Candidates)->Args({8004, 1})->Args({58101, 1})->Args({58101, 8});

}  // namespace
}  // namespace trivium
