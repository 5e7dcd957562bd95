#include "model/tokenizer/marian_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/model/tokenizer/tokenizer_test_util.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int32_t kEnd = 0;
constexpr int32_t kUnknown = 1;
constexpr int32_t kPadding = 8000;

// The embedded model (with byte fallback) and, if present, OPUS-MT models
// (without it, so characters may be unknown; source and target models differ).
std::vector<std::string> Folders() {
  std::vector<std::string> folders = {kEmbedded};
  const std::filesystem::path material = "../shared/material/tokenizers/marian";
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(material, error)) {
    folders.push_back(entry.path().string());
  }
  if (folders.size() == 1) {
    std::printf(
        "skipped: Marian tokenizers of OPUS-MT: there is no folder %s\n",
        material.c_str());
  }
  return folders;
}

const std::vector<std::string>& HardTexts() {
  static const std::vector<std::string> texts = {
      "",
      " ",
      "Hello, world!",
      "  two  spaces ",
      "I paid 5 € for it.",
      "emoji 😀 inside",
      "😀",
      "👩‍👩‍👧‍👦",
      "ﬁne ﬂuﬀy",
      "① ½ ㎏",
      "日本語のテキスト",
      "mixed 日本 and ÄÖÜ",
      "e\u0301 a\u0300\u0302",
      "\ufdfa long ligature",
      "nul\u0001byte",
      "a</s>b <unk> <pad>",
      ">>de<< code",
      ">>de<<",
      "zero\u200bwidth nb\u00a0space",
      "\U000130C0\U000130C1 unknown",
      "▁a▁",
      "a\xff\xfe broken \xe2\x82 bytes"};
  return texts;
}

std::vector<int> CharacterStarts(std::string_view text) {
  std::vector<int> starts;
  for (size_t at = 0; at < text.size();
       at += FirstCodePoint(text.substr(at)).size) {
    starts.push_back(static_cast<int>(at));
  }
  starts.push_back(static_cast<int>(text.size()));
  return starts;
}

TEST(MarianTokenizerTest, OffsetsCoverTheText) {
  for (const std::string& folder : Folders()) {
    const auto tokenizer = LoadOrDie(folder);
    for (const std::string& text : HardTexts()) {
      SCOPED_TRACE(folder + ": " + text);
      const auto tokens = tokenizer->Tokenize(text, {}).value();
      const auto ids = tokenizer->Encode(text, {}).value().ids;
      ASSERT_EQ(tokens.size(), ids.size());
      const std::vector<int> starts = CharacterStarts(text);
      int begin = 0, end = 0;
      for (size_t i = 0; i < tokens.size(); ++i) {
        const Token& token = tokens[i];
        EXPECT_EQ(token.id, ids[i]);
        ASSERT_LE(token.byte_begin, token.byte_end);
        ASSERT_GE(token.byte_begin, begin) << "tokens go forward";
        // There is no gap except white space without a token.
        if (token.byte_begin > end) {
          const auto gap = text.substr(end, token.byte_begin - end);
          EXPECT_EQ(gap.find_first_not_of(" \xC2\xA0\xE2\x96\x81"),
                    std::string::npos)
              << "[" << gap << "] before token " << i;
        }
        begin = token.byte_begin;
        end = std::max(end, token.byte_end);
        // Character and byte offsets agree.
        ASSERT_LT(token.char_end, static_cast<int>(starts.size()));
        EXPECT_EQ(starts[token.char_begin], token.byte_begin);
        EXPECT_EQ(starts[token.char_end], token.byte_end);
      }
      const Token& last = tokens.back();
      EXPECT_EQ(last.byte_begin, static_cast<int>(text.size()));
      EXPECT_EQ(last.byte_end, last.byte_begin);
      EXPECT_TRUE(last.special);
    }
  }
}

std::vector<std::string> Surfaces(const std::string& text) {
  std::vector<std::string> surfaces;
  const auto tokenizer = LoadOrDie(kEmbedded);
  const auto tokens = tokenizer->Tokenize(text, {}).value();
  for (const Token& token : tokens) {
    surfaces.push_back(
        text.substr(token.byte_begin, token.byte_end - token.byte_begin));
  }
  return surfaces;
}

TEST(MarianTokenizerTest, OffsetsPointAtTheOriginalText) {
  EXPECT_THAT(Surfaces("I ate an apple."),
              ElementsAre("I", " a", "te", " an", " apple", ".", ""))
      << "pieces as of the embedded model";
  // A character of four byte pieces: each covers all of it.
  EXPECT_THAT(Surfaces("😀"), ElementsAre("", "😀", "😀", "😀", "😀", ""));
  // NFKC turns the ligature into "fi".
  EXPECT_THAT(Surfaces("ﬁ ①"), ElementsAre("", "ﬁ", " ①", ""));
}

