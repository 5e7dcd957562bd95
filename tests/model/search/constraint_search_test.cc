// Searches under a constraint: which tokens they choose, and that they are
// those of the free search where the constraint allows everything.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/grammar/automaton.h"
#include "model/grammar/frontends.h"
#include "model/search/decoding.h"
#include "tests/model/search/random_options.h"
#include "tests/model/search/toy_model.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

std::shared_ptr<const Constraint> Constrain(absl::StatusOr<Grammar> grammar,
                                            std::vector<std::string> tokens,
                                            std::vector<int32_t> end_ids) {
  EXPECT_TRUE(grammar.ok()) << grammar.status();
  auto automaton = Automaton::Create(*grammar);
  EXPECT_TRUE(automaton.ok()) << automaton.status();
  return std::make_shared<Constraint>(
      *std::move(automaton),
      std::make_shared<TokenTrie>(std::move(tokens), std::move(end_ids)));
}

// Texts of a few letters; some tokens have none.
std::vector<std::string> RandomTokens(RandomCase* random, bool all_have_text) {
  std::vector<std::string> tokens(random->model.vocabulary);
  for (std::string& token : tokens) {
    for (int i = random->Int(all_have_text ? 1 : 0, 3); i > 0; --i) {
      token.push_back(static_cast<char>('a' + random->Int(0, 1)));
    }
  }
  // Any text can be spelled.
  tokens[0] = "a";
  tokens[1] = "b";
  return tokens;
}

void MakeKind(int kind, RandomCase* random) {
  DecodingOptions& options = random->options;
  if (kind == 1) {
    options.sample = true;
    options.hypotheses = random->Int(1, 4);
    options.seed = random->Int(0, 1000);
    const int top_ks[] = {0, 1, 3, 50, 2000};
    options.top_k = top_ks[random->Int(0, 4)];
    options.top_p = random->Int(0, 1) ? 1.0f : 0.8f;
    options.min_p = random->Int(0, 1) ? 0.0f : 0.1f;
  } else if (kind == 2) {
    options.beam_size = random->Int(2, 5);
    options.hypotheses = random->Int(1, options.beam_size);
    options.renormalize_logits = random->Int(0, 2) == 0;
  }
  if (random->Int(0, 3) == 0) options.top_logprobs = random->Int(1, 4);
}

void ExpectFreeBits(const std::vector<Hypothesis>& free,
                    const std::vector<Hypothesis>& held) {
  ASSERT_EQ(free.size(), held.size());
  for (size_t i = 0; i < free.size(); ++i) {
    EXPECT_EQ(free[i].ids, held[i].ids);
    EXPECT_EQ(free[i].reason, held[i].reason);
    EXPECT_EQ(free[i].score, held[i].score);
    EXPECT_EQ(free[i].logprobs, held[i].logprobs);
    ASSERT_EQ(free[i].top_logprobs.size(), held[i].top_logprobs.size());
    for (size_t t = 0; t < free[i].top_logprobs.size(); ++t) {
      const auto& a = free[i].top_logprobs[t];
      const auto& b = held[i].top_logprobs[t];
      ASSERT_EQ(a.size(), b.size());
      for (size_t k = 0; k < a.size(); ++k) {
        EXPECT_EQ(a[k].token, b[k].token);
        EXPECT_EQ(a[k].logprob, b[k].logprob);
      }
    }
  }
}

TEST(ConstraintSearchTest, AConstraintThatAllowsEverythingChangesNothing) {
  int compared = 0;
  for (int seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    RandomCase random(seed, /*ties=*/seed % 2 == 1);
    MakeKind(seed % 3, &random);
    DecodingOptions& options = random.options;
    if (options.end_ids.empty()) options.end_ids = {2};
    const std::vector<Hypothesis> free =
        RunSearch(options, random.prefix, nullptr, random.model);
    options.constraint = Constrain(
        GrammarOfRegex("[ab]*"), RandomTokens(&random, true), options.end_ids);
    auto held = Decoding::Create(options, random.prefix, nullptr);
    ASSERT_TRUE(held.ok()) << held.status();
    const std::vector<Hypothesis> results =
        RunSearch(options, random.prefix, nullptr, random.model);
    // Where other rules leave no token, a constrained search is given up.
    if (results.empty()) continue;
    ExpectFreeBits(free, results);
    ++compared;
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 1200);
}

// The texts of a few choices, judged without a grammar.
struct Choices {
  std::vector<std::string> texts;

  bool Begins(std::string_view text) const {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const auto& one) { return one.starts_with(text); });
  }
  bool Has(std::string_view text) const {
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  }
};

Choices RandomChoices(RandomCase* random) {
  Choices choices;
  for (int i = random->Int(1, 5); i > 0; --i) {
    std::string text;
    for (int k = random->Int(1, 9); k > 0; --k) {
      text.push_back(static_cast<char>('a' + random->Int(0, 1)));
    }
    choices.texts.push_back(text);
  }
  return choices;
}

