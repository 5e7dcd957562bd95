// An engine's answers have the same bits for every number of threads; the tests
// use more threads than most machines have cores.
#include <algorithm>
#include <deque>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/runtime.h"
#include "model/transformer/shortlist.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

using Shape = RandomTransformer::Shape;
using Buckets = RelativeAttentionDescription::Buckets;

constexpr int kTeams[] = {2, 3, 8};
constexpr int kTeamVocabulary = 3500;  // several blocks of the projection

std::vector<Formats> AllFormats() {
  std::vector<Formats> formats = {kF32Formats, kInt8Formats};
  if (ActiveIsa() >= Isa::kAvx512Bf16) formats.push_back(kBf16Formats);
  return formats;
}

std::vector<int32_t> TeamIds(int count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids)
    id = static_cast<int32_t>(generator() % kTeamVocabulary);
  return ids;
}

// All numbers that a test reads from an engine, in order.
using Bits = std::vector<float>;
void Append(std::span<const float> values, Bits* bits) {
  bits->insert(bits->end(), values.begin(), values.end());
}

// Compares with the answers of one thread, if they depend on nothing else.
template <typename Answers>
void ExpectSameBits(const TransformerDescription& description,
                    const Answers& answers) {
  for (const Formats& formats : AllFormats()) {
    auto transformer = Transformer::Create(description, formats);
    ASSERT_TRUE(transformer.ok()) << transformer.status();
    if (!(*transformer)->batch_invariant()) {
      ASSERT_EQ(formats, kBf16Formats);
      continue;  // the division of rows would show
    }
    const auto engine = [&](int threads) {
      return TransformerEngine::Create(*transformer, 16 << 20, threads).value();
    };
    const Bits alone = answers(engine(1).get());
    ASSERT_FALSE(alone.empty());
    for (const int threads : kTeams) {
      SCOPED_TRACE(threads);
      EXPECT_TRUE(answers(engine(threads).get()) == alone);
    }
  }
}

// ------------------------------------------------------------- Encoders

class EncoderThreadsTest : public ::testing::TestWithParam<Shape> {};

// Few rows, whose columns threads split, and many, which they split themselves;
// one source and several; all layers at once and one at a time.
TEST_P(EncoderThreadsTest, BitsDoNotDependOnThem) {
  const RandomTransformer random(GetParam(), 1);
  ExpectSameBits(random.description(), [&](Engine* engine) {
    Bits bits;
    const SourceOptions options = {.states = States::kAll,
                                   .hidden_layers = {0, 1},
                                   .pooled = engine->limits().pooled_size > 0,
                                   .logits = engine->limits().head_outputs > 0,
                                   .attention = true,
                                   .selection = {}};
    for (const std::vector<int>& lengths :
         {std::vector<int>{1}, {37}, {3, 64, 17, 30, 1, 50, 26, 9}}) {
      StepPlan plan;
      for (const int tokens : lengths) {
        plan.encode.push_back(
            {engine->AddSource({TeamIds(tokens, tokens), {}}, options).value(),
             lengths.size() > 1 ? 1 : engine->limits().encoder_layers});
      }
      StepResult result;
      for (int i = 0; i < engine->limits().encoder_layers;
           i += plan.encode.front().layers) {
        EXPECT_TRUE(engine->Step(plan, &result).ok());
      }
      for (const StepPlan::Encode& encode : plan.encode) {
        Append(engine->EncoderStates(encode.source), &bits);
        Append(engine->HiddenStates(encode.source), &bits);
        Append(engine->PooledOutput(encode.source), &bits);
        Append(engine->HeadLogits(encode.source), &bits);
        Append(engine->EncoderAttention(encode.source), &bits);
        engine->ReleaseSource(encode.source);
      }
    }
    return bits;
  });
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, EncoderThreadsTest,
    ::testing::Values(
        // BERT
        Shape{.d_model = 192,
              .heads = 6,
              .feed_forward = 768,
              .decoder_layers = 0,
              .vocabulary = kTeamVocabulary,
              .activation = Activation::kGelu,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .type_vocabulary = 2,
              .pooler = true,
              .head = HeadKind::kClassify},
        // ALBERT
        Shape{.d_model = 128,
              .heads = 4,
              .feed_forward = 512,
              .encoder_layers = 3,
              .decoder_layers = 0,
              .vocabulary = kTeamVocabulary,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .embedding_width = 64,
              .distinct_layers = 1,
              .head = HeadKind::kFillMask},
        // DeBERTa
        Shape{.d_model = 192,
              .heads = 6,
              .feed_forward = 512,
              .decoder_layers = 0,
              .vocabulary = kTeamVocabulary,
              .positions = PositionEncoding::kNone,
              .embedding_norm = true,
              .relative = Buckets::kLogarithmic,
              .head = HeadKind::kTag},
        // ConvBERT
        Shape{.d_model = 192,
              .heads = 3,
              .head_size = 32,
              .feed_forward = 512,
              .decoder_layers = 0,
              .vocabulary = kTeamVocabulary,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .near_width = 9,
              .head = HeadKind::kTag},
        // MobileBERT
        Shape{.d_model = 256,
              .heads = 4,
              .feed_forward = 256,
              .decoder_layers = 0,
              .vocabulary = kTeamVocabulary,
              .norm_kind = NormTensors::Kind::kNone,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .embedding_width = 64,
              .bottleneck = 96,
              .shared_bottleneck = true,
              .earlier_feed_forwards = 3,
              .trigrams = true,
              .pooler = true,
              .head = HeadKind::kClassify},
        // LongT5
        Shape{.d_model = 128,
              .heads = 4,
              .window = 17,
              .feed_forward = 512,
              .decoder_layers = 0,
              .vocabulary = kTeamVocabulary,
              .norm_placement = RandomTransformer::NormPlacement::kBefore,
              .norm_kind = NormTensors::Kind::kRms,
              .positions = PositionEncoding::kNone,
              .final_norm = true,
              .relative = Buckets::kT5,
              .block = 2},
        // Longformer
        Shape{.d_model = 128,
              .heads = 4,
              .window = 9,
              .feed_forward = 512,
              .decoder_layers = 0,
              .vocabulary = kTeamVocabulary,
              .positions = PositionEncoding::kLearned,
              .embedding_norm = true,
              .global_tokens = GlobalTokens{},
              .head = HeadKind::kClassify},
        // Norms before sublayers, one head of keys for several of queries,
        // windows.
        Shape{.d_model = 128,
              .heads = 8,
              .kv_heads = 2,
              .window = 9,
              .feed_forward = 512,
              .decoder_layers = 0,
              .vocabulary = kTeamVocabulary,
              .gated = true,
              .norm_placement =
                  RandomTransformer::NormPlacement::kBeforeAndOfOutput,
              .final_norm = true}));