TEST(MarianTokenizerTest, FindsSpecialTextsAndCodes) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  const auto tokens = tokenizer->Tokenize(">>xx<< a</s>b", {}).value();
  ASSERT_GE(tokens.size(), 5u);
  EXPECT_EQ(tokens[0].piece, ">>xx<<");
  EXPECT_EQ(tokens[0].id, kUnknown);  // not a code of the embedded model
  EXPECT_TRUE(tokens[0].special);
  EXPECT_EQ(tokens[0].byte_end, 6);
  EXPECT_EQ(tokens[2].id, kEnd);
  EXPECT_EQ(tokens[2].byte_begin, 8);
  EXPECT_EQ(tokens[2].byte_end, 12);
  EXPECT_TRUE(tokens[2].special);
  EXPECT_FALSE(tokens[1].special);
}

TEST(MarianTokenizerTest, FindsLanguageCodesOfTheVocabulary) {
  const TokenizerFolder folder;
  std::string vocabulary = ReadAll(std::string(kEmbedded) + "/vocab.json");
  vocabulary.insert(vocabulary.rfind('}'), ", \">>fra<<\": 8004");
  folder.Write("vocab.json", vocabulary);
  const auto tokenizer = LoadOrDie(folder.path());
  EXPECT_EQ(tokenizer->PieceToId(">>fra<<", TextSide::kSource), 8004);
  const auto ids = tokenizer->Encode(">>fra<< I", {}).value().ids;
  const std::vector<int32_t> prefix = {8004};
  EXPECT_EQ(tokenizer->Encode("I", {.prefix_ids = prefix}).value().ids, ids);
  const auto tokens = tokenizer->Tokenize("I", {.prefix_ids = prefix}).value();
  EXPECT_EQ(tokens[0].piece, ">>fra<<");
  EXPECT_TRUE(tokens[0].special);
  EXPECT_EQ(tokens[0].byte_end, 0);
}

TEST(MarianTokenizerTest, HonoursTheOptions) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  const std::string text = "I ate an apple.";
  const auto all = tokenizer->Encode(text, {}).value();
  EXPECT_EQ(all.truncated, 0);
  EXPECT_TRUE(all.type_ids.empty());
  const auto bare =
      tokenizer->Encode(text, {.add_special_tokens = false}).value();
  EXPECT_EQ(bare.ids, std::vector<int32_t>(all.ids.begin(), all.ids.end() - 1));

  const std::vector<int32_t> prefix = {5, 6};
  const auto cut =
      tokenizer->Encode(text, {.prefix_ids = prefix, .max_tokens = 5}).value();
  EXPECT_THAT(cut.ids, ElementsAre(5, 6, all.ids[0], all.ids[1], kEnd));
  EXPECT_EQ(cut.truncated, static_cast<int>(all.ids.size()) - 1 - 2);
  const auto exact =
      tokenizer->Encode(text, {.max_tokens = static_cast<int>(all.ids.size())})
          .value();
  EXPECT_EQ(exact.ids, all.ids);
  EXPECT_EQ(exact.truncated, 0);
  EXPECT_EQ(tokenizer->Tokenize(text, {.max_tokens = 3}).value().size(), 3u);
  EXPECT_EQ(tokenizer->Encode(text, {.prefix_ids = prefix, .max_tokens = 2})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MarianTokenizerTest, AnEmptyTextIsTheEndToken) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  EXPECT_THAT(tokenizer->Encode("", {}).value().ids, ElementsAre(kEnd));
  EXPECT_THAT(tokenizer->Encode(" \t ", {}).value().ids, ElementsAre(kEnd));
  EXPECT_EQ(tokenizer->Decode({}), "");
}

TEST(MarianTokenizerTest, TheLineBreakIsAPiece) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  const int32_t line_break = tokenizer->PieceToId("\n", TextSide::kSource);
  const std::string text = "An apple.\n\nTwo.";
  const auto tokens = tokenizer->Tokenize(text, {}).value();
  std::vector<int> places;
  std::vector<int32_t> ids;
  for (const Token& token : tokens) {
    ids.push_back(token.id);
    if (token.id != line_break) continue;
    EXPECT_EQ(token.piece, "\n");
    EXPECT_EQ(token.byte_end, token.byte_begin + 1);
    EXPECT_FALSE(token.special);
    places.push_back(token.byte_begin);
  }
  EXPECT_THAT(places, ElementsAre(9, 10));
  EXPECT_EQ(tokenizer->Decode(ids), text);
  // It is white space, with which no text ends.
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{line_break}), "");
  std::string joined;
  for (const std::string& part : Stream(*tokenizer, ids)) joined += part;
  EXPECT_EQ(joined, text);
}

