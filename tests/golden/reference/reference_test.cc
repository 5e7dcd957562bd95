// The goldens through ReferenceTransformer: before it judges the engine, it is
// judged itself.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "model/families/registry.h"
#include "model/weights/json_file.h"
#include "tests/support/golden.h"
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
    auto golden = GoldenCase::Open(GetParam());
    ASSERT_TRUE(golden.ok()) << golden.status();
    golden_ = *std::move(golden);
    auto config = ReadJsonFile(golden_->model_folder() + "/config.json");
    ASSERT_TRUE(config.ok()) << config.status();
    auto weights = Weights::Open(golden_->model_folder());
    ASSERT_TRUE(weights.ok()) << weights.status();
    weights_ = *std::move(weights);
    const FamilyLoader load =
        FindFamily((*config)["model_type"].get<std::string>());
    ASSERT_NE(load, nullptr) << "unknown family " << (*config)["model_type"];
    Problems problems;
    family_ = load(*config, weights_.get(), &problems);
    ASSERT_EQ(problems, Problems());
    start_ = config->value("decoder_start_token_id", 0);
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
    ExpectMaps(run, "attentions", family_.description.encoder->layer.size(),
               encoded.attention);
  }

  std::unique_ptr<GoldenCase> golden_;
  std::unique_ptr<Weights> weights_;
  FamilyModel family_;
  int32_t start_ = 0;
};

TEST_P(ReferenceGoldenTest, EqualsTransformers) {
  const ReferenceTransformer reference(family_.description);
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
    if (states == nullptr || logits == nullptr) continue;
    const auto encoded = reference.Encode(run.input_ids);
    EXPECT_EQ(CompareTensor(*states, ToFloat(encoded.states.data), kTolerance),
              absl::OkStatus())
        << "run " << i;

    std::vector<int32_t> targets = run.decoder_input_ids;
    if (targets.empty()) {  // forced with the greedy result
      const auto greedy = std::find_if(
          run.searches.begin(), run.searches.end(),
          [](const auto& search) { return search.options.beam_size == 1; });
      ASSERT_NE(greedy, run.searches.end());
      targets = greedy->expected[0].ids;
      targets.insert(targets.begin(), start_);
      targets.pop_back();
    }
    const auto decoded = reference.Decode(encoded.states, targets);
    EXPECT_EQ(CompareTensor(*logits, ToFloat(decoded.logits.data), kTolerance),
              absl::OkStatus())
        << "run " << i;
    ExpectMaps(i, "cross_attentions", family_.description.decoder->layer.size(),
               decoded.cross_attention);
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

std::string CaseName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).filename().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !isalnum(c); },
      '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, ReferenceGoldenTest,
                         ::testing::ValuesIn(GoldenFolders()), CaseName);

}  // namespace
}  // namespace trivium
