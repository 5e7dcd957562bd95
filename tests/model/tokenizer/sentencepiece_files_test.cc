// Families that use a SentencePiece file unchanged, with the embedded model's
// file. Its pieces begin with </s>, <unk>, <0x00>, <0x01>. It lacks the
// families' special tokens, so the configuration names others.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/tokenizer/sentencepiece_model.h"
#include "tests/model/tokenizer/tokenizer_test_util.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;

class SentencePieceFilesTest : public testing::Test {
 protected:
  SentencePieceFilesTest()
      : serialized_(ReadAll(std::string(kEmbedded) + "/source.spm")) {
    std::string error;
    model_ = SentencePieceModel::Parse(serialized_, &error);
    EXPECT_NE(model_, nullptr) << error;
  }
  std::unique_ptr<Tokenizer> Load(const std::string& family,
                                  const std::string& file,
                                  const std::string& config = "{}") {
    folder_.Write(file, serialized_);
    folder_.Write("config.json", "{\"model_type\": \"" + family + "\"}");
    folder_.Write("tokenizer_config.json", config);
    return LoadOrDie(folder_.path());
  }
  // Returns the ids of a text in the file's own numbering.
  std::vector<int32_t> FileIds(const std::string& text) {
    std::vector<int32_t> ids;
    for (const auto& piece : model_->Encode(text)) {
      int32_t id = 0;
      while (id < model_->size() && model_->PieceOf(id) != piece.text) ++id;
      ids.push_back(id);
    }
    return ids;
  }
  static std::vector<int32_t> Wrapped(int32_t begin, std::vector<int32_t> ids,
                                      int32_t end, int32_t offset) {
    for (int32_t& id : ids) id += offset;
    ids.insert(ids.begin(), begin);
    ids.push_back(end);
    return ids;
  }

  const std::string serialized_;
  std::unique_ptr<SentencePieceModel> model_;
  ScratchFolder folder_;
};

constexpr char kText[] = "I ate an apple.";

// Texts that the library gets in slices.
class LongTextTest : public SentencePieceFilesTest {
 protected:
  // Checks that kText repeated many times, with `space` between, has the pieces
  // of kText twice, with the second half repeated.
  void ExpectSlicesChangeNothing(const std::string& space) {
    constexpr size_t kCount = 20'000;
    std::string text = kText;
    for (size_t i = 1; i < kCount; ++i) text += space + kText;
    ASSERT_GT(text.size(), 3 * SentencePieceModel::kMostBytes);
    const auto twice = model_->Encode(kText + space + kText);
    const size_t first = model_->Encode(kText).size();
    const size_t period = twice.size() - first;
    // White space belongs to the piece after it.
    ASSERT_EQ(twice[first].begin, std::string_view(kText).size());
    const auto pieces = model_->Encode(text);
    ASSERT_EQ(pieces.size(), first + (kCount - 1) * period);
    for (size_t i = 0; i < pieces.size(); ++i) {
      const size_t turn = i < twice.size() ? 0 : (i - first) / period;
      const auto& piece = twice[i - turn * period];
      const size_t offset =
          turn * (std::string_view(kText).size() + space.size());
      ASSERT_EQ(pieces[i].text, piece.text) << i;
      ASSERT_EQ(pieces[i].begin, offset + piece.begin) << i;
      ASSERT_EQ(pieces[i].end, offset + piece.end) << i;
    }
  }
};

TEST_F(LongTextTest, SlicesOfWordsChangeNothing) {
  ExpectSlicesChangeNothing(" ");
}

TEST_F(LongTextTest, SlicesOfLinesChangeNothing) {
  ExpectSlicesChangeNothing("\n");
}

