// The same promise for every family of decoders, where it is made: in the
// engine. The logits after each token of a text, and what a search asks of
// them, have the same bits alone and in a full batch, of one thread or several,
// and however the text is cut into steps.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "model/kernels/runtime.h"
#include "model/model.h"
#include "tests/support/golden.h"

namespace trivium {
namespace {

#ifdef TRIVIUM_FEW_INPUTS
constexpr int kTextCount = 7;
#else
constexpr int kTextCount = 33;
#endif
constexpr int64_t kFamilyCacheBytes = 16 << 20;
constexpr int kWatched[] = {3, 17};
constexpr LogitsQuery kEverything = {
    .top_k = 5, .watched = kWatched, .all = true};

using Text = std::vector<int32_t>;

// How texts are read.
struct Way {
  int threads = 1;
  bool together = true;  // else one after the other
  int chunk = 0;         // tokens of a step; 0: at random, 1 to 9
};

// The ways that are compared with texts read one after the other, in steps of
// 64 tokens. Together they have each number of threads, and each kind of step
// alone and together: all pairs of both, not all triples.
constexpr Way kWays[] = {
    {},
    {.threads = 3, .chunk = 1},
#ifndef TRIVIUM_FEW_INPUTS
    {.together = false, .chunk = 1},
    {.threads = 2, .chunk = 64},
    {.threads = 3, .together = false},
    {.threads = 8},
#endif
};

std::vector<Text> RandomTexts(const EngineLimits& limits) {
  std::mt19937 generator(31);
  const int longest = std::min(45, limits.max_target_tokens);
  std::vector<Text> texts(kTextCount);
  for (Text& text : texts) {
    text.resize(1 + generator() % longest);
    for (int32_t& id : text) {
      id = static_cast<int32_t>(generator() % limits.vocabulary);
    }
  }
  return texts;
}

// All numbers that the engine says of each text, as bits.
std::vector<std::vector<float>> ReadTexts(Engine* engine,
                                          const std::vector<Text>& texts,
                                          const Way& way) {
  std::mt19937 generator(way.threads * 100 + way.chunk);
  struct Reading {
    size_t text;
    HypothesisId hypothesis;
    size_t done = 0;
  };
  std::vector<std::vector<float>> numbers(texts.size());
  std::vector<Reading> readings;
  const std::vector<LogitsQuery> queries(64, kEverything);
  StepResult result;
  for (size_t next = 0; next < texts.size() || !readings.empty();) {
    // Some begin while others are under way.
    const size_t most = way.together ? readings.size() + 12 : 1;
    while (next < texts.size() && readings.size() < most) {
      readings.push_back({next++, engine->AddHypothesis(kNoSource)});
    }
    StepPlan plan;
    for (const Reading& reading : readings) {
      const std::span<const int32_t> rest =
          std::span(texts[reading.text]).subspan(reading.done);
      const size_t chunk = way.chunk > 0 ? way.chunk : 1 + generator() % 9;
      const auto tokens = rest.first(std::min(chunk, rest.size()));
      plan.decode.push_back({reading.hypothesis, tokens,
                             std::span(queries).first(tokens.size())});
    }
    const absl::Status status = engine->Step(plan, &result);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return {};
    for (size_t i = 0; i < readings.size(); ++i) {
      std::vector<float>& out = numbers[readings[i].text];
      for (const LogitsRow& row : result.rows[i].logits) {
        out.insert(out.end(), row.all.begin(), row.all.end());
        out.insert(out.end(), row.watched.begin(), row.watched.end());
        out.push_back(row.rest_log_sum_exp);
        for (const Candidate& best : row.best) {
          out.push_back(static_cast<float>(best.token));
          out.push_back(best.logit);
        }
      }
      readings[i].done += plan.decode[i].tokens.size();
    }
    std::erase_if(readings, [&](const Reading& reading) {
      if (reading.done < texts[reading.text].size()) return false;
      engine->ReleaseHypothesis(reading.hypothesis);
      return true;
    });
  }
  return numbers;
}

using FamilyCase = std::pair<std::string, Precision>;

std::vector<FamilyCase> FamilyCases() {
  std::vector<FamilyCase> cases;
  for (const std::string& folder : GoldenFolders()) {
    const auto golden = GoldenCase::Open(folder);
    if (!golden.ok() || (*golden)->kind() != "decoder") continue;
    for (const Precision precision : {Precision::kF32, Precision::kInt8}) {
      cases.emplace_back(folder, precision);
    }
  }
  return cases;
}

std::string FamilyName(const ::testing::TestParamInfo<FamilyCase>& info) {
  std::string name = fmt::format(
      "{}_{}", std::filesystem::path(info.param.first).filename().string(),
      PrecisionName(info.param.second));
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !isalnum(c); },
      '_');
  return name;
}

class FamilyInvarianceTest : public ::testing::TestWithParam<FamilyCase> {};

TEST_P(FamilyInvarianceTest, GivesTheSameLogitsForAnyBatchThreadsAndSteps) {
  const auto model =
      Model::Load(GetParam().first, {.precision = GetParam().second});
  ASSERT_TRUE(model.ok()) << model.status();
  if (!(*model)->info().batch_invariant) {
    GTEST_SKIP() << "skipped: invariance, which is not promised at "
                 << IsaName(ActiveIsa());
  }
  const auto read = [&](const Way& way, const std::vector<Text>& texts) {
    const auto engine = (*model)->NewEngine(
        {.kv_cache_bytes = kFamilyCacheBytes, .threads = way.threads});
    EXPECT_TRUE(engine.ok()) << engine.status();
    return ReadTexts(engine->get(), texts, way);
  };
  const auto engine =
      (*model)->NewEngine({.kv_cache_bytes = kFamilyCacheBytes});
  ASSERT_TRUE(engine.ok()) << engine.status();
  const std::vector<Text> texts = RandomTexts((*engine)->limits());
  const auto alone =
      ReadTexts(engine->get(), texts, {.together = false, .chunk = 64});
  for (const Way& way : kWays) {
    SCOPED_TRACE(fmt::format("{} threads, {}, steps of {} tokens", way.threads,
                             way.together ? "together" : "alone", way.chunk));
    const auto numbers = read(way, texts);
    ASSERT_EQ(numbers.size(), alone.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      ASSERT_EQ(numbers[i].size(), alone[i].size()) << "text " << i;
      ASSERT_EQ(std::memcmp(numbers[i].data(), alone[i].data(),
                            alone[i].size() * sizeof(float)),
                0)
          << "text " << i << " of " << texts[i].size() << " tokens";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, FamilyInvarianceTest,
                         ::testing::ValuesIn(FamilyCases()), FamilyName);

}  // namespace
}  // namespace trivium
