// Whole stacks: steps of an engine with random weights of the OPUS-MT shape,
// with two layers in each stack instead of six and 8,192 tokens instead of
// 58,101, so that it starts quickly. One thread.
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <vector>

#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

constexpr int kSourceTokens = 40;
constexpr int kPromptTokens = 512;
constexpr int kWidth = 512;
constexpr int kFeedForward = 2048;
constexpr int kLayers = 2;  // of each stack
constexpr int64_t kKvCacheBytes = int64_t{256} << 20;

// A new engine; the weights are made once for each formats.
std::unique_ptr<Engine> NewEngine(benchmark::State& state,
                                  const Formats& formats) {
  static auto* models =
      new std::map<Formats, std::shared_ptr<const Transformer>>;
  std::shared_ptr<const Transformer>& model = (*models)[formats];
  if (model == nullptr) {
    RandomTransformer::Shape shape;
    shape.d_model = kWidth;
    shape.heads = 8;
    shape.feed_forward = kFeedForward;
    shape.encoder_layers = kLayers;
    shape.decoder_layers = kLayers;
    shape.vocabulary = 8192;
    shape.max_positions = kPromptTokens;
    shape.activation = Activation::kSwish;
    const RandomTransformer random(shape, 1);
    auto created = Transformer::Create(random.description(), formats);
    if (!created.ok()) {
      state.SkipWithError(created.status().ToString().c_str());
      return nullptr;
    }
    model = *std::move(created);
  }
  auto engine = TransformerEngine::Create(model, kKvCacheBytes);
  if (!engine.ok()) {
    state.SkipWithError(engine.status().ToString().c_str());
    return nullptr;
  }
  return *std::move(engine);
}

EncoderInput Source(int seed) {
  EncoderInput input;
  for (int i = 0; i < kSourceTokens; ++i) {
    input.ids.push_back((seed * 131 + i * 17) % 8192);
  }
  return input;
}

// Operations of one token in one layer, two for each weight: of so many square
// matrices (queries, keys, values, output) and of the feed-forward.
constexpr double TokenOperations(int square) {
  return 2.0 * kWidth * (square * kWidth + 2.0 * kFeedForward);
}

// Of attention, for so many pairs of a query and a key: two for each number of
// the key and of the value.
constexpr double AttentionOperations(double pairs) {
  return 4.0 * kWidth * pairs;
}

void CountOperations(benchmark::State& state, double operations) {
  state.counters["operations"] =
      benchmark::Counter(operations * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

// Encodes so many sources in one step.
void Encode(benchmark::State& state, const Formats& formats) {
  const std::unique_ptr<Engine> engine = NewEngine(state, formats);
  if (engine == nullptr) return;
  const int sources = static_cast<int>(state.range(0));
  StepResult result;
  for (auto _ : state) {
    StepPlan plan;
    for (int i = 0; i < sources; ++i) {
      plan.encode.push_back({engine->AddSource(Source(i), {}).value(),
                             engine->limits().encoder_layers});
    }
    const absl::Status status = engine->Step(plan, &result);
    if (!status.ok()) state.SkipWithError(status.ToString().c_str());
    for (const StepPlan::Encode& one : plan.encode) {
      engine->ReleaseSource(one.source);
    }
  }
  state.counters["tokens/s"] = benchmark::Counter(
      static_cast<double>(sources) * kSourceTokens * state.iterations(),
      benchmark::Counter::kIsRate);
  CountOperations(state,
                  sources * kLayers *
                      (kSourceTokens * TokenOperations(/*square=*/4) +
                       AttentionOperations(kSourceTokens * kSourceTokens)));
}

constexpr LogitsQuery kBest = {.top_k = 1};

// Decode steps of so many hypotheses, positions 1 to 32, each with its source.
void Decode(benchmark::State& state, const Formats& formats) {
  constexpr int kSteps = 32;
  const std::unique_ptr<Engine> engine = NewEngine(state, formats);
  if (engine == nullptr) return;
  const int rows = static_cast<int>(state.range(0));
  StepPlan encode;
  StepResult result;
  for (int i = 0; i < rows; ++i) {
    encode.encode.push_back({engine->AddSource(Source(i), {}).value(),
                             engine->limits().encoder_layers});
  }
  absl::Status status = engine->Step(encode, &result);
  const std::vector<int32_t> token = {1};
  for (auto _ : state) {
    StepPlan plan;
    for (const StepPlan::Encode& one : encode.encode) {
      plan.decode.push_back(
          {engine->AddHypothesis(one.source), token, {&kBest, 1}});
    }
    for (int step = 0; step < kSteps; ++step) {
      status.Update(engine->Step(plan, &result));
    }
    for (const StepPlan::Decode& one : plan.decode) {
      engine->ReleaseHypothesis(one.hypothesis);
    }
  }
  if (!status.ok()) state.SkipWithError(status.ToString().c_str());
  state.counters["tokens/s"] = benchmark::Counter(
      static_cast<double>(rows) * kSteps * state.iterations(),
      benchmark::Counter::kIsRate);
}

// A prompt read by the decoder in one step, the output of its last token
// projected. Its operations are to be done at the rate of Encode's, where
// attention is small: at 1 / 1.3 of it or more.
void Prompt(benchmark::State& state, const Formats& formats) {
  const std::unique_ptr<Engine> engine = NewEngine(state, formats);
  if (engine == nullptr) return;
  StepPlan encode;
  StepResult result;
  encode.encode.push_back({engine->AddSource(Source(0), {}).value(),
                           engine->limits().encoder_layers});
  absl::Status status = engine->Step(encode, &result);
  std::vector<int32_t> tokens;
  for (int i = 0; i < kPromptTokens; ++i) tokens.push_back(i * 23 % 8192);
  for (auto _ : state) {
    StepPlan plan;
    plan.decode.push_back(
        {engine->AddHypothesis(encode.encode[0].source), tokens, {&kBest, 1}});
    status.Update(engine->Step(plan, &result));
    engine->ReleaseHypothesis(plan.decode[0].hypothesis);
  }
  if (!status.ok()) state.SkipWithError(status.ToString().c_str());
  CountOperations(
      state,
      kLayers * (kPromptTokens * TokenOperations(/*square=*/6) +
                 AttentionOperations(kPromptTokens * (kPromptTokens + 1) / 2) +
                 AttentionOperations(kPromptTokens * kSourceTokens)));
}

BENCHMARK_CAPTURE(Encode, f32, kF32Formats)->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(Encode, bf16, kBf16Formats)->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(Encode, int8, kInt8Formats)->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(Prompt, f32, kF32Formats);
BENCHMARK_CAPTURE(Prompt, bf16, kBf16Formats);
BENCHMARK_CAPTURE(Prompt, int8, kInt8Formats);
BENCHMARK_CAPTURE(Decode, f32, kF32Formats)->Arg(1)->Arg(8)->Arg(32);
BENCHMARK_CAPTURE(Decode, int8, kInt8Formats)->Arg(1)->Arg(8)->Arg(32);

}  // namespace
}  // namespace trivium