TEST_F(LongTextTest, SlicesWithoutWhiteSpaceLoseNothing) {
  // The second one becomes 18 characters.
  for (const std::string unit : {"\xE4\xB8\xAD", "\xEF\xB7\xBA", "\xCC\x81"}) {
    std::string text;
    while (text.size() < 50'000) text += unit;
    size_t end = 0;
    for (const auto& piece : model_->Encode(text)) {
      ASSERT_LE(piece.begin, piece.end);
      ASSERT_LE(piece.begin, end);  // no gap
      end = std::max(end, piece.end);
    }
    EXPECT_EQ(end, text.size());
  }
}

TEST_F(SentencePieceFilesTest, XlmRobertaShiftsIdsByOne) {
  const auto tokenizer = Load("xlm-roberta", "sentencepiece.bpe.model");
  EXPECT_EQ(tokenizer->Encode(kText, {}).value().ids,
            Wrapped(0, FileIds(kText), 2, 1));
  EXPECT_EQ(tokenizer->vocabulary_size(TextSide::kSource), model_->size() + 2);
  const auto tokens = tokenizer->TokenizePair("a <mask>", "a", {}).value();
  std::vector<int32_t> ids;
  for (const Token& token : tokens) {
    ids.push_back(token.id);
    EXPECT_EQ(token.type_id, 0);
  }
  const int32_t a = FileIds("a").at(0) + 1;
  const int32_t mask = model_->size() + 1;
  EXPECT_EQ(ids, (std::vector<int32_t>{0, a, mask, 2, 2, a, 2}));
  EXPECT_EQ(Offsets(tokens), "0-0 0-1 1-8 0-0 0-0 0-1 0-0");
  EXPECT_EQ(tokenizer->special_token_ids().mask, mask);
  EXPECT_EQ(tokenizer->special_token_ids().padding, 1);
  const auto encoded = tokenizer->Encode(kText, {}).value().ids;
  EXPECT_EQ(tokenizer->Decode(encoded), kText);
  std::string streamed;
  for (const std::string& part : Stream(*tokenizer, encoded)) streamed += part;
  EXPECT_EQ(streamed, kText);
}

TEST_F(SentencePieceFilesTest, CamembertShiftsIdsByFour) {
  const auto tokenizer =
      Load("camembert", "sentencepiece.bpe.model",
           "{\"cls_token\": \"<0x00>\", \"sep_token\": \"<0x01>\"}");
  EXPECT_EQ(tokenizer->Encode(kText, {}).value().ids,
            Wrapped(6, FileIds(kText), 7, 4));
}

TEST_F(SentencePieceFilesTest, AlbertNormalizesFirst) {
  const std::string config =
      "{\"cls_token\": \"</s>\", \"sep_token\": \"<0x00>\"";
  const std::string text = "\xC3\x84PFEL ``x''";
  EXPECT_EQ(Load("albert", "spiece.model", config + "}")
                ->Encode(text, {})
                .value()
                .ids,
            Wrapped(0, FileIds("apfel \"x\""), 2, 0));
  EXPECT_EQ(Load("albert", "spiece.model",
                 config + ", \"do_lower_case\": false, \"keep_accents\": true}")
                ->Encode(text, {})
                .value()
                .ids,
            Wrapped(0, FileIds("\xC3\x84PFEL \"x\""), 2, 0));
}

TEST_F(SentencePieceFilesTest, T5AddsAnEndTokenAndSentinels) {
  const auto tokenizer =
      Load("t5", "spiece.model",
           R"({"eos_token": "</s>", "pad_token": "<0x00>", "extra_ids": 3})");
  const int32_t size = model_->size();
  EXPECT_EQ(tokenizer->vocabulary_size(TextSide::kSource), size + 3);
  std::vector<int32_t> expected = FileIds("a");
  expected.push_back(size + 2);  // <extra_id_0> is the last one
  for (const int32_t id : FileIds("apple")) expected.push_back(id);
  expected.push_back(size);
  expected.push_back(0);
  EXPECT_EQ(
      tokenizer->Encode("a <extra_id_0> apple<extra_id_2>", {}).value().ids,
      expected);
  EXPECT_EQ(tokenizer->Decode(expected), "a apple");
  const auto pair = tokenizer->EncodePair("a", "a", {}).value();
  const int32_t a = FileIds("a").at(0);
  EXPECT_EQ(pair.ids, (std::vector<int32_t>{a, 0, a, 0}));
  folder_.Write("tokenizer_config.json", R"({"extra_ids": -1})");
  EXPECT_THAT(LoadTokenizer(folder_.path()).status(),
              IsError(StatusCode::kInvalidArgument, "extra_ids"));
}

TEST_F(SentencePieceFilesTest, DebertaAddsItsMask) {
  const auto tokenizer = Load("deberta-v2", "spm.model",
                              "{\"cls_token\": \"</s>\", \"sep_token\": "
                              "\"<0x00>\", \"unk_token\": \"<unk>\", "
                              "\"pad_token\": \"<0x01>\"}");
  const auto tokens =
      tokenizer->TokenizePair("a", "a", {.max_tokens = 5}).value();
  EXPECT_EQ(tokens[3].type_id, 1);
  EXPECT_EQ(tokenizer->special_token_ids().mask,
            tokenizer->vocabulary_size(TextSide::kSource) - 1);
}

TEST_F(SentencePieceFilesTest, LlamaAddsABeginToken) {
  const std::string config =
      "{\"bos_token\": \"<0x00>\", \"eos_token\": \"</s>\"";
  const auto tokenizer = Load("llama", "tokenizer.model", config + "}");
  std::vector<int32_t> expected = FileIds(kText);
  expected.insert(expected.begin(), 2);
  EXPECT_EQ(tokenizer->Encode(kText, {}).value().ids, expected);
  EXPECT_EQ(tokenizer->Decode(expected), kText);
  expected.erase(expected.begin());
  expected.push_back(0);
  EXPECT_EQ(
      Load("llama", "tokenizer.model",
           config + ", \"add_bos_token\": false, \"add_eos_token\": true}")
          ->Encode(kText, {})
          .value()
          .ids,
      expected);
}

// The old way also puts a space after special tokens.
TEST_F(SentencePieceFilesTest, LlamasCorrectedWayPutsASpaceOnlyBeforeTheText) {
  const std::string config =
      "{\"bos_token\": \"<0x00>\", \"eos_token\": \"</s>\"";
  const std::string a =
      "\xE2\x96\x81"
      "a";
  // The file's normalizer_spec again: maps no characters, removes no spaces.
  const std::string file =
      serialized_ + std::string("\x1A\x04\x12\x00\x20\x00", 6);
  const auto pieces = [&](const std::string& legacy, const std::string& text) {
    folder_.Write("tokenizer.model", file);
    folder_.Write("config.json", "{\"model_type\": \"llama\"}");
    folder_.Write("tokenizer_config.json", config + legacy + "}");
    const auto tokenizer = LoadOrDie(folder_.path());
    const auto tokens = tokenizer->Tokenize(text, {}).value();
    std::vector<int32_t> ids;
    for (const Token& token : tokens) ids.push_back(token.id);
    EXPECT_EQ(tokenizer->Encode(text, {}).value().ids, ids);
    EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{ids[1]}).substr(0, 1),
              "a");
    return Pieces(tokens);
  };
  for (const std::string legacy : {"", ", \"legacy\": true"}) {
    EXPECT_EQ(pieces(legacy, "a</s>a"), "<0x00> " + a + " </s> " + a);
  }
  EXPECT_EQ(pieces(", \"legacy\": false", "a</s>a"), "<0x00> " + a + " </s> a");
  EXPECT_EQ(pieces(", \"legacy\": false", "a"), "<0x00> " + a);
  // If the file removes spaces, this is impossible.
  folder_.Write("tokenizer.model", serialized_);
  EXPECT_THAT(LoadTokenizer(folder_.path()).status(),
              IsError(StatusCode::kUnimplemented, "\"legacy\": false"));
}

