// The bound of thoughts alone, and searches that keep to it.
#include "model/search/thought_bound.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/grammar/automaton.h"
#include "model/grammar/frontends.h"
#include "model/search/decoding.h"
#include "tests/model/search/random_options.h"
#include "tests/model/search/toy_model.h"

namespace trivium {
namespace {

using Place = ThoughtBound::State::Place;

// Tokens of the trie: their texts are their indices in this list.
const std::vector<std::string> kTokens = {"a",  "<",   "/",  "t",    ">",
                                          "</", "<t>", "\n", "</t>", ""};

std::shared_ptr<const ThoughtBound> Bound(ThoughtBound::Options options,
                                          std::vector<std::string> tokens) {
  auto bound = ThoughtBound::Create(std::move(options),
                                    TokenTrie(std::move(tokens), {}));
  EXPECT_TRUE(bound.ok()) << bound.status();
  return *std::move(bound);
}

// The places after each token of a text.
std::vector<Place> Places(const ThoughtBound& bound,
                          const std::vector<std::string>& texts,
                          ThoughtBound::State* state) {
  *state = bound.Start();
  std::vector<Place> places;
  for (const std::string& text : texts) {
    const auto found = std::find(kTokens.begin(), kTokens.end(), text);
    EXPECT_NE(found, kTokens.end()) << text;
    bound.Advance(static_cast<int32_t>(found - kTokens.begin()), text, state);
    places.push_back(state->place);
  }
  return places;
}

TEST(ThoughtBoundTest, ForcesTheMarkAfterTheLastToken) {
  const auto bound = Bound({.max_tokens = 2, .end = "</t>", .open = true},
                           {kTokens.begin(), kTokens.end()});
  ThoughtBound::State state;
  Places(*bound, {"a"}, &state);
  EXPECT_EQ(bound->Forced(state), std::nullopt);
  Places(*bound, {"a", "a"}, &state);
  EXPECT_EQ(bound->Forced(state), 8);
  EXPECT_THAT(Places(*bound, {"a", "a", "</t>", "a"}, &state),
              testing::ElementsAre(Place::kInside, Place::kInside,
                                   Place::kAfter, Place::kAfter));
  EXPECT_EQ(bound->Forced(state), std::nullopt);
}

TEST(ThoughtBoundTest, SpellsAMarkThatIsNoToken) {
  std::vector<std::string> tokens = kTokens;
  tokens[8] = "x";
  const auto bound =
      Bound({.max_tokens = 0, .end = "</t>", .open = true}, tokens);
  ThoughtBound::State state = bound->Start();
  for (const int32_t token : {5, 3, 4}) {  // "</", "t", ">"
    ASSERT_EQ(bound->Forced(state), token);
    bound->Advance(token, tokens[token], &state);
  }
  EXPECT_EQ(state.place, Place::kAfter);
  // Another token before the mark's end begins the mark anew.
  state = bound->Start();
  bound->Advance(5, "</", &state);
  bound->Advance(0, "a", &state);
  EXPECT_EQ(bound->Forced(state), 5);
}

TEST(ThoughtBoundTest, SpellsTheMarkOfEachThoughtFromItsBeginning) {
  std::vector<std::string> tokens = kTokens;
  tokens[8] = "x";
  const auto bound =
      Bound({.max_tokens = 0, .begin = "<t>", .end = "</t>", .anywhere = true},
            tokens);
  ThoughtBound::State state = bound->Start();
  for (int thought = 0; thought < 2; ++thought) {
    bound->Advance(6, "<t>", &state);
    for (const int32_t token : {5, 3, 4}) {  // "</", "t", ">"
      ASSERT_EQ(bound->Forced(state), token);
      bound->Advance(token, tokens[token], &state);
    }
    EXPECT_EQ(state.place, Place::kBefore);
  }
}

TEST(ThoughtBoundTest, TheModelMayEndItsThoughtBefore) {
  const auto bound = Bound({.max_tokens = 9, .end = "</t>", .open = true},
                           {kTokens.begin(), kTokens.end()});
  ThoughtBound::State state;
  // The first `<` is none of the mark.
  EXPECT_THAT(
      Places(*bound, {"<", "</", "t", ">", "a"}, &state),
      testing::ElementsAre(Place::kInside, Place::kInside, Place::kInside,
                           Place::kAfter, Place::kAfter));
}

TEST(ThoughtBoundTest, AThoughtBeginsWhereTheAnswerDoes) {
  const ThoughtBound::Options options = {
      .max_tokens = 1, .begin = "<t>", .end = "</t>"};
  const auto bound = Bound(options, {kTokens.begin(), kTokens.end()});
  ThoughtBound::State state;
  EXPECT_THAT(
      Places(*bound, {"\n", "<", "t", ">", "a"}, &state),
      testing::ElementsAre(Place::kBefore, Place::kBefore, Place::kBefore,
                           Place::kInside, Place::kInside));
  EXPECT_EQ(bound->Forced(state), 8);
  // All thoughts of an answer have one bound.
  Places(*bound, {"<t>", "a", "</t>", "\n", "<t>"}, &state);
  EXPECT_EQ(state.place, Place::kInside);
  EXPECT_EQ(bound->Forced(state), 8);
  // Behind content the mark is text.
  Places(*bound, {"a", "<t>", "a", "a"}, &state);
  EXPECT_EQ(state.place, Place::kAfter);
}

TEST(ThoughtBoundTest, AThoughtMayBeginAnywhere) {
  const auto bound =
      Bound({.max_tokens = 1, .begin = "<t>", .end = "</t>", .anywhere = true},
            {kTokens.begin(), kTokens.end()});
  ThoughtBound::State state;
  Places(*bound, {"a", "<", "<", "t", ">"}, &state);
  EXPECT_EQ(state.place, Place::kInside);
  Places(*bound, {"a", "<t>", "a", "</t>", "a", "<t>"}, &state);
  EXPECT_EQ(bound->Forced(state), 8);
}

TEST(ThoughtBoundTest, AMarkThatCannotBeSpelledIsAnError) {
  EXPECT_EQ(ThoughtBound::Create({.end = "</t>"}, TokenTrie({"<", "a"}, {}))
                .status()
                .code(),
            absl::StatusCode::kFailedPrecondition);
}

// Texts of a and b whose thoughts end with "bb".
TEST(ThoughtBoundTest, SearchesKeepToTheBound) {
  int forced = 0, free = 0;
  for (int seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    RandomCase random(seed);
    DecodingOptions options;
    options.end_ids = {2};
    options.max_new_tokens = 12;
    if (seed % 3 == 1) options.beam_size = options.hypotheses = 3;
    if (seed % 3 == 2) {
      options.sample = true;
      options.seed = seed;
    }
    std::vector<std::string> tokens(random.model.vocabulary);
    for (std::string& token : tokens) {
      for (int i = random.Int(1, 3); i > 0; --i) {
        token.push_back(random.Int(0, 1) ? 'a' : 'b');
      }
    }
    tokens[0] = "a";
    tokens[1] = "b";
    auto automaton = Automaton::Create(*GrammarOfRegex("[ab]*"));
    ASSERT_TRUE(automaton.ok()) << automaton.status();
    options.constraint = std::make_shared<Constraint>(
        *std::move(automaton),
        std::make_shared<TokenTrie>(tokens, options.end_ids));
    const int most = random.Int(0, 6);
    auto bound =
        ThoughtBound::Create({.max_tokens = most, .end = "bb", .open = true},
                             options.constraint->trie());
    ASSERT_TRUE(bound.ok()) << bound.status();
    options.thoughts = *bound;
    for (const Hypothesis& result :
         RunSearch(options, random.prefix, nullptr, random.model)) {
      std::string text;
      size_t count = 0;
      while (count < result.ids.size() && result.ids[count] != 2 &&
             text.find("bb") == std::string::npos) {
        text += tokens[result.ids[count++]];
      }
      if (text.find("bb") == std::string::npos) {
        // It was cut or ended before.
        EXPECT_LE(count, static_cast<size_t>(most) + 1);
        continue;
      }
      // The mark takes at most two tokens behind the thought's.
      EXPECT_LE(count, static_cast<size_t>(most) + 2);
      (count > static_cast<size_t>(most) ? forced : free) += 1;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(forced, 100);
  EXPECT_GT(free, 50);
}

}  // namespace
}  // namespace trivium
