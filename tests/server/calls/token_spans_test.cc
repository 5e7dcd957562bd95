#include "server/calls/convert/token_spans.h"

#include <gmock/gmock.h>

#include <array>

#include "fmt/format.h"
#include "tests/support/puppet_model.h"

namespace trivium {
namespace {

using testing::ElementsAre;

// A tokenizer whose pieces mark that they are inside a word if `marks`. Id 1 is
// the unknown token.
class SpansTokenizer : public PuppetTokenizer {
 public:
  explicit SpansTokenizer(bool marks) : marks_(marks) {}
  SpecialTokenIds special_token_ids() const override { return {.unknown = 1}; }
  bool marks_pieces_inside_words() const override { return marks_; }

 private:
  const bool marks_;
};

const std::vector<std::string> kLabels = {"O", "B-PER", "I-PER", "LOC"};

// Two words have two pieces each. Accents are stripped, so pieces are shorter
// than the text that they stand for.
constexpr char kText[] = "Zo\xC3\xAB Lovelac\xC3\xA9 in 東京";

Token Piece(int32_t id, const std::string& piece, int byte_begin, int byte_end,
            int char_begin, int char_end) {
  Token token;
  token.id = id;
  token.piece = piece;
  token.byte_begin = byte_begin;
  token.byte_end = byte_end;
  token.char_begin = char_begin;
  token.char_end = char_end;
  return token;
}

class TokenSpansTest : public ::testing::TestWithParam<bool> {
 protected:
  TokenSpansTest() : tokenizer_(GetParam()) {
    tokens_ = {
        Piece(10, "zoe", 0, 4, 0, 3),      Piece(11, "love", 5, 9, 4, 8),
        Piece(12, "##lace", 9, 14, 8, 12), Piece(13, "in", 15, 17, 13, 15),
        Piece(1, "[UNK]", 18, 21, 16, 17), Piece(14, "##京", 21, 24, 17, 18)};
  }

  // The spans as "PER 0.8500 8 12": label, score, and offsets in characters.
  std::vector<std::string> Spans(v1::Aggregation aggregation) const {
    static constexpr std::array<std::array<float, 4>, 6> kScores = {
        {{.1f, .6f, .2f, .1f},
         {.2f, .1f, .3f, .4f},
         {.05f, .05f, .85f, .05f},
         {.9f, .02f, .03f, .05f},
         {.1f, .2f, .1f, .6f},
         {.55f, .05f, .1f, .3f}}};
    std::vector<LabeledToken> scored;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      scored.push_back({static_cast<int>(i) + first_,
                        &tokens_[i],
                        IsInsideWord(tokenizer_, kText, tokens_[i]),
                        {kScores[i].begin(), kScores[i].end()}});
    }
    std::vector<std::string> spans;
    for (const auto& span : MakeSpans(scored, kLabels, aggregation)) {
      spans.push_back(fmt::format("{} {:.4f} {} {}", span.label(), span.score(),
                                  span.char_begin(), span.char_end()));
      if (span.label() == "O") {
        EXPECT_EQ(static_cast<int>(span.token_begin()), 3 + first_);
        EXPECT_EQ(span.byte_begin(), 15);
        EXPECT_EQ(span.byte_end(), 17);
      }
    }
    return spans;
  }

  const SpansTokenizer tokenizer_;
  std::vector<Token> tokens_;
  int first_ = 1;  // every text begins with a special token
};

INSTANTIATE_TEST_SUITE_P(MarkedOrNot, TokenSpansTest, ::testing::Bool());

// The expected spans are those of TokenClassificationPipeline in Transformers
// 5.23.
TEST_P(TokenSpansTest, AggregatesAsTransformersDoes) {
  EXPECT_THAT(Spans(v1::AGGREGATION_FIRST),
              ElementsAre("PER 0.6000 0 3", "LOC 0.4000 4 12", "O 0.9000 13 15",
                          "LOC 0.6000 16 18"));
  EXPECT_THAT(
      Spans(v1::AGGREGATION_AVERAGE),
      ElementsAre("PER 0.5875 0 12", "O 0.9000 13 15", "LOC 0.4500 16 18"));
  EXPECT_THAT(
      Spans(v1::AGGREGATION_MAX),
      ElementsAre("PER 0.7250 0 12", "O 0.9000 13 15", "LOC 0.6000 16 18"));
}

TEST_P(TokenSpansTest, UnknownPiecesBeginWords) {
  tokens_[2].id = 1;
  EXPECT_THAT(Spans(v1::AGGREGATION_FIRST),
              ElementsAre("PER 0.6000 0 3", "LOC 0.4000 4 8", "PER 0.8500 8 12",
                          "O 0.9000 13 15", "LOC 0.6000 16 18"));
}

TEST_P(TokenSpansTest, GapsEndSpansAndWords) {
  std::vector<LabeledToken> scored = {{1, nullptr, false, {0, 0, 1, 0}},
                                      {3, nullptr, true, {0, 0, 1, 0}},
                                      {4, nullptr, true, {1, 0, 0, 0}}};
  const auto spans = MakeSpans(scored, kLabels, v1::AGGREGATION_FIRST);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].token_end(), 2);
  EXPECT_EQ(spans[1].token_begin(), 3);
  EXPECT_EQ(spans[1].token_end(), 5);
  EXPECT_TRUE(MakeSpans({}, kLabels, v1::AGGREGATION_MAX).empty());
}

}  // namespace
}  // namespace trivium
