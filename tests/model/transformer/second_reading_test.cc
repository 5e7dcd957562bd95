// Sources that a decoder reads once more for the head, on random models,
// compared with the slow reference.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/transformer/transformer.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"
#include "tests/support/reference_transformer.h"

namespace trivium {
namespace {

using Input = HeadDescription::Input;

constexpr int32_t kEnd = 7;

// A random encoder-decoder whose decoder has become a second reading, with a
// head of as many labels as it has tokens.
struct Classifier {
  Classifier(const RandomTransformer::Shape& shape, uint32_t seed)
      : random(shape, seed), description(random.description()) {
    description.second_reading = {.stack = *description.decoder, .start_id = 5};
    description.decoder.reset();
    HeadDescription& head = description.head.emplace();
    head.kind = HeadKind::kClassify;
    head.input = Input::kLastToken;
    head.end_id = kEnd;
    head.output.weight = description.output_projection.weight;
    description.output_projection = {};
  }

  RandomTransformer random;
  TransformerDescription description;
};

const RandomTransformer::Shape kBart = {.activation = Activation::kGelu};
const RandomTransformer::Shape kDeep = {
    .decoder_layers = 3,
    .norm_placement = RandomTransformer::NormPlacement::kBefore,
    .norm_kind = NormTensors::Kind::kRms,
    .biases = false,
    .final_norm = true};

std::vector<int32_t> IdsOf(int tokens) {
  return RandomIds(tokens, 101, static_cast<uint32_t>(tokens));
}

TEST(SecondReadingTest, F32EqualsTheReference) {
  for (const auto& shape : {kBart, kDeep}) {
    Classifier model(shape, 1);
    for (const Input input : {Input::kLastToken, Input::kMean}) {
      model.description.head->input = input;
      const ReferenceTransformer reference(model.description);
      const auto engine = NewEngine(model.description, kF32Formats);
      for (const int tokens : {1, 5, 16, 17, 33, 64}) {
        std::vector<int32_t> ids = IdsOf(tokens);
        // With two ends, the last counts; without one, the last token.
        if (tokens > 5) ids[tokens / 2] = ids[1] = kEnd;
        const auto encoded = EncodeAlone(engine.get(), {ids, {}});
        ASSERT_TRUE(encoded.ok()) << encoded.status();
        const auto expected = reference.Encode(ids);
        ExpectClose(encoded->states, expected.states.data, "states");
        ExpectClose(encoded->logits, expected.logits.data, "logits");
      }
    }
  }
}

TEST(SecondReadingTest, Int8StaysNearTheReference) {
  for (const auto& shape : {kBart, kDeep}) {
    const Classifier model(shape, 2);
    const std::vector<int32_t> ids = IdsOf(33);
    const auto encoded = EncodeAlone(
        NewEngine(model.description, kInt8Formats).get(), {ids, {}});
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    const auto expected = ReferenceTransformer(model.description).Encode(ids);
    double products = 0, of_one = 0, of_other = 0;
    for (size_t i = 0; i < encoded->logits.size(); ++i) {
      const double one = encoded->logits[i], other = expected.logits.data[i];
      products += one * other;
      of_one += one * one;
      of_other += other * other;
    }
    EXPECT_GT(products / std::sqrt(of_one * of_other), 0.98);
  }
}

// Sources whose logits nobody wants are not read again, and change nothing.
TEST(SecondReadingTest, OtherSourcesDoNotChangeBits) {
  const Classifier model(kDeep, 3);
  for (const Formats& formats : {kF32Formats, kInt8Formats}) {
    const auto engine = NewEngine(model.description, formats);
    const int layers = engine->limits().encoder_layers;
    const std::vector<int> lengths = {3, 40, 17, 1, 64, 29, 8};
    StepPlan plan;
    std::vector<SourceId> sources;
    for (size_t i = 0; i < lengths.size(); ++i) {
      sources.push_back(engine
                            ->AddSource({IdsOf(lengths[i]), {}},
                                        {.states = i % 2 == 0 ? States::kNone
                                                              : States::kFirst,
                                         .logits = i % 3 != 1,
                                         .selection = {}})
                            .value());
      plan.encode.push_back({sources.back(), 1});
    }
    StepResult result;
    for (int i = 0; i < layers; ++i) {
      ASSERT_TRUE(engine->Step(plan, &result).ok());
    }
    for (size_t i = 0; i < lengths.size(); ++i) {
      const auto alone = EncodeAlone(engine.get(), {IdsOf(lengths[i]), {}});
      ASSERT_TRUE(alone.ok()) << alone.status();
      if (i % 3 == 1) {
        EXPECT_TRUE(engine->HeadLogits(sources[i]).empty());
      } else {
        EXPECT_TRUE(
            std::ranges::equal(engine->HeadLogits(sources[i]), alone->logits))
            << lengths[i];
      }
    }
  }
}

TEST(SecondReadingTest, MovesNoBlocksOfACache) {
  const Classifier model(kBart, 4);
  const auto engine = NewEngine(model.description, kF32Formats);
  EXPECT_EQ(engine->limits().total_blocks, 0);
  EXPECT_EQ(engine->limits().decoder_layers, 0);
}

}  // namespace
}  // namespace trivium
