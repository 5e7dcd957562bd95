#include "model/engine.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/attention.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"
#include "tests/support/reference_transformer.h"

namespace trivium {
namespace {

std::vector<int32_t> RandomIds(int count, int vocabulary, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(generator() % vocabulary);
  return ids;
}

// Reads `targets` in parts of `step` tokens; logits of the last token of each.
std::vector<std::vector<float>> Decode(Engine* engine, SourceId source,
                                       std::span<const int32_t> targets,
                                       size_t step) {
  const HypothesisId hypothesis = engine->AddHypothesis(source);
  std::vector<std::vector<float>> logits;
  StepResult result;
  for (size_t at = 0; at < targets.size(); at += step) {
    StepPlan plan;
    plan.decode.push_back(
        {.hypothesis = hypothesis,
         .tokens = targets.subspan(at, std::min(step, targets.size() - at)),
         .queries = {&kAllLogits, 1}});
    EXPECT_TRUE(engine->Step(plan, &result).ok());
    const auto all = result.rows[0].logits[0].all;
    logits.emplace_back(all.begin(), all.end());
  }
  engine->ReleaseHypothesis(hypothesis);
  return logits;
}

class EngineShapeTest
    : public ::testing::TestWithParam<RandomTransformer::Shape> {};

TEST_P(EngineShapeTest, F32EqualsTheReference) {
  const RandomTransformer random(GetParam(), 1);
  const ReferenceTransformer reference(random.description());
  const std::unique_ptr<Engine> engine = NewEngine(random, kF32Formats);
  const int vocabulary = GetParam().vocabulary;
  for (const int tokens : {1, 5, 16, 17, 33}) {
    const std::vector<int32_t> ids = RandomIds(tokens, vocabulary, tokens);
    const std::vector<int32_t> targets = RandomIds(19, vocabulary, 99 + tokens);
    const auto source = engine->AddSource(
        {ids, {}},
        {.states = States::kAll, .attention = true, .selection = {}});
    ASSERT_TRUE(source.ok()) << source.status();
    StepPlan plan;
    plan.encode.push_back({*source, GetParam().encoder_layers});
    const HypothesisId hypothesis = engine->AddHypothesis(*source);
    const AttentionSelection everything;
    plan.decode.push_back({.hypothesis = hypothesis,
                           .tokens = targets,
                           .queries = {&kAllLogits, 1},
                           .self_attention = &everything,
                           .cross_attention = &everything});
    StepResult result;
    ASSERT_TRUE(engine->Step(plan, &result).ok());

    const auto encoded = reference.Encode(ids);
    ExpectClose(engine->EncoderStates(*source), encoded.states.data, "states");
    ExpectClose(engine->EncoderAttention(*source), encoded.attention,
                "encoder attention");
    const auto decoded = reference.Decode(encoded.states, targets);
    ExpectClose(result.rows[0].self_attention, decoded.self_attention,
                "self-attention");
    ExpectClose(result.rows[0].cross_attention, decoded.cross_attention,
                "cross-attention");
    const double* last = decoded.logits.row(18);
    ExpectClose(result.rows[0].logits[0].all,
                std::vector<double>(last, last + vocabulary), "prefill");
    const auto logits = Decode(engine.get(), *source, targets, 1);
    for (size_t i = 0; i < logits.size(); ++i) {
      const double* row = decoded.logits.row(static_cast<int>(i));
      ExpectClose(logits[i], std::vector<double>(row, row + vocabulary),
                  "step");
    }
    engine->ReleaseHypothesis(hypothesis);
    engine->ReleaseSource(*source);
    EXPECT_EQ(engine->free_blocks(), engine->limits().total_blocks);
  }
}

// Prefill, chunks of it and single steps give the same bits, and so does a
// source that was cut by layers.
TEST_P(EngineShapeTest, CutsDoNotChangeBits) {
  const RandomTransformer random(GetParam(), 2);
  const int vocabulary = GetParam().vocabulary;
  const std::vector<int32_t> ids = RandomIds(23, vocabulary, 1);
  const std::vector<int32_t> targets = RandomIds(20, vocabulary, 2);
  for (const Formats& formats : {kF32Formats, kInt8Formats}) {
    const std::unique_ptr<Engine> engine = NewEngine(random, formats);
    const auto encode = [&](int layers_a_step) {
      const SourceId source =
          engine
              ->AddSource({ids, {}}, {.states = States::kAll, .selection = {}})
              .value();
      StepPlan plan;
      plan.encode.push_back({source, layers_a_step});
      StepResult result;
      for (int i = 0; i < GetParam().encoder_layers; i += layers_a_step) {
        EXPECT_TRUE(engine->Step(plan, &result).ok());
      }
      return source;
    };
    const SourceId whole = encode(GetParam().encoder_layers);
    const SourceId cut = encode(1);
    EXPECT_TRUE(std::ranges::equal(engine->EncoderStates(whole),
                                   engine->EncoderStates(cut)));
    const auto prefill = Decode(engine.get(), whole, targets, 20);
    const auto chunks = Decode(engine.get(), cut, targets, 7);
    const auto steps = Decode(engine.get(), whole, targets, 1);
    EXPECT_EQ(prefill.back(), steps.back());
    EXPECT_EQ(chunks.back(), steps.back());
    EXPECT_EQ(chunks[0], steps[6]);
  }
}

using Shape = RandomTransformer::Shape;
INSTANTIATE_TEST_SUITE_P(
    Shapes, EngineShapeTest,
    ::testing::Values(
        Shape{},
        Shape{.d_model = 20, .heads = 4, .feed_forward = 7, .vocabulary = 13},
        Shape{.d_model = 33,
              .heads = 3,
              .feed_forward = 50,
              .vocabulary = 1025,
              .activation = Activation::kSwish},
        Shape{.d_model = 64,
              .heads = 1,
              .encoder_layers = 3,
              .decoder_layers = 1,
              .vocabulary = 2050,
              .activation = Activation::kGelu},
        Shape{.d_model = 48,
              .heads = 6,
              .activation = Activation::kGeluTanh,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .final_norm = true},
        Shape{.d_model = 40,
              .heads = 5,
              .encoder_layers = 1,
              .decoder_layers = 3,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .tied = false},
        // Heads that share keys and values, and are not shares of d_model.
        Shape{.heads = 4, .kv_heads = 2},
        Shape{.d_model = 40,
              .heads = 6,
              .kv_heads = 1,
              .head_size = 12,
              .attention_scale = 0.4f},
        Shape{.d_model = 24, .heads = 3, .kv_heads = 3, .head_size = 17},
        // What LLaMA, OLMo 2 and Gemma 2 make of norms and feed-forward.
        Shape{.activation = Activation::kSwish,
              .gated = true,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .norm_kind = NormTensors::Kind::kRms,
              .biases = false,
              .final_norm = true},
        Shape{.d_model = 36,
              .feed_forward = 51,
              .gated = true,
              .norm_placement = RandomTransformer::NormPlacement::kOfOutput,
              .norm_kind = NormTensors::Kind::kRms},
        Shape{.feed_forward = 40,
              .activation = Activation::kGeluTanh,
              .gated = true,
              .norm_placement =
                  RandomTransformer::NormPlacement::kBeforeAndOfOutput,
              .norm_kind = NormTensors::Kind::kRms,
              .one_plus_weight = true,
              .final_norm = true},
        Shape{.norm_placement =
                  RandomTransformer::NormPlacement::kBeforeAndOfOutput,
              .biases = false},
        // Windows within a tile, over its border, and over several.
        Shape{.window = 1},
        Shape{.heads = 6, .kv_heads = 2, .head_size = 8, .window = 7},
        Shape{.window = 18, .encoder_layers = 3, .decoder_layers = 3}));

// Sequences of many lengths, all in the same iterations, against each alone.
TEST(EngineBatchTest, RowsDoNotSeeEachOther) {
  const RandomTransformer random(
      {.d_model = 64, .heads = 4, .feed_forward = 128, .vocabulary = 1500}, 3);
  for (const Formats& formats : {kF32Formats, kInt8Formats}) {
    const std::unique_ptr<Engine> engine = NewEngine(random, formats, 16 << 20);
    constexpr int kSequences = 70;
    std::vector<SourceId> sources;
    std::vector<HypothesisId> hypotheses;
    std::vector<std::vector<int32_t>> targets;
    StepPlan encode;
    for (int i = 0; i < kSequences; ++i) {
      sources.push_back(
          engine->AddSource({RandomIds(1 + i % 40, 1500, i), {}}, {}).value());
      encode.encode.push_back({sources[i], 2});
      hypotheses.push_back(engine->AddHypothesis(sources[i]));
      targets.push_back(RandomIds(1 + i % 13, 1500, 1000 + i));
    }
    StepResult result;
    ASSERT_TRUE(engine->Step(encode, &result).ok());
    std::vector<std::vector<float>> together(kSequences);
    for (int step = 0; step < 13; ++step) {
      StepPlan plan;
      std::vector<int> members;
      for (int i = 0; i < kSequences; ++i) {
        if (step >= static_cast<int>(targets[i].size())) continue;
        members.push_back(i);
        plan.decode.push_back({.hypothesis = hypotheses[i],
                               .tokens = std::span(targets[i]).subspan(step, 1),
                               .queries = {&kAllLogits, 1}});
      }
      ASSERT_TRUE(engine->Step(plan, &result).ok());
      for (size_t m = 0; m < members.size(); ++m) {
        const auto all = result.rows[m].logits[0].all;
        together[members[m]].assign(all.begin(), all.end());
      }
    }
    for (int i = 0; i < kSequences; ++i) {
      const SourceId alone =
          engine->AddSource({RandomIds(1 + i % 40, 1500, i), {}}, {}).value();
      StepPlan plan;
      plan.encode.push_back({alone, 2});
      ASSERT_TRUE(engine->Step(plan, &result).ok());
      EXPECT_EQ(Decode(engine.get(), alone, targets[i], 1).back(), together[i])
          << "sequence " << i;
      engine->ReleaseSource(alone);
    }
  }
}

class EngineBlockTest : public ::testing::Test {
 protected:
  EngineBlockTest()
      : random_({.max_positions = 32}, 4),
        // As few blocks as the engine allows: 2 + 2 for one longest sequence.
        engine_(NewEngine(random_, kF32Formats,
                          4 * 2 * KvTileBytes({KvType::kF32, 2, 16}))) {
    source_ = engine_->AddSource({{1, 2, 3}, {}}, {}).value();
    plan_.encode.push_back({source_, 2});
    EXPECT_TRUE(engine_->Step(plan_, &result_).ok());
    plan_.Clear();
  }

