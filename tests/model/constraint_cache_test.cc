#include "model/constraint_cache.h"

#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/model/tokenizer/tokenizer_test_util.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;

class ConstraintCacheTest : public testing::Test {
 protected:
  static ConstraintText Regex(std::string text) {
    return {.form = ConstraintText::Form::kRegex, .text = std::move(text)};
  }
  absl::StatusOr<std::shared_ptr<const Constraint>> Get(
      const ConstraintText& text, std::vector<int32_t> end_ids = {0}) {
    return cache_.Get(text, *tokenizer_,
                      tokenizer_->vocabulary_size(TextSide::kTarget), end_ids,
                      {});
  }

  const std::unique_ptr<Tokenizer> tokenizer_ =
      LoadOrDie("tests/integration/chats");
  ConstraintCache cache_;
};

TEST_F(ConstraintCacheTest, EqualTextsShareAConstraint) {
  const auto first = Get(Regex("a+"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*Get(Regex("a+")), *first);
  EXPECT_NE(*Get(Regex("b+")), *first);
  EXPECT_NE(
      *Get({.form = ConstraintText::Form::kGrammar, .text = "root ::= \"a\""}),
      *first);
  // Other end tokens.
  const auto other = Get(Regex("a+"), {1});
  EXPECT_NE(*other, *first);
  EXPECT_NE(&(*other)->trie(), &(*first)->trie());
  EXPECT_EQ(&(*Get(Regex("c")))->trie(), &(*first)->trie());
}

TEST_F(ConstraintCacheTest, OptionsOfJsonAreOfTheText) {
  ConstraintText text = {.form = ConstraintText::Form::kJsonSchema,
                         .text = R"({"type": "boolean"})"};
  const auto any = Get(text);
  text.json.space = JsonSpace::kCompact;
  EXPECT_NE(*Get(text), *any);
}

TEST_F(ConstraintCacheTest, TheOneUsedLeastRecentlyIsDropped) {
  const std::weak_ptr<const Constraint> kept = *Get(Regex("kept"));
  const std::weak_ptr<const Constraint> dropped = *Get(Regex("dropped"));
  for (size_t i = 0; i < ConstraintCache::kMost - 1; ++i) {
    ASSERT_TRUE(Get(Regex("kept")).ok());
    ASSERT_TRUE(Get(Regex(std::string(i + 1, 'x'))).ok());
  }
  EXPECT_FALSE(kept.expired());
  EXPECT_TRUE(dropped.expired());
}

TEST_F(ConstraintCacheTest, CallsOfOneTimeShareAConstraint) {
  std::vector<std::shared_ptr<const Constraint>> got(4);
  std::vector<std::thread> threads;
  for (auto& one : got) {
    threads.emplace_back([&] { one = *Get(Regex("[a-z]{1,20}")); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : got) EXPECT_EQ(one, got[0]);
}

TEST_F(ConstraintCacheTest, SpecialTokensAreNoText) {
  const auto constraint = Get(Regex("<\\|im_end\\|>"));
  ASSERT_TRUE(constraint.ok()) << constraint.status();
  const int32_t special =
      tokenizer_->PieceToId("<|im_end|>", TextSide::kTarget);
  ASSERT_GE(special, 0);
  ConstraintMatcher matcher(*constraint);
  EXPECT_FALSE(matcher.Advance(matcher.Start(), special).ok());
  const int32_t letter = tokenizer_->PieceToId("<", TextSide::kTarget);
  EXPECT_TRUE(matcher.Advance(matcher.Start(), letter).ok());
}

TEST_F(ConstraintCacheTest, ErrorsNameThePlace) {
  EXPECT_THAT(Get(Regex("(")), IsError(StatusCode::kInvalidArgument, "byte"));
  EXPECT_THAT(Get({.form = ConstraintText::Form::kJsonSchema,
                   .text = R"({"not": {"format": "date"}})"}),
              IsError(StatusCode::kInvalidArgument, "#/not"));
  // It is not the client's to try again.
  EXPECT_THAT(Get({.form = ConstraintText::Form::kJsonSchema,
                   .text = R"({"type": "string", "maxLength": 30,
                               "pattern": "a[ab]{25}$"})"}),
              IsError(StatusCode::kInvalidArgument, "#/pattern"));
}

TEST_F(ConstraintCacheTest, TokenizersThatJoinInAWayOfTheirOwnAreRefused) {
  const auto marian = LoadOrDie(kEmbedded);
  EXPECT_THAT(ConstraintCache::CheckTokenizer(marian.get()),
              IsError(StatusCode::kFailedPrecondition, "tokenizer"));
  EXPECT_THAT(ConstraintCache::CheckTokenizer(nullptr),
              IsError(StatusCode::kFailedPrecondition, "tokenizer"));
  EXPECT_TRUE(ConstraintCache::CheckTokenizer(tokenizer_.get()).ok());
}

// What a constraint forces is written in the tokenizer's own tokens.
TEST_F(ConstraintCacheTest, ForcedTextIsSpelledByTheTokenizer) {
  ConstraintText text;
  text.form = ConstraintText::Form::kChoices;
  text.choices = {R"({"name": "get_weather", "arguments": {"city": "Bern"}})"};
  const auto constraint = Get(text);
  ASSERT_TRUE(constraint.ok()) << constraint.status();
  ConstraintMatcher matcher(*constraint);
  const auto run = matcher.ForcedTokens(matcher.Start());
  ASSERT_NE(run, nullptr);
  EncodeOptions options;
  options.add_special_tokens = false;
  EXPECT_EQ(*run, tokenizer_->Encode(text.choices[0], options)->ids);
}

TEST_F(ConstraintCacheTest, ACallThatHasGoneEndsTheWork) {
  const auto gone = [] { return absl::CancelledError("the client has gone"); };
  EXPECT_EQ(cache_
                .Get(Regex("a"), *tokenizer_,
                     tokenizer_->vocabulary_size(TextSide::kTarget),
                     std::vector<int32_t>{0}, gone)
                .status()
                .code(),
            StatusCode::kCancelled);
}

}  // namespace
}  // namespace trivium
