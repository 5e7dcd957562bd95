// Every golden case through Model::Load and Engine, in f32. The folder of
// cases comes from TRIVIUM_GOLDENS; the instruction set as isa_main.cc says.
#include "tests/support/golden.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/weights/weights.h"
#include "tests/golden/described_golden.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

constexpr int64_t kKvCacheBytes = int64_t{64} << 20;

struct LoadedCase {
  std::unique_ptr<GoldenCase> golden;
  std::unique_ptr<Model> model;
  std::string error;  // empty: loaded
};

// Loaded once for all tests of the case.
const LoadedCase& Load(const std::string& folder) {
  static auto* cases = new std::map<std::string, LoadedCase>;
  const auto [entry, is_new] = cases->try_emplace(folder);
  LoadedCase& loaded = entry->second;
  if (!is_new) return loaded;
  auto golden = GoldenCase::Open(folder);
  if (!golden.ok()) {
    loaded.error = golden.status().ToString();
    return loaded;
  }
  loaded.golden = *std::move(golden);
  LoadOptions options;
  options.precision = Precision::kF32;
  auto model = Model::Load(loaded.golden->model_folder(), options);
  if (!model.ok()) {
    loaded.error = model.status().ToString();
    return loaded;
  }
  loaded.model = *std::move(model);
  return loaded;
}

class GoldenTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const LoadedCase& loaded = Load(GetParam());
    ASSERT_EQ(loaded.error, "") << GetParam();
    golden_ = loaded.golden.get();
    model_ = loaded.model.get();
    auto engine = model_->NewEngine({.kv_cache_bytes = kKvCacheBytes});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    blocks_ = engine_->free_blocks();
  }

  void TearDown() override {
    if (engine_) {
      EXPECT_EQ(engine_->free_blocks(), blocks_);
    }
  }

  bool decoder_only() const { return golden_->kind() == "decoder"; }
  int runs() const { return static_cast<int>(golden_->runs().size()); }

  // The encoder's input; nothing where there is no encoder.
  EncoderInput Source(const GoldenRun& run) const {
    if (decoder_only()) return {};
    return {run.input_ids, run.type_ids};
  }

  // What the decoder reads before its first new token.
  std::vector<int32_t> Prefix(const GoldenRun& run) const {
    return decoder_only() ? run.input_ids : model_->decoder_prefix();
  }

  // What the golden logits were forced with: given, or the greedy result.
  std::vector<int32_t> Targets(const GoldenRun& run) const {
    if (decoder_only()) return run.input_ids;
    if (!run.decoder_input_ids.empty()) return run.decoder_input_ids;
    std::vector<int32_t> targets = model_->decoder_prefix();
    for (const GoldenSearch& search : run.searches) {
      if (search.options.beam_size > 1) continue;
      const std::vector<int32_t>& ids = search.expected[0].ids;
      targets.insert(targets.end(), ids.begin(), ids.end() - 1);
      break;
    }
    return targets;
  }

  // Compares layer after layer of maps [layers, heads, queries, keys] with the
  // tensors "NAME.LAYER" that the golden has.
  void ExpectMaps(int run, const std::string& name, int layers,
                  const std::vector<float>& maps) const {
    const size_t size = maps.size() / layers;
    for (int layer = 0; layer < layers; ++layer) {
      const TensorView* expected =
          golden_->Find(run, fmt::format("{}.{}", name, layer));
      if (expected == nullptr) continue;
      EXPECT_EQ(CompareTensor(*expected, {maps.begin() + layer * size,
                                          maps.begin() + (layer + 1) * size}),
                absl::OkStatus())
          << "run " << run << ", " << name << ", layer " << layer;
    }
  }

  const GoldenCase* golden_ = nullptr;
  const Model* model_ = nullptr;
  std::unique_ptr<Engine> engine_;
  int blocks_ = 0;
};

TEST_P(GoldenTest, KnowsEveryTensor) {
  for (const std::string& name : golden_->TensorNames()) {
    const std::string key = name.substr(name.find('.') + 1);
    const bool known = key == "logits" || key == "encoder_last_hidden_state" ||
                       key == "last_hidden_state" || key == "mean_normalized" ||
                       key == "pooler_output" || key == "start_logits" ||
                       key == "end_logits" ||
                       key.rfind("attentions.", 0) == 0 ||
                       key.rfind("cross_attentions.", 0) == 0;
    EXPECT_TRUE(known) << name << " is in the golden, but nothing checks it";
  }
}

