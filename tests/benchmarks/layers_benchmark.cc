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
constexpr int64_t kKvCacheBytes = int64_t{256} << 20;

// A new engine; the weights are made once for each formats.
std::unique_ptr<Engine> NewEngine(benchmark::State& state,
                                  const Formats& formats) {
  static auto* models =
      new std::map<Formats, std::shared_ptr<const Transformer>>;
  std::shared_ptr<const Transformer>& model = (*models)[formats];
  if (model == nullptr) {
    RandomTransformer::Shape shape;
    shape.d_model = 512;
    shape.heads = 8;
    shape.feed_forward = 2048;
    shape.vocabulary = 8192;
    shape.max_positions = 512;
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

BENCHMARK_CAPTURE(Encode, f32, kF32Formats)->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(Encode, int8, kInt8Formats)->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(Decode, f32, kF32Formats)->Arg(1)->Arg(8)->Arg(32);
BENCHMARK_CAPTURE(Decode, int8, kInt8Formats)->Arg(1)->Arg(8)->Arg(32);

}  // namespace
}  // namespace trivium