// ------------------------------------------------------------- Decoders

constexpr Shape kMarian = {.d_model = 192,
                           .heads = 6,
                           .feed_forward = 768,
                           .vocabulary = kTeamVocabulary,
                           .activation = Activation::kSwish};

// A design like LLaMA, Qwen 3 and Gemma 3.
constexpr Shape kRotary = {
    .d_model = 192,
    .heads = 6,
    .kv_heads = 2,
    .head_size = 40,
    .window = 12,
    .feed_forward = 512,
    .vocabulary = kTeamVocabulary,
    .activation = Activation::kSwish,
    .gated = true,
    .norm_placement = RandomTransformer::NormPlacement::kBeforeAndOfOutput,
    .norm_kind = NormTensors::Kind::kRms,
    .biases = false,
    .positions = PositionEncoding::kNone,
    .rotary_pairs = 16,
    .head_norms = true,
    .final_norm = true};

// A design like GPT-OSS.
constexpr Shape kExperts = {
    .d_model = 96,
    .heads = 4,
    .kv_heads = 1,
    .window = 12,
    .feed_forward = 128,
    .vocabulary = kTeamVocabulary,
    .experts = 6,
    .gate_clip = GateClip{.alpha = 1.702f, .limit = 7.0f},
    .norm_placement = RandomTransformer::NormPlacement::kBefore,
    .norm_kind = NormTensors::Kind::kRms,
    .positions = PositionEncoding::kNone,
    .rotary_pairs = 12,
    .sinks = true,
    .final_norm = true};

// GPT-Neo's bands, and OPT's narrow embeddings.
constexpr Shape kDecoderOnly = {
    .d_model = 192,
    .heads = 6,
    .window = 9,
    .feed_forward = 768,
    .encoder_layers = 0,
    .vocabulary = kTeamVocabulary,
    .activation = Activation::kGeluTanh,
    .norm_placement = RandomTransformer::NormPlacement::kBefore,
    .positions = PositionEncoding::kLearned,
    .final_norm = true,
    .embedding_width = 128};

void Append(const LogitsRow& row, Bits* bits) {
  for (const Candidate& candidate : row.best) {
    bits->push_back(static_cast<float>(candidate.token));
    bits->push_back(candidate.logit);
  }
  bits->push_back(row.rest_log_sum_exp);
  Append(row.watched, bits);
  Append(row.all, bits);
}

