// Compares the models with slow, obvious counterparts on random words.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/piece_trie.h"
#include "model/tokenizer/unicode.h"
#include "model/tokenizer/unigram_model.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

std::string RandomWord(std::mt19937* random, size_t size,
                       const std::vector<std::string>& letters) {
  std::string word;
  for (size_t i = 0; i < size; ++i)
    word += letters[(*random)() % letters.size()];
  return word;
}

std::vector<std::string> Texts(const TokenModel& model,
                               const std::string& word) {
  std::vector<TokenModel::Piece> pieces;
  model.Tokenize(word, &pieces);
  std::vector<std::string> texts;
  size_t end = 0;
  for (const TokenModel::Piece& piece : pieces) {
    EXPECT_EQ(piece.begin, end);
    end = piece.end;
    texts.push_back(word.substr(piece.begin, piece.end - piece.begin));
  }
  EXPECT_EQ(end, word.size());
  return texts;
}

// Joins the leftmost pair of the best rank, again and again.
std::vector<std::string> SlowBpe(const BpeModel::Merges& merges,
                                 const std::string& word) {
  std::vector<std::string> pieces;
  for (const char c : word) pieces.emplace_back(1, c);
  while (true) {
    size_t best = pieces.size();
    size_t best_rank = merges.size();
    for (size_t i = 0; i + 1 < pieces.size(); ++i) {
      const size_t rank = std::find(merges.begin(), merges.end(),
                                    std::pair(pieces[i], pieces[i + 1])) -
                          merges.begin();
      if (rank < best_rank) {
        best = i;
        best_rank = rank;
      }
    }
    if (best == pieces.size()) return pieces;
    pieces[best] += pieces[best + 1];
    pieces.erase(pieces.begin() + best + 1);
  }
}

TEST(BpeModelTest, EqualsTheSlowOneAtEveryLength) {
  std::mt19937 random(1);
  std::vector<std::pair<std::string, int32_t>> entries = {
      {"a", 0}, {"b", 1}, {"c", 2}};
  BpeModel::Merges merges;
  std::vector<std::string> known = {"a", "b", "c"};
  while (merges.size() < 60) {
    const std::string left = known[random() % known.size()];
    const std::string right = known[random() % known.size()];
    const std::pair<std::string, std::string> merge(left, right);
    // Each piece can be made in only one way, as in trained vocabularies.
    if (std::find(known.begin(), known.end(), left + right) != known.end()) {
      continue;
    }
    merges.push_back(merge);
    known.push_back(left + right);
    entries.emplace_back(left + right, static_cast<int32_t>(entries.size()));
  }
  const auto model = BpeModel::Create(Vocabulary(entries), merges, {}).value();
  for (size_t size = 1; size < 120; ++size) {
    for (int i = 0; i < 20; ++i) {
      const std::string word = RandomWord(&random, size, {"a", "b", "c"});
      EXPECT_EQ(Texts(*model, word), SlowBpe(merges, word)) << word;
    }
  }
}

