// T5 has a few numbers that are far greater than the others, which int8 must
// not lose the others for (rotation.h).
#include <cmath>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/transformer/rotation.h"
#include "tests/model/transformer/random_engine.h"

namespace trivium {
namespace {

using NormPlacement = RandomTransformer::NormPlacement;
using Shape = RandomTransformer::Shape;

constexpr float kHiddenFactor = 50, kNormFactor = 30;
constexpr int kOneIn = 32;  // so many dimensions have one outlier
constexpr size_t kTargetTokens = 20;

// A description with outliers that change nothing of what it computes: some
// dimensions of norms, and of what is between a feed-forward's products, are
// multiplied, and what reads them divided.
class WithOutliers {
 public:
  explicit WithOutliers(const TransformerDescription& plain)
      : description_(plain) {
    for (StackDescription* stack :
         {&*description_.encoder, &*description_.decoder}) {
      for (LayerDescription& layer : stack->layer) AddTo(&layer);
    }
  }
  const TransformerDescription& description() const { return description_; }

 private:
  using Dimensions = std::vector<bool>;

  void AddTo(LayerDescription* layer) {
    AttentionDescription& self = layer->self_attention;
    ScaleNorm(&*layer->self_attention_norms.before,
              {&self.query, &self.key, &self.value});
    if (layer->cross_attention.has_value()) {
      ScaleNorm(&*layer->cross_attention_norms.before,
                {&layer->cross_attention->query});
    }
    std::vector<LinearTensors*> first = {&layer->up};
    if (layer->gate.has_value()) first.push_back(&*layer->gate);
    ScaleNorm(&*layer->feed_forward_norms.before, first);
    const Dimensions chosen = Choose(layer->up.weight->shape[0]);
    layer->up.weight = Scaled(*layer->up.weight, [&](int64_t row, int64_t) {
      return chosen[row] ? kHiddenFactor : 1;
    });
    DivideColumns(chosen, kHiddenFactor, &layer->down);
  }

  void ScaleNorm(NormTensors* norm,
                 const std::vector<LinearTensors*>& readers) {
    const Dimensions chosen = Choose(norm->weight->shape[0]);
    norm->weight = Scaled(*norm->weight, [&](int64_t, int64_t column) {
      return chosen[column] ? kNormFactor : 1;
    });
    for (LinearTensors* reader : readers) {
      DivideColumns(chosen, kNormFactor, reader);
    }
  }

  void DivideColumns(const Dimensions& chosen, float factor,
                     LinearTensors* linear) {
    linear->weight = Scaled(*linear->weight, [&](int64_t, int64_t column) {
      return chosen[column] ? 1 / factor : 1;
    });
  }

  Dimensions Choose(int64_t size) {
    Dimensions chosen(size);
    for (int64_t i = 0; i < size / kOneIn; ++i) {
      chosen[generator_() % size] = true;
    }
    return chosen;
  }

  template <typename Factor>
  const TensorView* Scaled(const TensorView& tensor, const Factor& factor) {
    std::vector<float>& values = values_.emplace_back(tensor.elements());
    CopyToF32(tensor, 0, values);
    const int64_t columns = tensor.shape.back();
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      values[i] *= factor(i / columns, i % columns);
    }
    return &tensors_.emplace_back(
        TensorView{DType::kF32, tensor.shape,
                   std::as_bytes(std::span<const float>(values))});
  }

  TransformerDescription description_;
  std::deque<std::vector<float>> values_;
  std::deque<TensorView> tensors_;
  std::mt19937 generator_{3};
};

// Logits of each of some targets behind a source.
std::vector<float> Logits(const TransformerDescription& description,
                          const Formats& formats, int vocabulary) {
  const auto engine = NewEngine(description, formats);
  const SourceId source =
      engine->AddSource({RandomIds(16, vocabulary, 1), {}}, {}).value();
  StepPlan plan;
  plan.encode.push_back({source, description.encoder->layers});
  StepResult result;
  EXPECT_TRUE(engine->Step(plan, &result).ok());
  std::vector<float> all;
  for (const std::vector<float>& logits : Decode(
           engine.get(), source, RandomIds(kTargetTokens, vocabulary, 2), 1)) {
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

double RootMeanSquare(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Of int8's logits, as a share of f32's.
double Error(const std::vector<float>& f32, std::vector<float> int8) {
  for (size_t i = 0; i < f32.size(); ++i) int8[i] -= f32[i];
  return RootMeanSquare(int8) / RootMeanSquare(f32);
}

Shape T5(bool gated) {
  return {.d_model = 128,
          .heads = 4,
          .feed_forward = 512,
          .gated = gated,
          .norm_placement = NormPlacement::kBefore,
          .norm_kind = NormTensors::Kind::kRms,
          .biases = false,
          .final_norm = true};
}

class OutliersTest : public ::testing::TestWithParam<bool> {};

TEST_P(OutliersTest, CostInt8Little) {
  const Shape shape = T5(GetParam());
  const RandomTransformer plain(shape, 4);
  const WithOutliers odd(plain.description());
  const auto logits = [&](const TransformerDescription& description,
                          const Formats& formats) {
    return Logits(description, formats, shape.vocabulary);
  };
  const std::vector<float> exact = logits(plain.description(), kF32Formats);
  // The same function.
  EXPECT_LT(Error(exact, logits(odd.description(), kF32Formats)), 1e-5);
  const double usual = Error(exact, logits(plain.description(), kInt8Formats));
  const double with = Error(exact, logits(odd.description(), kInt8Formats));
  EXPECT_GT(usual, 0);
  EXPECT_LT(with, 2 * usual);
}

INSTANTIATE_TEST_SUITE_P(PlainAndGated, OutliersTest, ::testing::Bool());

TEST(RotatesTest, WhereLayersPassOnSums) {
  const auto rotates = [](const Shape& shape) {
    return Rotates(RandomTransformer(shape, 1).description(), kInt8Formats);
  };
  EXPECT_TRUE(rotates(T5(/*gated=*/false)));
  EXPECT_FALSE(rotates({.norm_placement = NormPlacement::kAfter}));
  EXPECT_TRUE(rotates({.encoder_layers = 0}));
  EXPECT_FALSE(
      rotates({.decoder_layers = 0, .norm_placement = NormPlacement::kBefore}));
  EXPECT_FALSE(
      Rotates(RandomTransformer(T5(false), 1).description(), kBf16Formats));
}

}  // namespace
}  // namespace trivium
