#include "model/engine.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/attention.h"
#include "model/transformer/transformer.h"
#include "tests/model/transformer/random_engine.h"
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
         .query = {.all = true}});
    EXPECT_TRUE(engine->Step(plan, &result).ok());
    const auto all = result.rows[0].logits.all;
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
  const std::unique_ptr<Engine> engine = NewEngine(random, Arithmetic::kF32);
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
                           .query = {.all = true},
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
    ExpectClose(result.rows[0].logits.all,
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
  for (const Arithmetic arithmetic : {Arithmetic::kF32, Arithmetic::kInt8}) {
    const std::unique_ptr<Engine> engine = NewEngine(random, arithmetic);
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
              .norm_placement = NormPlacement::kBefore,
              .final_norm = true},
        Shape{.d_model = 40,
              .heads = 5,
              .encoder_layers = 1,
              .decoder_layers = 3,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .tied = false}));

// Sequences of many lengths, all in the same iterations, against each alone.
TEST(EngineBatchTest, RowsDoNotSeeEachOther) {
  const RandomTransformer random(
      {.d_model = 64, .heads = 4, .feed_forward = 128, .vocabulary = 1500}, 3);
  for (const Arithmetic arithmetic : {Arithmetic::kF32, Arithmetic::kInt8}) {
    const std::unique_ptr<Engine> engine =
        NewEngine(random, arithmetic, 16 << 20);
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
                               .query = {.all = true}});
      }
      ASSERT_TRUE(engine->Step(plan, &result).ok());
      for (size_t m = 0; m < members.size(); ++m) {
        const auto all = result.rows[m].logits.all;
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
        engine_(NewEngine(random_, Arithmetic::kF32,
                          4 * 2 * KvTileBytes({KvType::kF32, 2, 16}))) {
    source_ = engine_->AddSource({{1, 2, 3}, {}}, {}).value();
    plan_.encode.push_back({source_, 2});
    EXPECT_TRUE(engine_->Step(plan_, &result_).ok());
    plan_.Clear();
  }

  void Append(HypothesisId hypothesis, std::span<const int32_t> tokens) {
    plan_.decode.push_back(
        {.hypothesis = hypothesis, .tokens = tokens, .query = {.all = true}});
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
  const std::vector<float> of_child(result_.rows[1].logits.all.begin(),
                                    result_.rows[1].logits.all.end());
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

TEST(TransformerTest, ACacheTooSmallForOneSequenceIsRefused) {
  const RandomTransformer random({}, 5);
  auto transformer =
      Transformer::Create(random.description(), Arithmetic::kF32);
  ASSERT_TRUE(transformer.ok());
  const auto engine = Transformer::NewEngine(*transformer, 1000);
  EXPECT_EQ(engine.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace trivium