TEST(BpeModelTest, HandlesUnknownCharacters) {
  const Vocabulary vocabulary({{"a", 0},
                               {"<unk>", 1},
                               {"<0xC3>", 2},
                               {"<0xA9>", 3},
                               {"b</w>", 4},
                               {"b", 5},
                               {"##a", 6}});
  const auto ids = [&](const std::string& word,
                       const BpeModel::Options& options) {
    std::vector<TokenModel::Piece> pieces;
    BpeModel::Create(vocabulary, {}, options).value()->Tokenize(word, &pieces);
    std::vector<int32_t> ids;
    for (const auto& piece : pieces) ids.push_back(piece.id);
    return ids;
  };
  EXPECT_THAT(ids("axya", {}), ElementsAre(0, 0));
  EXPECT_THAT(ids("axya", {.unknown = "<unk>"}), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(ids("axya", {.unknown = "<unk>", .fuse_unknown = true}),
              ElementsAre(0, 1, 0));
  EXPECT_THAT(
      ids("a\xC3\xA9\xC3\xA8", {.unknown = "<unk>", .byte_fallback = true}),
      ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(ids("bb", {.end_suffix = "</w>"}), ElementsAre(5, 4));
  EXPECT_THAT(ids("aa", {.continuing_prefix = "##"}), ElementsAre(0, 6));
  EXPECT_THAT(BpeModel::Create(vocabulary, {}, {.unknown = "?"}).status(),
              IsError(absl::StatusCode::kInvalidArgument, "\"?\""));
}

TEST(BpeModelTest, IgnoresMergesForAWordOfTheVocabularyIfConfigured) {
  const Vocabulary vocabulary({{"a", 0}, {"b", 1}, {"ab", 2}});
  EXPECT_THAT(Texts(*BpeModel::Create(vocabulary, {}, {}).value(), "ab"),
              ElementsAre("a", "b"));
  EXPECT_THAT(
      Texts(*BpeModel::Create(vocabulary, {}, {.ignore_merges = true}).value(),
            "ab"),
      ElementsAre("ab"));
}

// Returns the best score of all ways to cut the word.
double BestScore(const std::map<std::string, double>& scores,
                 const std::string& word, double unknown) {
  if (word.empty()) return 0;
  double best = -std::numeric_limits<double>::infinity();
  const size_t character = FirstCodePoint(word).size;
  for (size_t size = 1; size <= word.size(); ++size) {
    const auto found = scores.find(word.substr(0, size));
    if (found == scores.end()) continue;
    best = std::max(
        best, found->second + BestScore(scores, word.substr(size), unknown));
  }
  if (!scores.contains(word.substr(0, character))) {
    best = std::max(
        best, unknown + BestScore(scores, word.substr(character), unknown));
  }
  return best;
}

TEST(UnigramModelTest, FindsTheBestCut) {
  std::mt19937 random(2);
  const std::vector<std::string> letters = {"a", "b", "\xC3\xA9", "x"};
  for (int round = 0; round < 20; ++round) {
    std::map<std::string, double> scores = {
        {"<unk>", 0.0}, {"a", -3.0}, {"b", -3.5}, {"\xC3\xA9", -4.0}};
    for (int i = 0; i < 12; ++i) {
      scores[RandomWord(&random, 2 + random() % 3, letters)] =
          -1.0 - static_cast<double>(random() % 1000) / 100;
    }
    std::vector<std::pair<std::string, double>> pieces(scores.begin(),
                                                       scores.end());
    std::swap(pieces[0],
              *std::find_if(pieces.begin(), pieces.end(),
                            [](const auto& p) { return p.first == "<unk>"; }));
    double worst = 0;
    for (const auto& [piece, score] : pieces) worst = std::min(worst, score);
    const double unknown = worst - 10;
    const auto model = UnigramModel::Create(pieces, {.unknown_id = 0}).value();
    for (int i = 0; i < 50; ++i) {
      const std::string word = RandomWord(&random, 1 + random() % 8, letters);
      double score = 0;
      for (const std::string& text : Texts(*model, word)) {
        const auto found = scores.find(text);
        if (found != scores.end()) {
          score += found->second;
        } else {
          // Unknown characters in one piece.
          score += unknown * static_cast<double>(CharacterOfByte(text).back());
        }
      }
      EXPECT_NEAR(score, BestScore(scores, word, unknown), 1e-9) << word;
    }
  }
}

TEST(UnigramModelTest, HandlesUnknownCharacters) {
  const std::vector<std::pair<std::string, double>> pieces = {
      {"<unk>", 0.0}, {"a", -1.0}, {"<0xC3>", -2.0}, {"<0xA9>", -2.0}};
  const auto ids = [&](const std::string& word,
                       const UnigramModel::Options& options) {
    std::vector<TokenModel::Piece> found;
    UnigramModel::Create(pieces, options).value()->Tokenize(word, &found);
    std::vector<int32_t> ids;
    for (const auto& piece : found) ids.push_back(piece.id);
    return ids;
  };
  EXPECT_THAT(ids("axya", {.unknown_id = 0}), ElementsAre(1, 0, 1));
  EXPECT_THAT(ids("xaxx", {}), ElementsAre(1));
  EXPECT_THAT(ids("\xC3\xA9"
                  "a",
                  {.unknown_id = 0, .byte_fallback = true}),
              ElementsAre(2, 3, 1));
  EXPECT_THAT(ids("\xC3\xA8"
                  "a",
                  {.unknown_id = 0, .byte_fallback = true}),
              ElementsAre(0, 1));
  EXPECT_FALSE(UnigramModel::Create({}, {}).ok());
  EXPECT_FALSE(UnigramModel::Create(pieces, {.unknown_id = 4}).ok());
}

TEST(PieceTrieTest, FindsEveryPrefix) {
  const PieceTrie trie({{"", 9},
                        {"ab", 1},
                        {"a", 2},
                        {"abc", 3},
                        {"b", 4},
                        {"ab", 5},
                        {"\xFF", 6}});
  const auto found = [&](std::string_view text) {
    std::vector<std::pair<size_t, int32_t>> prefixes;
    trie.ForEachPrefix(text, [&](size_t length, int32_t value) {
      prefixes.emplace_back(length, value);
    });
    return prefixes;
  };
  EXPECT_THAT(found("abcd"),
              ElementsAre(std::pair(1, 2), std::pair(2, 5), std::pair(3, 3)));
  EXPECT_THAT(found("b"), ElementsAre(std::pair(1, 4)));
  EXPECT_THAT(found("\xFF\xFF"), ElementsAre(std::pair(1, 6)));
  EXPECT_TRUE(found("c").empty());
  EXPECT_TRUE(found("").empty());
}

}  // namespace
}  // namespace trivium