TEST_P(GoldenTest, EncoderEqualsTransformers) {
  if (decoder_only()) GTEST_SKIP() << "has no encoder";
  for (int i = 0; i < runs(); ++i) {
    const auto encoded = EncodeAlone(engine_.get(), Source(golden_->runs()[i]));
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    for (const char* name :
         {"encoder_last_hidden_state", "last_hidden_state"}) {
      if (const TensorView* expected = golden_->Find(i, name)) {
        EXPECT_EQ(CompareTensor(*expected, encoded->states), absl::OkStatus())
            << "run " << i << ", " << name;
      }
    }
    if (const TensorView* expected = golden_->Find(i, "mean_normalized")) {
      std::vector<float> mean(model_->info().d_model);
      for (size_t k = 0; k < encoded->states.size(); ++k) {
        mean[k % mean.size()] += encoded->states[k];
      }
      const float length = std::sqrt(
          std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0f));
      for (float& value : mean) value /= length;
      EXPECT_EQ(CompareTensor(*expected, mean), absl::OkStatus())
          << "run " << i;
    }
    // GGUF files of BERT have no pooler.
    const TensorView* const expected = golden_->Find(i, "pooler_output");
    if (expected != nullptr && !golden_->model_folder().ends_with(".gguf")) {
      EXPECT_EQ(CompareTensor(*expected, encoded->pooled), absl::OkStatus())
          << "run " << i;
    }
    ExpectMaps(i, "attentions", engine_->limits().encoder_layers,
               encoded->attention);
  }
}

// A traced head's weights are Transformers' map of that head. The last head of
// the last layer, where everything has been added up.
TEST_P(GoldenTest, TracedHeadsEqualTransformers) {
  const bool decoder = engine_->limits().decoder_layers > 0;
  const int layers = decoder ? engine_->limits().decoder_layers
                             : engine_->limits().encoder_layers;
  const ModelInfo& info = model_->info();
  const bool cross = decoder && !decoder_only();
  const HeadChoice choice = {
      .cross = cross,
      .layer = layers - 1,
      .head = (decoder ? info.decoder_heads : info.encoder_heads) - 1};
  if (!model_->CheckTracedHead(decoder, choice).ok()) {
    GTEST_SKIP() << "its heads cannot be traced";
  }
  for (int i = 0; i < runs(); ++i) {
    const GoldenRun& run = golden_->runs()[i];
    SourceId source = kNoSource;
    StepPlan plan;
    StepResult result;
    if (!decoder_only()) {
      SourceOptions options;
      if (!decoder) options.traced_head = choice;
      const auto added = engine_->AddSource(Source(run), options);
      ASSERT_TRUE(added.ok()) << added.status();
      source = *added;
      plan.encode.push_back({source, engine_->limits().encoder_layers});
      ASSERT_TRUE(engine_->Step(plan, &result).ok());
      plan.Clear();
    }
    HeadTrace trace;
    if (decoder) {
      const std::vector<int32_t> targets = Targets(run);
      trace.choice = choice;
      trace.queries = trace.keys = static_cast<int>(targets.size());
      if (cross) trace.keys = static_cast<int>(Source(run).ids.size());
      const HypothesisId hypothesis = engine_->AddHypothesis(source);
      plan.decode.push_back(
          {.hypothesis = hypothesis, .tokens = targets, .trace = &trace});
      ASSERT_TRUE(engine_->Step(plan, &result).ok());
      engine_->ReleaseHypothesis(hypothesis);
    } else {
      trace = *engine_->TracedHead(source);
    }
    if (source != kNoSource) engine_->ReleaseSource(source);
    const char* const name = cross ? "cross_attentions" : "attentions";
    const TensorView* const expected =
        golden_->Find(i, fmt::format("{}.{}", name, choice.layer));
    if (expected == nullptr) continue;
    std::vector<float> maps(static_cast<size_t>(expected->elements()));
    CopyToF32(*expected, 0, maps);
    const size_t cells = trace.weights.values.size();
    ASSERT_EQ(maps.size() % cells, 0u);
    for (size_t k = 0; k < cells; ++k) {
      EXPECT_NEAR(trace.weights.values[k], maps[maps.size() - cells + k], 1e-4)
          << "run " << i << ", weight " << k;
    }
  }
}

// What an encoder's head makes of its states.
TEST_P(GoldenTest, HeadEqualsTransformers) {
  if (golden_->kind() != "encoder") GTEST_SKIP() << "has a decoder";
  const int outputs = engine_->limits().head_outputs;
  for (int i = 0; i < runs(); ++i) {
    const auto encoded = EncodeAlone(engine_.get(), Source(golden_->runs()[i]));
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    if (const TensorView* expected = golden_->Find(i, "logits")) {
      EXPECT_EQ(CompareTensor(*expected, encoded->logits), absl::OkStatus())
          << "run " << i;
    }
    int column = 0;
    for (const char* name : {"start_logits", "end_logits"}) {
      const TensorView* expected = golden_->Find(i, name);
      if (expected == nullptr) continue;
      ASSERT_EQ(outputs, 2);
      std::vector<float> logits;
      for (size_t k = column++; k < encoded->logits.size(); k += outputs) {
        logits.push_back(encoded->logits[k]);
      }
      EXPECT_EQ(CompareTensor(*expected, logits), absl::OkStatus())
          << "run " << i << ", " << name;
    }
  }
}