TEST(MarianTokenizerTest, RefusesPairs) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  EXPECT_EQ(tokenizer->EncodePair("a", "b", {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(MarianTokenizerTest, KnowsItsVocabulary) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  for (const TextSide side : {TextSide::kSource, TextSide::kTarget}) {
    EXPECT_EQ(tokenizer->vocabulary_size(side), 8004);
    EXPECT_EQ(tokenizer->IdToPiece(kEnd, side), "</s>");
    EXPECT_EQ(tokenizer->PieceToId("<pad>", side), kPadding);
    EXPECT_EQ(tokenizer->PieceToId("no such piece", side), -1);
    EXPECT_EQ(tokenizer->IdToPiece(-1, side), "");
    EXPECT_EQ(tokenizer->IdToPiece(8004, side), "");
  }
}

TEST(MarianTokenizerTest, DecodeLeavesOutSpecialAndUnknownIds) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  auto ids = tokenizer->Encode("an apple", {}).value().ids;
  ids.insert(ids.begin() + 1, {kPadding, 8001, 8002, kEnd, kUnknown, -1, 8004,
                               1 << 30, -(1 << 30)});
  EXPECT_EQ(tokenizer->Decode(ids), "an apple");
}

TEST(MarianTokenizerTest, StreamedPartsJoinToTheDecodedText) {
  std::mt19937 random(3);
  for (const std::string& folder : Folders()) {
    const auto tokenizer = LoadOrDie(folder);
    const int size = tokenizer->vocabulary_size(TextSide::kTarget);
    const bool bytes = folder == kEmbedded;  // ids 2 to 257 are the bytes
    for (int round = 0; round < 2000; ++round) {
      std::vector<int32_t> ids(random() % 40);
      for (int32_t& id : ids) {
        id = bytes && random() % 2 ? 2 + random() % 256 : random() % size;
        if (random() % 20 == 0) id = static_cast<int32_t>(random());
      }
      std::string joined;
      for (const std::string& part : Stream(*tokenizer, ids)) {
        ASSERT_TRUE(IsUtf8(part)) << "half a character";
        joined += part;
      }
      ASSERT_EQ(joined, tokenizer->Decode(ids)) << folder;
    }
  }
}

TEST(MarianTokenizerTest, StreamsTextWithItsToken) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  const auto ids = tokenizer->Encode("an 😀 apple", {}).value().ids;
  std::string so_far;
  const auto parts = Stream(*tokenizer, ids);
  for (size_t i = 0; i < parts.size(); ++i) {
    so_far += parts[i];
    const auto now =
        tokenizer->Decode(std::span(ids).first(std::min(i + 1, ids.size())));
    // Only white space and unfinished characters are held back.
    if (now.find("\xEF\xBF\xBD") == std::string::npos) {
      EXPECT_EQ(so_far, now);
    }
  }
  EXPECT_EQ(so_far, "an 😀 apple");
  EXPECT_EQ(parts.back(), "");
}

// Limits the seconds of this process: far more than linear work needs, and far
// less than quadratic work would need.
TEST(MarianTokenizerTest, LongTextsTakeLinearTime) {
  const std::vector<std::string> folders = Folders();
  for (size_t i = 0; i < std::min<size_t>(2, folders.size()); ++i) {
    const auto tokenizer = LoadOrDie(folders[i]);
    for (const char* unit :
         {"hello world, ", "\U000130C0", "日本語", " ", "</s>", ">>"}) {
      std::string text;
      while (text.size() < (1 << 20)) text += unit;
      const std::clock_t begin = std::clock();
      const auto cut = tokenizer->Encode(text, {.max_tokens = 512}).value();
      const auto ids = tokenizer->Encode(text, {}).value().ids;
      tokenizer->Decode(ids);
      const std::clock_t ticks = std::clock() - begin;
      EXPECT_LT(ticks / CLOCKS_PER_SEC, 20) << folders[i] << " " << unit;
      EXPECT_EQ(cut.ids.size() + cut.truncated, ids.size());
    }
  }
}

TEST(MarianTokenizerTest, LongRunsOfUnknownCharactersAreOneToken) {
  for (const std::string& folder : Folders()) {
    const auto tokenizer = LoadOrDie(folder);
    std::string run;
    while (run.size() < 40000) run += "\U000130C0\U000130C1";
    const std::string text = "hello " + run + " world " + run;
    const auto tokens = tokenizer->Tokenize(text, {}).value();
    if (folder == kEmbedded) {
      EXPECT_GT(tokens.size(), 80000u);  // byte pieces
      continue;
    }
    const std::string short_run = "\U000130C0\U000130C1";
    const std::string short_text = "hello " + short_run + " world " + short_run;
    const auto short_tokens = tokenizer->Tokenize(short_text, {}).value();
    ASSERT_EQ(tokens.size(), short_tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_EQ(tokens[i].id, short_tokens[i].id);
      const auto stretched = [&](int offset) {
        const int extra = static_cast<int>(run.size() - short_run.size());
        return offset + (offset > 6 ? extra : 0) +
               (offset > static_cast<int>(short_text.size() - 8) ? extra : 0);
      };
      EXPECT_EQ(tokens[i].byte_begin, stretched(short_tokens[i].byte_begin));
      EXPECT_EQ(tokens[i].byte_end, stretched(short_tokens[i].byte_end));
    }
  }
}

}  // namespace
}  // namespace trivium