  void Append(HypothesisId hypothesis, std::span<const int32_t> tokens) {
    plan_.decode.push_back({.hypothesis = hypothesis,
                            .tokens = tokens,
                            .queries = {&kAllLogits, 1}});
  }
  absl::Status Step() {
    const absl::Status status = engine_->Step(plan_, &result_);
    plan_.Clear();
    return status;
  }

  RandomTransformer random_;
  std::unique_ptr<Engine> engine_;
  SourceId source_;
  StepPlan plan_;
  StepResult result_;
};

TEST_F(EngineBlockTest, ForksShareBlocksUntilOneWrites) {
  ASSERT_EQ(engine_->limits().total_blocks, 4);
  const std::vector<int32_t> tokens = RandomIds(20, 101, 5);
  const HypothesisId parent = engine_->AddHypothesis(source_);
  Append(parent, std::span(tokens).first(10));
  ASSERT_TRUE(Step().ok());
  EXPECT_EQ(engine_->free_blocks(), 2);
  const HypothesisId child = engine_->Fork(parent);
  EXPECT_EQ(engine_->free_blocks(), 2);
  // Both write to the shared block: one of them needs a copy.
  Append(parent, std::span(tokens).subspan(10, 1));
  Append(child, std::span(tokens).subspan(11, 1));
  ASSERT_TRUE(Step().ok());
  EXPECT_EQ(engine_->free_blocks(), 1);
  const std::vector<float> of_child(result_.rows[1].logits[0].all.begin(),
                                    result_.rows[1].logits[0].all.end());
  engine_->ReleaseHypothesis(parent);
  engine_->ReleaseHypothesis(child);
  EXPECT_EQ(engine_->free_blocks(), 3);

  std::vector<int32_t> path(tokens.begin(), tokens.begin() + 10);
  path.push_back(tokens[11]);
  EXPECT_EQ(Decode(engine_.get(), source_, path, 1).back(), of_child);
}

TEST_F(EngineBlockTest, AStepWithoutBlocksChangesNothing) {
  const std::vector<int32_t> tokens = RandomIds(32, 101, 6);
  const HypothesisId parent = engine_->AddHypothesis(source_);
  Append(parent, std::span(tokens).first(10));
  ASSERT_TRUE(Step().ok());
  std::vector<HypothesisId> children;
  for (int i = 0; i < 3; ++i) children.push_back(engine_->Fork(parent));
  // Four writers of one block need three copies; two blocks are free.
  Append(parent, std::span(tokens).subspan(10, 1));
  for (const HypothesisId child : children) {
    Append(child, std::span(tokens).subspan(10, 1));
  }
  EXPECT_EQ(Step().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(engine_->free_blocks(), 2);
  engine_->ReleaseHypothesis(children[2]);
  Append(parent, std::span(tokens).subspan(10, 1));
  Append(children[0], std::span(tokens).subspan(10, 1));
  Append(children[1], std::span(tokens).subspan(10, 1));
  EXPECT_TRUE(Step().ok());
  EXPECT_EQ(engine_->free_blocks(), 0);
}

TEST_F(EngineBlockTest, RefusesWhatTheModelCannotTake) {
  EXPECT_EQ(engine_->AddSource({{}, {}}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->AddSource({{101}, {}}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->AddSource({{-1}, {}}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->AddSource({RandomIds(33, 101, 1), {}}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const HypothesisId hypothesis = engine_->AddHypothesis(source_);
  const std::vector<int32_t> tokens = RandomIds(33, 101, 1);
  Append(hypothesis, tokens);
  EXPECT_EQ(Step().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<int32_t> wrong = {101};
  Append(hypothesis, wrong);
  EXPECT_EQ(Step().code(), absl::StatusCode::kInvalidArgument);
}

// What nobody asks about is not projected, and what is has the same bits.
TEST_F(EngineBlockTest, ProjectsOnlyWhatIsAskedAbout) {
  const std::vector<int32_t> tokens = RandomIds(20, 101, 7);
  const auto expected = Decode(engine_.get(), source_, tokens, 1);
  const std::vector<int32_t> watched = {3};
  const LogitsQuery queries[] = {
      {.all = true}, {}, {.watched = watched}, {.top_k = 2}};
  const HypothesisId hypothesis = engine_->AddHypothesis(source_);
  plan_.decode.push_back(
      {.hypothesis = hypothesis, .tokens = std::span(tokens).first(12)});
  ASSERT_TRUE(Step().ok());
  EXPECT_EQ(result_.projected_rows, 0);
  EXPECT_TRUE(result_.rows[0].logits.empty());
  EXPECT_TRUE(result_.rows[0].states.empty());
  plan_.decode.push_back({.hypothesis = hypothesis,
                          .tokens = std::span(tokens).subspan(12),
                          .queries = queries,
                          .states = true});
  ASSERT_TRUE(Step().ok());
  EXPECT_EQ(result_.projected_rows, 3);
  const std::span<const LogitsRow> logits = result_.rows[0].logits;
  ASSERT_EQ(logits.size(), 4u);
  EXPECT_TRUE(std::ranges::equal(logits[0].all, expected[16]));
  EXPECT_TRUE(logits[1].best.empty() && logits[1].all.empty());
  EXPECT_EQ(logits[2].watched[0], expected[18][3]);
  EXPECT_EQ(logits[3].best[0].logit, std::ranges::max(expected[19]));
  EXPECT_EQ(result_.rows[0].states.size(), 8u * 32);
  // The states of a token are those it has alone.
  const std::vector<float> last(result_.rows[0].states.end() - 32,
                                result_.rows[0].states.end());
  engine_->ReleaseHypothesis(hypothesis);
  const HypothesisId again = engine_->AddHypothesis(source_);
  for (size_t i = 0; i < tokens.size(); ++i) {
    plan_.decode.push_back({.hypothesis = again,
                            .tokens = std::span(tokens).subspan(i, 1),
                            .states = i + 1 == tokens.size()});
    ASSERT_TRUE(Step().ok());
  }
  EXPECT_TRUE(std::ranges::equal(result_.rows[0].states, last));
}

class KeptBlocksTest : public ::testing::TestWithParam<Formats> {
 protected:
  KeptBlocksTest()
      : random_({}, 8),
        engine_(NewEngine(random_, GetParam(), 1 << 20)),
        tokens_(RandomIds(40, 101, 9)) {
    for (int i = 0; i < 2; ++i) {
      sources_.push_back(engine_->AddSource({{1, 2, 3 + i}, {}}, {}).value());
      StepPlan plan;
      plan.encode.push_back({sources_[i], 2});
      StepResult result;
      EXPECT_TRUE(engine_->Step(plan, &result).ok());
    }
  }

  // Begins with `tokens`, reads what was not found, and returns the last
  // token's logits.
  std::vector<float> Read(SourceId source, std::span<const int32_t> tokens,
                          std::string_view salt, int* found) {
    const auto [hypothesis, there] = engine_->Begin(source, tokens, salt);
    *found = there;
    StepPlan plan;
    plan.decode.push_back({.hypothesis = hypothesis,
                           .tokens = tokens.subspan(there),
                           .queries = {&kAllLogits, 1}});
    EXPECT_LE(engine_->BlocksNeeded(plan), engine_->free_blocks());
    StepResult result;
    EXPECT_TRUE(engine_->Step(plan, &result).ok());
    engine_->ReleaseHypothesis(hypothesis);
    const auto all = result.rows[0].logits[0].all;
    return {all.begin(), all.end()};
  }

  RandomTransformer random_;
  std::unique_ptr<Engine> engine_;
  std::vector<int32_t> tokens_;
  std::vector<SourceId> sources_;
};

TEST_P(KeptBlocksTest, FoundBlocksHoldTheSameBits) {
  const int free = engine_->free_blocks();
  int found = -1;
  const std::span<const int32_t> tokens = tokens_;
  const std::vector<float> computed = Read(sources_[0], tokens, "", &found);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(engine_->free_blocks(), free);  // kept blocks are free
  EXPECT_EQ(Read(sources_[0], tokens, "", &found), computed);
  EXPECT_EQ(found, 32);
  // A beginning of it; the last token is always read.
  EXPECT_EQ(Read(sources_[0], tokens.first(32), "", &found),
            Decode(engine_.get(), sources_[0], tokens.first(32), 32).back());
  EXPECT_EQ(found, 16);
  // What parts from it.
  std::vector<int32_t> other = tokens_;
  other[20] = (other[20] + 1) % 101;
  EXPECT_EQ(Read(sources_[0], other, "", &found),
            Decode(engine_.get(), sources_[0], other, 40).back());
  EXPECT_EQ(found, 16);
  // Another tenant's, and what reads another source.
  EXPECT_EQ(Read(sources_[0], tokens, "tenant", &found), computed);
  EXPECT_EQ(found, 0);
  Read(sources_[1], tokens, "", &found);
  EXPECT_EQ(found, 0);
  // An equal source's blocks, long after the source itself went.
  engine_->ReleaseSource(sources_[0]);
  sources_[0] = engine_->AddSource({{1, 2, 3}, {}}, {}).value();
  StepPlan plan;
  plan.encode.push_back({sources_[0], 2});
  StepResult result;
  ASSERT_TRUE(engine_->Step(plan, &result).ok());
  EXPECT_EQ(Read(sources_[0], tokens, "", &found), computed);
  EXPECT_EQ(found, 32);
}

TEST_P(KeptBlocksTest, TheLeastRecentlyUsedGoWhenTheRoomIsNeeded) {
  const int blocks = engine_->free_blocks();
  std::vector<std::vector<int32_t>> all;
  std::vector<std::vector<float>> computed;
  int found = 0;
  // Two blocks of each are kept.
  for (int i = 0; i < blocks; ++i) {
    all.push_back(RandomIds(40, 101, 100 + i));
    computed.push_back(Read(sources_[0], all[i], "", &found));
    EXPECT_EQ(found, 0);
    EXPECT_EQ(engine_->free_blocks(), blocks);
    EXPECT_EQ(Read(sources_[0], all[0], "", &found), computed[0]);
    EXPECT_EQ(found, 32) << i;  // used all the time
  }
  for (int i = 0; i < blocks; ++i) {
    EXPECT_EQ(Read(sources_[0], all[i], "", &found), computed[i]);
  }
  Read(sources_[0], all[1], "", &found);
  EXPECT_EQ(found, 0);
  Read(sources_[0], all[blocks - 1], "", &found);
  EXPECT_EQ(found, 32);
}

// Of a hypothesis that was not announced, and only what it has read.
TEST_P(KeptBlocksTest, KeepsWhatItIsTold) {
  int found = 0;
  const std::vector<float> computed =
      Decode(engine_.get(), sources_[0], tokens_, 1).back();
  Read(sources_[0], std::span(tokens_).first(3), "", &found);
  const HypothesisId hypothesis = engine_->AddHypothesis(sources_[0]);
  StepResult result;
  for (const int32_t& token : tokens_) {
    StepPlan plan;
    plan.decode.push_back({.hypothesis = hypothesis, .tokens = {&token, 1}});
    ASSERT_TRUE(engine_->Step(plan, &result).ok());
  }
  const HypothesisId fork = engine_->Fork(hypothesis);
  engine_->Keep(hypothesis, tokens_, "");
  engine_->Keep(fork, tokens_, "");
  engine_->ReleaseHypothesis(hypothesis);
  engine_->ReleaseHypothesis(fork);
  EXPECT_EQ(Read(sources_[0], tokens_, "", &found), computed);
  EXPECT_EQ(found, 32);
}

INSTANTIATE_TEST_SUITE_P(Formats, KeptBlocksTest,
                         ::testing::Values(kF32Formats, kInt8Formats));

TEST(TransformerTest, ACacheTooSmallForAnySequenceIsRefused) {
  const RandomTransformer random({}, 5);
  auto transformer = Transformer::Create(random.description(), kF32Formats);
  ASSERT_TRUE(transformer.ok());
  const auto engine = TransformerEngine::Create(*transformer, 1000);
  EXPECT_EQ(engine.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace trivium
