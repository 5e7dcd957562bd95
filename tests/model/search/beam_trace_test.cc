// A trace must agree with the search that made it. Everything in it is checked
// against the results and against itself.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/search/decoding.h"
#include "tests/model/search/random_options.h"
#include "tests/model/search/toy_model.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

struct TracedSearch {
  std::vector<Hypothesis> results;
  std::optional<BeamTrace> trace;
  // [steps] the running hypotheses after each step, new tokens only.
  std::vector<std::vector<std::vector<int32_t>>> running;
};

TracedSearch Search(const DecodingOptions& options,
                    const std::vector<int32_t>& prefix, const StopMatcher* stop,
                    const ToyModel& model) {
  auto decoding = Decoding::Create(options, prefix, stop).value();
  std::vector<std::vector<int32_t>> live = {{}};
  TracedSearch search;
  while (!decoding->done()) {
    std::vector<std::unique_ptr<RowAnswer>> answers;
    std::vector<LogitsRow> rows;
    for (size_t i = 0; i < live.size(); ++i) {
      std::vector<int32_t> history = prefix;
      history.insert(history.end(), live[i].begin(), live[i].end());
      answers.push_back(std::make_unique<RowAnswer>(model.Logits(history),
                                                    decoding->queries()[i]));
      rows.push_back(answers.back()->row());
    }
    decoding->Advance(rows);
    std::vector<std::vector<int32_t>> next;
    for (const Decoding::Continuation& one : decoding->continuations()) {
      next.push_back(live.at(one.parent));
      next.back().push_back(one.token);
    }
    live = std::move(next);
    search.running.push_back(live);
  }
  search.results = decoding->TakeResults();
  search.trace = decoding->TakeTrace();
  return search;
}

std::vector<int32_t> TokensOf(const BeamTrace& trace, int step, int place) {
  std::vector<int32_t> tokens;
  for (; step >= 0; --step) {
    const BeamTrace::Candidate& one = trace.steps[step].at(place);
    tokens.insert(tokens.begin(), one.token);
    place = one.parent;
  }
  return tokens;
}

void ExpectTrue(const TracedSearch& search, const DecodingOptions& options) {
  ASSERT_TRUE(search.trace.has_value());
  const BeamTrace& trace = *search.trace;
  EXPECT_FALSE(trace.truncated);
  const size_t beam = options.beam_size;
  std::map<int, std::vector<int32_t>> results;
  size_t ended = 0;
  for (size_t s = 0; s < trace.steps.size(); ++s) {
    const auto& step = trace.steps[s];
    const bool last = s + 1 == search.running.size();
    std::vector<std::vector<int32_t>> running;
    double worst = 0;
    for (size_t i = 0; i < step.size(); ++i) {
      const BeamTrace::Candidate& one = step[i];
      if (i > 0) {
        EXPECT_LE(one.log_probability, step[i - 1].log_probability);
      }
      double before = 0;
      if (s > 0) {
        const BeamTrace::Candidate& parent = trace.steps[s - 1].at(one.parent);
        before = parent.log_probability;
        EXPECT_EQ(parent.fate, BeamFate::kContinued);
      }
      EXPECT_NEAR(before + one.logprob, one.log_probability, 1e-9);
      const std::vector<int32_t> tokens = TokensOf(trace, s, i);
      EXPECT_EQ(tokens.size(), s + 1);
      switch (one.fate) {
        case BeamFate::kStopped:
          EXPECT_TRUE(last);
          worst = one.log_probability;
          break;
        case BeamFate::kContinued:
          running.push_back(tokens);
          worst = one.log_probability;
          break;
        case BeamFate::kPruned:
          EXPECT_LE(one.log_probability, worst);
          EXPECT_GE(i, beam);
          break;
        case BeamFate::kEndedTooLow:
          EXPECT_GE(i, beam);
          break;
        case BeamFate::kEnded:
          ++ended;
          break;
        case BeamFate::kOutscored:
          // All results are better.
          for (const Hypothesis& result : search.results) {
            EXPECT_GE(result.score, static_cast<float>(one.score) - 1e-6);
          }
          break;
      }
      if (one.hypothesis >= 0) {
        EXPECT_EQ(one.fate, BeamFate::kEnded);
        results[one.hypothesis] = tokens;
        EXPECT_EQ(static_cast<float>(one.score),
                  search.results.at(one.hypothesis).score);
      }
    }
    // They are in the order in which they run, unless the rules leave no token:
    // then the running hypotheses end after all.
    const bool stuck = s + 1 == trace.steps.size() &&
                       search.running.size() > trace.steps.size();
    if (!stuck) {
      EXPECT_EQ(running, search.running[s]);
    }
    EXPECT_LE(running.size(), beam);
  }
  EXPECT_LE(ended, beam);
  size_t empty = 0;  // results where the rules leave no token at all
  for (size_t i = 0; i < search.results.size(); ++i) {
    if (search.results[i].ids.empty()) {
      ++empty;
      continue;
    }
    EXPECT_EQ(results[i], search.results[i].ids) << i;
  }
  EXPECT_EQ(results.size(), search.results.size() - empty);
}