// Prefixes of several tokens, hypotheses that share a source and one with
// another; every kind of query.
Bits Decode(Engine* engine) {
  Bits bits;
  const std::vector<int32_t> watched = {0, 7, 1023, 1024, 2050, 3499};
  const LogitsQuery queries[] = {
      {.top_k = 5, .watched = watched}, {.top_k = 1}, kAllLogits};
  const AttentionSelection everything;
  for (const int count : {1, 6, 40}) {
    StepPlan plan;
    const bool has_encoder = engine->limits().encoder_layers > 0;
    std::vector<SourceId> sources;
    std::deque<std::vector<int32_t>> tokens;
    for (const int length : {33, 5}) {
      if (!has_encoder) break;
      sources.push_back(
          engine->AddSource({TeamIds(length, length), {}}, {}).value());
      plan.encode.push_back({sources.back(), engine->limits().encoder_layers});
    }
    for (int i = 0; i < count; ++i) {
      tokens.push_back(TeamIds(i % 3 == 0 ? 21 : 3, i));
      plan.decode.push_back(
          {.hypothesis = engine->AddHypothesis(
               has_encoder ? sources[i < count / 2] : kNoSource),
           .tokens = tokens.back(),
           .queries = queries,
           .states = true,
           .self_attention = i % 4 == 0 ? &everything : nullptr,
           .cross_attention =
               has_encoder && i % 4 == 1 ? &everything : nullptr});
    }
    for (int step = 0; step < 3; ++step) {
      StepResult result;
      EXPECT_TRUE(engine->Step(plan, &result).ok());
      for (const StepResult::Row& row : result.rows) {
        for (const LogitsRow& logits : row.logits) Append(logits, &bits);
        Append(row.states, &bits);
        Append(row.self_attention, &bits);
        Append(row.cross_attention, &bits);
      }
      plan.encode.clear();
      for (StepPlan::Decode& decode : plan.decode) {  // one token each
        decode.tokens = decode.tokens.first(1);
        decode.queries = std::span(queries).first(1);
      }
    }
    for (const StepPlan::Decode& decode : plan.decode) {
      engine->ReleaseHypothesis(decode.hypothesis);
    }
    for (const SourceId source : sources) engine->ReleaseSource(source);
  }
  return bits;
}

// Runs whole searches.
Bits Generate(Engine* engine) {
  Bits bits;
  for (const int beams : {1, 4}) {
    DecodingOptions options;
    options.beam_size = beams;
    options.hypotheses = beams;
    options.max_new_tokens = 12;
    for (const int tokens : {2, 40}) {
      std::vector<int32_t> ids = TeamIds(tokens, 90 + tokens);
      const auto found =
          engine->limits().encoder_layers > 0
              ? GenerateAlone(engine, {std::move(ids), {}}, {0}, options)
              : GenerateAlone(engine, {}, std::move(ids), options);
      EXPECT_TRUE(found.ok()) << found.status();
      for (const Hypothesis& hypothesis : *found) {
        bits.insert(bits.end(), hypothesis.ids.begin(), hypothesis.ids.end());
        bits.push_back(hypothesis.score);
        bits.push_back(hypothesis.log_probability);
      }
    }
  }
  return bits;
}

TEST(DecoderThreadsTest, BitsOfStepsDoNotDependOnThem) {
  Shape merged = kRotary;
  merged.merged = true;
  for (const Shape& shape : {kMarian, kRotary, kExperts, merged}) {
    ExpectSameBits(RandomTransformer(shape, 2).description(), Decode);
  }
}

TEST(DecoderThreadsTest, SearchesDoNotDependOnThem) {
  for (const Shape& shape : {kMarian, kRotary}) {
    ExpectSameBits(RandomTransformer(shape, 3).description(), Generate);
  }
}

TEST(DecoderThreadsTest, BitsWithoutAnEncoderDoNotDependOnThem) {
  const RandomTransformer random(kDecoderOnly, 6);
  ExpectSameBits(random.description(), Decode);
  ExpectSameBits(random.description(), Generate);
}

TEST(DecoderThreadsTest, BitsWithAShortlistDoNotDependOnThem) {
  const RandomTransformer random(kMarian, 4);
  Shortlist::Table table;
  table.always = TeamIds(1500, 5);
  std::sort(table.always.begin(), table.always.end());
  table.always.erase(std::unique(table.always.begin(), table.always.end()),
                     table.always.end());
  table.offsets.assign(kTeamVocabulary + 1, 0);
  TransformerDescription description = random.description();
  description.shortlist = Shortlist::Create(table, {}, kTeamVocabulary,
                                            kTeamVocabulary, kTeamVocabulary)
                              .value();
  ExpectSameBits(description, Decode);
  ExpectSameBits(description, Generate);
}

}  // namespace
}  // namespace trivium