TEST_F(SentencePieceFilesTest, GemmaPutsNoSpaceBeforeTheText) {
  const std::string config =
      "{\"bos_token\": \"<0x00>\", \"eos_token\": \"</s>\", "
      "\"pad_token\": \"<0x01>\"}";
  // The file's normalizer_spec again, with add_dummy_prefix = false.
  const std::string file = serialized_ + std::string("\x1A\x02\x18\x00", 4);
  folder_.Write("tokenizer.model", file);
  folder_.Write("config.json", "{\"model_type\": \"gemma3_text\"}");
  folder_.Write("tokenizer_config.json", config);
  const auto tokenizer = LoadOrDie(folder_.path());
  EXPECT_EQ(Pieces(tokenizer->Tokenize("a</s>a", {}).value()),
            "<0x00> a </s> a");
  const int32_t a = tokenizer->PieceToId(
      "\xE2\x96\x81"
      "a",
      TextSide::kSource);
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{a, a}), " a a");
  EXPECT_EQ(Load("llama", "tokenizer.model", config)
                ->Decode(std::vector<int32_t>{a, a}),
            "a a");
}

TEST_F(SentencePieceFilesTest, NamesABrokenFile) {
  folder_.Write("tokenizer.model", "no model");
  EXPECT_THAT(LoadTokenizer(folder_.path()).status(),
              IsError(StatusCode::kInvalidArgument, "tokenizer.model"));
  folder_.Write("spiece.model", serialized_);
  EXPECT_THAT(LoadTokenizer(folder_.path()).status(),
              IsError(StatusCode::kInvalidArgument, "[CLS]"));
}

}  // namespace
}  // namespace trivium