TEST(BeamTraceTest, AgreesWithRandomSearches) {
  for (int seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("case " + std::to_string(seed));
    RandomCase random(seed, /*ties=*/seed % 3 == 0);
    DecodingOptions& options = random.options;
    options.beam_size = random.Int(2, 6);
    options.hypotheses = random.Int(1, options.beam_size);
    options.early_stopping = static_cast<EarlyStopping>(random.Int(0, 2));
    std::optional<SequenceMatcher> stop;
    if (seed % 4 == 0) {
      stop.emplace(std::vector<int32_t>{random.Token()});
    }
    const SequenceMatcher* matcher = stop ? &*stop : nullptr;
    const TracedSearch plain =
        Search(options, random.prefix, matcher, random.model);
    EXPECT_FALSE(plain.trace.has_value());
    options.trace = true;
    const TracedSearch traced =
        Search(options, random.prefix, matcher, random.model);
    ExpectTrue(traced, options);
    // Tracing does not change the results.
    ASSERT_EQ(plain.results.size(), traced.results.size());
    for (size_t i = 0; i < plain.results.size(); ++i) {
      EXPECT_EQ(plain.results[i].ids, traced.results[i].ids);
      EXPECT_EQ(plain.results[i].score, traced.results[i].score);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(BeamTraceTest, NamesEachFate) {
  DecodingOptions options;
  options.beam_size = 2;
  options.hypotheses = 1;
  options.max_new_tokens = 2;
  options.end_ids = {0};
  options.trace = true;
  // In every row token 1 is best, then the end (0), then 2 and 3.
  auto decoding = Decoding::Create(options, {3}, nullptr).value();
  while (!decoding->done()) {
    std::vector<std::unique_ptr<RowAnswer>> answers;
    std::vector<LogitsRow> rows;
    for (const LogitsQuery& query : decoding->queries()) {
      answers.push_back(
          std::make_unique<RowAnswer>(std::vector<float>{2, 3, 1, 0}, query));
      rows.push_back(answers.back()->row());
    }
    decoding->Advance(rows);
  }
  decoding->TakeResults();
  const BeamTrace trace = *decoding->TakeTrace();
  ASSERT_EQ(trace.steps.size(), 2u);
  const auto fates = [&trace](int step) {
    std::vector<BeamFate> all;
    for (const auto& one : trace.steps[step]) all.push_back(one.fate);
    return all;
  };
  // 1 continues, the end ends, 2 fills the second place, 3 gets none.
  EXPECT_THAT(fates(0), ElementsAre(BeamFate::kContinued, BeamFate::kOutscored,
                                    BeamFate::kContinued, BeamFate::kPruned));
  // max_new_tokens ends everything: [1 1] and [1 0] score better than [0], and
  // only the first of them was requested.
  EXPECT_THAT(fates(1),
              ElementsAre(BeamFate::kEnded, BeamFate::kEnded,
                          BeamFate::kEndedTooLow, BeamFate::kEndedTooLow));
  EXPECT_EQ(trace.steps[1][0].hypothesis, 0);
  EXPECT_EQ(trace.steps[1][1].hypothesis, -1);
  EXPECT_EQ(trace.steps[0][1].hypothesis, -1);
}

TEST(BeamTraceTest, StopsRecordingAtItsLimit) {
  DecodingOptions options;
  options.beam_size = 16;
  options.max_new_tokens = 2000;
  options.trace = true;
  ToyModel model;
  model.vocabulary = 40;
  const TracedSearch search = Search(options, {0}, nullptr, model);
  ASSERT_TRUE(search.trace.has_value());
  EXPECT_TRUE(search.trace->truncated);
  size_t candidates = 0;
  for (const auto& step : search.trace->steps) {
    EXPECT_FALSE(step.empty());
    candidates += step.size();
  }
  EXPECT_GE(candidates, kMaxTraceCandidates);
  EXPECT_LE(candidates, kMaxTraceCandidates + 2 * 16);
  EXPECT_EQ(search.results[0].ids.size(), 2000u);
}

TEST(BeamTraceTest, NeedsABeamSearch) {
  DecodingOptions options;
  options.trace = true;
  const absl::Status status = Decoding::Create(options, {0}, nullptr).status();
  EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument, "trace"));
}

}  // namespace
}  // namespace trivium