TEST(ConstraintSearchTest, TextsAreOfTheFormOrBeginningsOfIt) {
  int ended = 0, cut = 0, given_up = 0;
  for (int seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    RandomCase random(seed);
    MakeKind(seed % 3, &random);
    DecodingOptions& options = random.options;
    if (options.end_ids.empty()) options.end_ids = {2};
    std::erase_if(options.end_ids, [](int32_t id) { return id < 2; });
    if (options.end_ids.empty()) options.end_ids = {2};
    options.forced_first_id.reset();
    const std::vector<std::string> tokens = RandomTokens(&random, false);
    const Choices choices = RandomChoices(&random);
    options.constraint =
        Constrain(GrammarOfChoices(choices.texts), tokens, options.end_ids);
    std::optional<SequenceMatcher> stop;
    if (random.Int(0, 3) == 0) stop.emplace(std::vector<int32_t>{0, 1});
    const auto results = RunSearch(options, random.prefix,
                                   stop ? &*stop : nullptr, random.model);
    if (results.empty()) ++given_up;
    for (const Hypothesis& result : results) {
      std::string text;
      for (const int32_t id : result.ids) {
        const bool is_end =
            std::find(options.end_ids.begin(), options.end_ids.end(), id) !=
            options.end_ids.end();
        if (!is_end) {
          EXPECT_FALSE(tokens[id].empty() && id != options.forced_last_id);
          text += tokens[id];
        }
      }
      EXPECT_TRUE(choices.Begins(text)) << text;
      if (result.reason == FinishReason::kEnd) {
        EXPECT_TRUE(choices.Has(text)) << text;
        ++ended;
      } else {
        ++cut;
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(ended, 1000);
  EXPECT_GT(cut, 100);
  EXPECT_GT(given_up, 50);
}

// Greedy search by its definition: the best of the tokens after which a choice
// can still be written, with the log-softmax of the whole row.
TEST(ConstraintSearchTest, GreedySearchTakesTheBestAllowedToken) {
  for (int seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    RandomCase random(seed, /*ties=*/seed % 2 == 1);
    DecodingOptions options;
    options.max_new_tokens = random.Int(1, 10);
    options.end_ids = {2};
    const std::vector<std::string> tokens = RandomTokens(&random, false);
    const Choices choices = RandomChoices(&random);
    options.constraint =
        Constrain(GrammarOfChoices(choices.texts), tokens, options.end_ids);
    const auto results =
        RunSearch(options, random.prefix, nullptr, random.model);
    ASSERT_EQ(results.size(), 1);
    std::vector<int32_t> history = random.prefix;
    std::string text;
    for (size_t i = 0; i < results[0].ids.size(); ++i) {
      const std::vector<float> logits = random.model.Logits(history);
      int32_t best = -1;
      double sum = 0;
      for (int32_t id = 0; id < random.model.vocabulary; ++id) {
        sum += std::exp(static_cast<double>(logits[id]));
        const bool allowed =
            id == 2 ? choices.Has(text)
                    : !tokens[id].empty() && choices.Begins(text + tokens[id]);
        if (allowed && (best < 0 || logits[id] > logits[best])) best = id;
      }
      ASSERT_EQ(results[0].ids[i], best);
      EXPECT_NEAR(results[0].logprobs[i], logits[best] - std::log(sum), 1e-5);
      history.push_back(best);
      if (best != 2) text += tokens[best];
    }
    EXPECT_EQ(results[0].reason == FinishReason::kEnd,
              results[0].ids.back() == 2);
  }
}

// Runs a search until it is given up, and returns why.
absl::Status ReasonGivenUp(const DecodingOptions& options,
                           const ToyModel& model) {
  auto decoding = Decoding::Create(options, {0}, nullptr).value();
  std::vector<std::vector<int32_t>> live = {{0}};
  while (!decoding->done()) {
    StepSearch(decoding.get(), model, &live);
  }
  const absl::Status status = decoding->status();
  EXPECT_EQ(status.ok(), !decoding->TakeResults().empty());
  return status;
}

TEST(ConstraintSearchTest, ASearchWithoutAnyTokenIsGivenUp) {
  for (const int beams : {1, 3}) {
    const std::vector<std::string> tokens = {"a", "b", "", "c"};
    ToyModel model{.vocabulary = 4};
    DecodingOptions options;
    options.beam_size = beams;
    options.end_ids = {2};
    const auto with = [&](const char* regex) {
      options.constraint = Constrain(GrammarOfRegex(regex), tokens, {2});
      return ReasonGivenUp(options, model);
    };
    EXPECT_TRUE(with("abc").ok());
    EXPECT_THAT(with("abd"),
                IsError(absl::StatusCode::kInvalidArgument, "constraint"));
    options.suppressed_ids = {1};
    EXPECT_THAT(with("abc"),
                IsError(absl::StatusCode::kInvalidArgument, "constraint"));
    options.suppressed_ids.clear();
    options.min_new_tokens = 5;
    EXPECT_THAT(with("abc"),
                IsError(absl::StatusCode::kInvalidArgument, "constraint"));
    EXPECT_TRUE(with("(abc)*").ok());
    options.min_new_tokens = 0;
    // A forced token with text must be allowed; others pass by.
    options.forced_first_id = 1;
    EXPECT_THAT(with("abc"),
                IsError(absl::StatusCode::kInvalidArgument, "constraint"));
    options.forced_first_id = 0;
    EXPECT_TRUE(with("abc").ok());
    options.forced_first_id = 2;
    EXPECT_THAT(with("abc"),
                IsError(absl::StatusCode::kInvalidArgument, "constraint"));
  }
}

TEST(ConstraintSearchTest, ATokenThatTheTokenizerLacksIsNoText) {
  DecodingOptions options;
  options.end_ids = {2};
  options.constraint =
      Constrain(GrammarOfRegex("abc"), {"a", "b", "", "c"}, {2});
  options.forced_first_id = 4;
  EXPECT_THAT(ReasonGivenUp(options, {.vocabulary = 5}),
              IsError(absl::StatusCode::kInvalidArgument, "constraint"));
}

TEST(ConstraintSearchTest, EachForcedTextIsSpelledFromItsBeginning) {
  DecodingOptions options;
  options.end_ids = {2};
  options.constraint = std::make_shared<Constraint>(
      *Automaton::Create(*GrammarOfRegex("ab[cd]ab")),
      std::make_shared<TokenTrie>(
          std::vector<std::string>{"a", "b", "", "c", "d"},
          std::vector<int32_t>{2}),
      Constraint::Limits(), [](std::string_view text) {
        return text == "ab" ? ForcedRun{0, 1} : ForcedRun();
      });
  const auto results = RunSearch(options, {0}, nullptr, {.vocabulary = 5});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(results[0].ids,
              testing::ElementsAre(0, 1, testing::AnyOf(3, 4), 0, 1, 2));
}

// The tokenizer's spelling gives way to tokens that options ask for.
TEST(ConstraintSearchTest, ForcedIdsMaySpellForcedTextOtherwise) {
  const ToyModel model{.vocabulary = 4};
  DecodingOptions options;
  options.end_ids = {2};
  options.constraint = std::make_shared<Constraint>(
      *Automaton::Create(*GrammarOfRegex("abab")),
      std::make_shared<TokenTrie>(std::vector<std::string>{"a", "b", "", "ab"},
                                  std::vector<int32_t>{2}),
      Constraint::Limits(), [](std::string_view text) {
        return text == "abab" ? ForcedRun{3, 3} : ForcedRun();
      });
  const auto ids = [&] {
    const auto results = RunSearch(options, {0}, nullptr, model);
    return results.empty() ? std::vector<int32_t>() : results[0].ids;
  };
  EXPECT_THAT(ids(), testing::ElementsAre(3, 3, 2));
  options.forced_first_id = 2;  // an end token is no text
  EXPECT_THAT(ids(), testing::IsEmpty());
  options.forced_first_id = 0;
  std::vector<int32_t> other = ids();
  ASSERT_GE(other.size(), 4);
  other.resize(2);
  EXPECT_THAT(other, testing::ElementsAre(0, 1));
  options.forced_first_id.reset();
  options.forced_last_id = 0;
  options.max_new_tokens = 1;
  EXPECT_THAT(ids(), testing::ElementsAre(0));
  options.forced_last_id = 2;
  options.max_new_tokens = 2;
  EXPECT_THAT(ids(), testing::ElementsAre(3, 2));
}

TEST(ConstraintSearchTest, OptionsThatExcludeAConstraintAreErrors) {
  DecodingOptions options;
  options.end_ids = {2};
  options.constraint =
      Constrain(GrammarOfRegex("a*"), {"a", "b", "", "c"}, {2});
  EXPECT_TRUE(ValidateDecodingOptions(options, 4).ok());
  EXPECT_THAT(ValidateDecodingOptions(options, 5),
              IsError(absl::StatusCode::kInvalidArgument, "constraint"));
  options.end_ids = {};
  EXPECT_THAT(ValidateDecodingOptions(options, 4),
              IsError(absl::StatusCode::kInvalidArgument, "constraint"));
  options.end_ids = {2};
  options.beam_size = 2;
  options.required.emplace_back().forms = {{0}};
  EXPECT_THAT(ValidateDecodingOptions(options, 4),
              IsError(absl::StatusCode::kInvalidArgument, "required"));
}

}  // namespace
}  // namespace trivium
