#include "client/load/workload.h"

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_split.h"
#include "client/load/abort_plan.h"
#include "gmock/gmock.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

v1::Input Text(const std::string& text) {
  v1::Input input;
  input.set_text(text);
  return input;
}

TEST(ParseMixTest, ReadsNamesAndWeights) {
  const auto mix = ParseMix("translate=8,encode=2");
  ASSERT_TRUE(mix.ok()) << mix.status();
  ASSERT_EQ(mix->size(), 2u);
  EXPECT_EQ((*mix)[0].kind, CallKind::kTranslate);
  EXPECT_EQ((*mix)[0].weight, 8);
  EXPECT_EQ((*mix)[1].kind, CallKind::kEncode);
  EXPECT_EQ((*mix)[1].weight, 2);
}

TEST(ParseMixTest, SaysWhatIsWrong) {
  const auto is_error_at = [](const char* place) {
    return IsError(absl::StatusCode::kInvalidArgument, place);
  };
  EXPECT_THAT(ParseMix("fly=1"), is_error_at("'fly'"));
  EXPECT_THAT(ParseMix(""), is_error_at("''"));
  EXPECT_THAT(ParseMix("encode"), is_error_at("weight"));
  EXPECT_THAT(ParseMix("encode=0"), is_error_at("weight"));
  EXPECT_THAT(ParseMix("encode=1.5"), is_error_at("weight"));
  EXPECT_THAT(ParseMix("encode=1,encode=2"), is_error_at("twice"));
}

TEST(ParseLengthsTest, ReadsRangesAndLists) {
  EXPECT_THAT(*ParseLengths("3-6"), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(*ParseLengths("16"), ElementsAre(16));
  EXPECT_THAT(*ParseLengths("1-2,64"), ElementsAre(1, 2, 64));
  for (const char* bad : {"", "0", "5-2", "-3", "x", "1-", "1-200000", "1,"}) {
    EXPECT_THAT(ParseLengths(bad),
                IsError(absl::StatusCode::kInvalidArgument, "length"))
        << bad;
  }
}

TEST(WorkloadTest, UsesLinesInTurn) {
  Workload::Options options;
  options.inputs = {Text("a"), Text("b"), Text("c")};
  options.inputs_per_call = 2;
  const Workload workload(options);
  std::string read;
  for (int i = 0; i < 3; ++i) {
    for (const v1::Input& input : workload.Plan(i).inputs) read += input.text();
  }
  EXPECT_EQ(read, "abcabc");
}

// Draws each kind as often as its weight says, within five standard deviations
// of a binomial distribution. Drawing again gives the same calls.
TEST(WorkloadTest, DrawsCallsByTheirWeights) {
  Workload::Options options;
  options.inputs = {Text("a")};
  options.mix = *ParseMix("translate=6,encode=3,model=1");
  const Workload workload(options), again(options);
  constexpr int kCount = 10000;
  std::map<CallKind, int> counts;
  for (int i = 0; i < kCount; ++i) {
    const PlannedCall call = workload.Plan(i);
    EXPECT_EQ(call.kind, again.Plan(i).kind);
    EXPECT_EQ(call.inputs.size(), call.kind == CallKind::kModel ? 0u : 1u);
    ++counts[call.kind];
  }
  const auto expect = [&](CallKind kind, double part) {
    EXPECT_NEAR(counts[kind], part * kCount,
                5 * std::sqrt(kCount * part * (1 - part)));
  };
  expect(CallKind::kTranslate, 0.6);
  expect(CallKind::kEncode, 0.3);
  expect(CallKind::kModel, 0.1);
  options.seed = 2;
  const Workload other(options);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    differs |= workload.Plan(i).kind != other.Plan(i).kind;
  }
  EXPECT_TRUE(differs);
}

TEST(WorkloadTest, MakesTextsOfTheGivenLengths) {
  Workload::Options options;
  options.inputs = {Text("one two\tthree"), Text(""), Text("  four five ")};
  options.lengths = {2, 7};
  const Workload workload(options);
  std::set<size_t> lengths;
  std::set<std::string> firsts;
  for (int i = 0; i < 200; ++i) {
    const PlannedCall call = workload.Plan(i);
    const std::vector<std::string> words =
        absl::StrSplit(call.inputs.at(0).text(), ' ');
    lengths.insert(words.size());
    firsts.insert(words[0]);
    // Words in their order, beginning again after the last.
    static const std::map<std::string, std::string> kNext = {{"one", "two"},
                                                             {"two", "three"},
                                                             {"three", "four"},
                                                             {"four", "five"},
                                                             {"five", "one"}};
    for (size_t w = 1; w < words.size(); ++w) {
      EXPECT_EQ(words[w], kNext.at(words[w - 1]));
    }
  }
  EXPECT_THAT(lengths, ElementsAre(2, 7));
  EXPECT_EQ(firsts.size(), 5u);
}

TEST(WorkloadTest, MakesIdsOfTheGivenLengths) {
  Workload::Options options;
  for (const uint32_t id : {7, 8}) {
    options.inputs.emplace_back().mutable_ids()->add_ids(id);
  }
  options.lengths = {5};
  const v1::Input input = Workload(options).Plan(0).inputs.at(0);
  EXPECT_EQ(input.ids().ids_size(), 5);
}

TEST(AbortPlanTest, AbortsAShareOfTheCallsAtRandomTimes) {
  AbortPlan plan(0.25, 1);
  plan.Ended(CallKind::kEncode, absl::Seconds(2));
  plan.Ended(CallKind::kTranslate, absl::Seconds(40));
  constexpr int kCount = 10000;
  int aborted = 0;
  double sum = 0;
  for (int i = 0; i < kCount; ++i) {
    const absl::Duration after = plan.After(i, CallKind::kEncode);
    if (after == absl::InfiniteDuration()) continue;
    ++aborted;
    EXPECT_GE(after, absl::ZeroDuration());
    EXPECT_LT(after, absl::Seconds(2));
    sum += absl::ToDoubleSeconds(after);
  }
  EXPECT_NEAR(aborted, 0.25 * kCount, 5 * std::sqrt(kCount * 0.25 * 0.75));
  // The mean of a uniform distribution, within five standard errors.
  EXPECT_NEAR(sum / aborted, 1, 5 * 2 / std::sqrt(12.0 * aborted));
}

TEST(AbortPlanTest, AbortsNoneOrAll) {
  const AbortPlan none(0, 1), all(1, 1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(none.After(i, CallKind::kEncode), absl::InfiniteDuration());
    EXPECT_LT(all.After(i, CallKind::kEncode), absl::InfiniteDuration());
  }
}

// The first call of a kind sets its typical life; later ones move it.
TEST(AbortPlanTest, LearnsHowLongCallsTake) {
  AbortPlan plan(1, 1);
  const absl::Duration guess = plan.After(5, CallKind::kEncode);
  plan.Ended(CallKind::kEncode, absl::Seconds(8));
  const absl::Duration first = plan.After(5, CallKind::kEncode);
  EXPECT_GT(first, guess);
  plan.Ended(CallKind::kEncode, absl::Seconds(16));
  EXPECT_NEAR(absl::FDivDuration(plan.After(5, CallKind::kEncode), first),
              9.0 / 8, 1e-6);
}

}  // namespace
}  // namespace trivium
