// Every golden case through Model::Load and Engine in bf16.
//
// How far bf16 may be off follows from the model: each rounding is off by up to
// 2^-8 of its number, and what becomes of that depends on how deep the model is
// and what its layers amplify. So the bound is what such roundings do: the
// reference computes the case several times in bf16, rounding every number up
// or down at random (Monte Carlo arithmetic: Parker, Pierce and Eggert, 2000),
// and the standard deviation of its outputs is estimated. Rounding to the
// nearest has half of that variance. Six of its standard deviations are
// allowed: with as few samples the estimate may be as low as six tenths of the
// truth, and more than 3.6 of the true ones occur once in 3,000 times.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/isa.h"
#include "model/kernels/attention.h"
#include "model/kernels/runtime.h"
#include "model/model.h"
#include "tests/golden/described_golden.h"
#include "tests/support/generate.h"
#include "tests/support/reference_transformer.h"

namespace trivium {
namespace {

constexpr int kSamples = 8;
// Inputs of a case; the later ones teach little more.
constexpr size_t kRuns = 2;

double MostDifference(const std::vector<double>& a,
                      const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(a[i] - b[i]);
    if (!(difference <= most)) most = difference;  // NaN counts
  }
  return most;
}

// What rounding does to an output, by samples of it.
class Spread {
 public:
  explicit Spread(const std::vector<double>& exact)
      : exact_(exact), squares_(exact.size()) {}

  void Add(const std::vector<double>& sample) {
    for (size_t i = 0; i < squares_.size(); ++i) {
      squares_[i] += (sample[i] - exact_[i]) * (sample[i] - exact_[i]);
    }
    ++samples_;
  }
  double Bound() const {
    const double most = *std::max_element(squares_.begin(), squares_.end());
    return 6 * std::sqrt(most / samples_ / 2);
  }

 private:
  const std::vector<double>& exact_;
  std::vector<double> squares_;
  int samples_ = 0;
};

class Bf16GoldenTest : public ::testing::TestWithParam<std::string> {
 protected:
  // What a case's model makes of a run, as f64.
  struct Outputs {
    std::vector<double> states;
    std::vector<double> logits;
  };

  Outputs Reference(const GoldenRun& run, const reference::Numbers& numbers) {
    const ReferenceTransformer reference(described_.family.description, numbers,
                                         numbers);
    const std::string& kind = described_.golden->kind();
    if (kind == "decoder") {
      auto decoded = reference.Decode({}, run.input_ids);
      return {decoded.states.data, decoded.logits.data};
    }
    auto encoded = reference.Encode(run.input_ids, run.type_ids);
    if (kind == "encoder") return {encoded.states.data, encoded.logits.data};
    const auto targets = described_.Targets(run);
    return {encoded.states.data,
            reference.Decode(encoded.states, targets).logits.data};
  }

  Outputs Actual(const GoldenRun& run) {
    const auto as_double = [](const std::vector<float>& values) {
      return std::vector<double>(values.begin(), values.end());
    };
    const std::string& kind = described_.golden->kind();
    EncodedSource encoded;
    if (kind != "decoder") {
      encoded =
          EncodeAlone(engine_.get(), {run.input_ids, run.type_ids}).value();
      if (kind == "encoder") {
        return {as_double(encoded.states), as_double(encoded.logits)};
      }
    }
    const bool decoder_only = kind == "decoder";
    const std::vector<int32_t> targets =
        decoder_only ? run.input_ids : described_.Targets(run);
    const EncoderInput source =
        decoder_only ? EncoderInput() : EncoderInput{run.input_ids, {}};
    const auto forced = ForceTargets(engine_.get(), source, targets, 1).value();
    return {as_double(encoded.states), as_double(forced.logits)};
  }

  DescribedGolden described_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(Bf16GoldenTest, IsOffByNoMoreThanRounding) {
  if (ActiveIsa() < Isa::kAvx512Bf16) {
    GTEST_SKIP() << "skipped: goldens in bf16, which needs AVX512_BF16 or AMX";
  }
  auto described = DescribedGolden::Open(GetParam());
  ASSERT_TRUE(described.ok()) << described.status();
  described_ = *std::move(described);
  LoadOptions options;
  options.precision = Precision::kBf16;
  auto model = Model::Load(described_.golden->model_folder(), options);
  ASSERT_TRUE(model.ok()) << model.status();
  model_ = *std::move(model);
  engine_ = model_->NewEngine({.kv_cache_bytes = int64_t{64} << 20}).value();

  std::mt19937 random(1);
  const reference::Numbers bf16 = {
      .operands = OperandType::kBf16,
      .kv = KvType::kBf16,
      .rounds_queries = RoundsQueries(KvType::kBf16),
      .smoothing = {},
      .random = &random};
  const std::vector<GoldenRun>& runs = described_.golden->runs();
  for (size_t i = 0; i < std::min(runs.size(), kRuns); ++i) {
    SCOPED_TRACE(fmt::format("run {}", i));
    const Outputs exact = Reference(runs[i], {});
    Spread states(exact.states), logits(exact.logits);
    for (int sample = 0; sample < kSamples; ++sample) {
      const Outputs rounded = Reference(runs[i], bf16);
      states.Add(rounded.states);
      logits.Add(rounded.logits);
    }
    const Outputs actual = Actual(runs[i]);
    if (!actual.states.empty()) {
      const double error = MostDifference(actual.states, exact.states);
      EXPECT_LE(error, states.Bound());
      EXPECT_GT(error, states.Bound() / 100) << "more exact than bf16 can be";
    }
    if (!actual.logits.empty()) {
      EXPECT_LE(MostDifference(actual.logits, exact.logits), logits.Bound());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Bf16GoldenTest,
                         ::testing::ValuesIn(GoldenFolders()), GoldenName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16GoldenTest);

}  // namespace
}  // namespace trivium