TEST_P(GoldenTest, TargetsStepByStepEqualTransformers) {
  if (engine_->limits().decoder_layers == 0) GTEST_SKIP() << "has no decoder";
  for (int i = 0; i < runs(); ++i) {
    const TensorView* expected = golden_->Find(i, "logits");
    if (expected == nullptr) continue;
    const GoldenRun& run = golden_->runs()[i];
    const auto forced =
        ForceTargets(engine_.get(), Source(run), Targets(run), 1);
    ASSERT_TRUE(forced.ok()) << forced.status();
    EXPECT_EQ(CompareTensor(*expected, forced->logits), absl::OkStatus())
        << "run " << i;
    const int layers = engine_->limits().decoder_layers;
    ExpectMaps(i, "cross_attentions", layers, forced->cross_attention);
    if (decoder_only()) {
      ExpectMaps(i, "attentions", layers, forced->self_attention);
    }
  }
}

// The same in one step: its only logits, and every map.
TEST_P(GoldenTest, TargetsAtOnceEqualTransformers) {
  if (engine_->limits().decoder_layers == 0) GTEST_SKIP() << "has no decoder";
  for (int i = 0; i < runs(); ++i) {
    const TensorView* expected = golden_->Find(i, "logits");
    if (expected == nullptr) continue;
    const GoldenRun& run = golden_->runs()[i];
    const std::vector<int32_t> targets = Targets(run);
    const auto forced = ForceTargets(engine_.get(), Source(run), targets,
                                     static_cast<int>(targets.size()));
    ASSERT_TRUE(forced.ok()) << forced.status();
    const size_t row = model_->info().vocabulary;
    TensorView last = *expected;
    last.shape[0] = 1;
    last.data = last.data.last(row * DTypeSize(last.dtype));
    EXPECT_EQ(
        CompareTensor(last, {forced->logits.end() - row, forced->logits.end()}),
        absl::OkStatus())
        << "run " << i;
    const int layers = engine_->limits().decoder_layers;
    ExpectMaps(i, "cross_attentions", layers, forced->cross_attention);
    if (decoder_only()) {
      ExpectMaps(i, "attentions", layers, forced->self_attention);
    }
  }
}

TEST_P(GoldenTest, SearchesEqualTransformers) {
  for (int i = 0; i < runs(); ++i) {
    const GoldenRun& run = golden_->runs()[i];
    for (const GoldenSearch& search : run.searches) {
      SCOPED_TRACE(fmt::format("run {}, {}", i, search.name));
      const auto hypotheses =
          GenerateAlone(engine_.get(), Source(run), Prefix(run),
                        golden_->Complete(search, model_->decoding_defaults()));
      ASSERT_TRUE(hypotheses.ok()) << hypotheses.status();
      EXPECT_EQ(CompareHypotheses(search.expected, *hypotheses),
                absl::OkStatus());
    }
  }
}

// Goldens in which every input gives the same, or one token repeated, or beams
// what greedy search gives, would let much pass.
TEST_P(GoldenTest, ResultsDiffer) {
  std::set<std::vector<int32_t>> greedy;
  size_t greedy_runs = 0;
  bool several_tokens = false, has_beams = false, beams_differ = false;
  for (const GoldenRun& run : golden_->runs()) {
    const auto first = std::find_if(
        run.searches.begin(), run.searches.end(), [](const auto& search) {
          return std::regex_match(search.name, std::regex("greedy_[0-9]+"));
        });
    if (first == run.searches.end()) continue;
    const std::vector<int32_t>& ids = first->expected[0].ids;
    ++greedy_runs;
    greedy.insert(ids);
    several_tokens |= std::set<int32_t>(ids.begin(), ids.end()).size() > 1;
    for (const GoldenSearch& search : run.searches) {
      if (search.options.beam_size == 1) continue;
      has_beams = true;
      beams_differ |= search.expected[0].ids != ids;
    }
  }
  if (greedy_runs < 2) GTEST_SKIP() << "does not search";
  EXPECT_EQ(greedy.size(), greedy_runs) << "inputs that give the same";
  EXPECT_TRUE(several_tokens) << "one token repeated, whatever the input";
  EXPECT_TRUE(beams_differ || !has_beams) << "beams give what greedy gives";
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, ::testing::ValuesIn(GoldenModels()),
                         GoldenName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenTest);

TEST(GoldenFoldersTest, ThereAreCases) {
  EXPECT_FALSE(GoldenFolders().empty())
      << "no folder with a golden.json: run from the repository's root, or set "
         "TRIVIUM_GOLDENS";
}

}  // namespace
}  // namespace trivium
