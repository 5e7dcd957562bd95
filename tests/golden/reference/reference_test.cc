// The goldens through ReferenceTransformer: before it judges the engine, it is
// judged itself.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/golden/described_golden.h"
#include "tests/support/reference_transformer.h"

namespace trivium {
namespace {

// The reference computes in double: what is left is the rounding of the
// golden's f32, which exceeds 1e-4 where a case's weights are large.
constexpr float kTolerance = 2e-4f;

std::vector<float> ToFloat(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

class ReferenceGoldenTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto described = DescribedGolden::Open(GetParam());
    ASSERT_TRUE(described.ok()) << described.status();
    described_ = *std::move(described);
    golden_ = described_.golden.get();
  }

  void ExpectMaps(int run, const std::string& name, size_t layers,
                  const std::vector<double>& maps) const {
    for (size_t layer = 0; layer < layers; ++layer) {
      const size_t size = maps.size() / layers;
      const TensorView* expected =
          golden_->Find(run, fmt::format("{}.{}", name, layer));
      if (expected == nullptr) continue;
      const std::vector<double> map(maps.begin() + layer * size,
                                    maps.begin() + (layer + 1) * size);
      EXPECT_EQ(CompareTensor(*expected, ToFloat(map), kTolerance),
                absl::OkStatus())
          << "run " << run << ", " << name << ", layer " << layer;
    }
  }

  void Compare(int run, const char* name, const Matrix& actual) const {
    const TensorView* expected = golden_->Find(run, name);
    if (expected == nullptr) return;
    EXPECT_EQ(CompareTensor(*expected, ToFloat(actual.data), kTolerance),
              absl::OkStatus())
        << "run " << run << ", " << name;
  }

  void CompareEncoder(int run,
                      const ReferenceTransformer::Encoded& encoded) const {
    Compare(run, "last_hidden_state", encoded.states);
    Compare(run, "pooler_output", encoded.pooled);
    Compare(run, "logits", encoded.logits);
    int column = 0;
    for (const char* name : {"start_logits", "end_logits"}) {
      if (golden_->Find(run, name) == nullptr) continue;
      Matrix logits(encoded.logits.rows, 1);
      for (int i = 0; i < logits.rows; ++i) {
        logits.row(i)[0] = encoded.logits.row(i)[column];
      }
      Compare(run, name, logits);
      ++column;
    }
    ExpectMaps(run, "attentions",
               described_.family.description.encoder->layer.size(),
               encoded.attention);
  }

  DescribedGolden described_;
  const GoldenCase* golden_ = nullptr;
};

TEST_P(ReferenceGoldenTest, EqualsTransformers) {
  const ReferenceTransformer reference(described_.family.description);
  int compared = 0;
  for (size_t i = 0; i < golden_->runs().size(); ++i) {
    const GoldenRun& run = golden_->runs()[i];
    const TensorView* states = golden_->Find(i, "encoder_last_hidden_state");
    const TensorView* logits = golden_->Find(i, "logits");
    if (golden_->kind() == "encoder") {
      CompareEncoder(i, reference.Encode(run.input_ids, run.type_ids));
      ++compared;
      continue;
    }
    if (golden_->kind() == "decoder") {
      const auto decoded = reference.Decode({}, run.input_ids);
      Compare(i, "logits", decoded.logits);
      ExpectMaps(i, "attentions",
                 described_.family.description.decoder->layer.size(),
                 decoded.self_attention);
      ++compared;
      continue;
    }
    if (states == nullptr || logits == nullptr) continue;
    const auto encoded = reference.Encode(run.input_ids);
    EXPECT_EQ(CompareTensor(*states, ToFloat(encoded.states.data), kTolerance),
              absl::OkStatus())
        << "run " << i;

    const auto decoded =
        reference.Decode(encoded.states, described_.Targets(run));
    EXPECT_EQ(CompareTensor(*logits, ToFloat(decoded.logits.data), kTolerance),
              absl::OkStatus())
        << "run " << i;
    ExpectMaps(i, "cross_attentions",
               described_.family.description.decoder->layer.size(),
               decoded.cross_attention);
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceGoldenTest,
                         ::testing::ValuesIn(GoldenFolders()), GoldenName);

}  // namespace
}  // namespace trivium
