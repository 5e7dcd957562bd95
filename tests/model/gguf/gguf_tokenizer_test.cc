#include "model/gguf/gguf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/gguf/merges.h"
#include "model/tokenizer/tokenizer_factory.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using nlohmann::json;
using testing::ElementsAre;
using testing::Pair;

std::unique_ptr<Tokenizer> Make(const json& metadata,
                                std::string_view architecture) {
  absl::StatusOr<json> tokenizer = GgufTokenizerJson(metadata, architecture);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  if (!tokenizer.ok()) return nullptr;
  auto made =
      MakeTokenizer(*std::move(tokenizer), GgufTokenizerConfig(metadata));
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

absl::Status Error(const json& metadata, std::string_view architecture) {
  return GgufTokenizerJson(metadata, architecture).status();
}

std::vector<int32_t> Ids(const Tokenizer& tokenizer, std::string_view text) {
  const auto encoded = tokenizer.Encode(text, {});
  EXPECT_TRUE(encoded.ok()) << encoded.status();
  return encoded.ok() ? encoded->ids : std::vector<int32_t>();
}

// "Ġ" is the byte-level spelling of a space.
json Gpt2(const char* pre) {
  return {{"tokenizer.ggml.model", "gpt2"},
          {"tokenizer.ggml.pre", pre},
          {"tokenizer.ggml.tokens",
           {"a", "b", "\xC4\xA0", "1", "ab",
            "\xC4\xA0"
            "ab",
            "11", "<end>"}},
          {"tokenizer.ggml.token_type", {1, 1, 1, 1, 1, 1, 1, 3}},
          {"tokenizer.ggml.merges", {"a b", "\xC4\xA0 ab", "1 1"}},
          {"tokenizer.ggml.eos_token_id", 7},
          {"tokenizer.chat_template", "{{ messages }}"},
          {"tokenizer.chat_template.tool_use", "{{ tools }}"}};
}

TEST(GgufTokenizerTest, ReadsByteLevelBpe) {
  const json metadata = Gpt2("gpt-2");
  const auto tokenizer = Make(metadata, "gpt2");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_THAT(Ids(*tokenizer, "ab ab11<end>b"), ElementsAre(4, 5, 6, 7, 1));
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{4, 5, 6}), "ab ab11");
  EXPECT_EQ(tokenizer->special_token_ids().end, 7);
  EXPECT_EQ(GgufTokenizerConfig(metadata),
            json({{"eos_token", "<end>"},
                  {"chat_template",
                   {{{"name", "default"}, {"template", "{{ messages }}"}},
                    {{"name", "tool_use"}, {"template", "{{ tools }}"}}}}}));
  // SmolLM's words have single digits.
  EXPECT_THAT(Ids(*Make(Gpt2("smollm"), "llama"), "ab11"),
              ElementsAre(4, 3, 3));
}

// BLOOM's words end at punctuation, and numbers are not apart from letters.
// Falcon's have single signs and groups of three digits.
TEST(GgufTokenizerTest, KnowsTheWordsOfBloomAndFalcon) {
  const auto pieces = [](const char* pre, std::string_view text) {
    json metadata = Gpt2(pre);
    metadata["tokenizer.ggml.tokens"] = {"a",   "1",    ",",  "a1", "11",
                                         "111", "1111", "a,", ",,", "<end>"};
    metadata["tokenizer.ggml.token_type"] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 3};
    metadata["tokenizer.ggml.merges"] = {"a 1",   "1 1", "11 1",
                                         "111 1", "a ,", ", ,"};
    metadata["tokenizer.ggml.eos_token_id"] = 9;
    return Ids(*Make(metadata, pre), text);
  };
  EXPECT_THAT(pieces("bloom", "a1,"), ElementsAre(3, 2));
  EXPECT_THAT(pieces("bloom", "1111"), ElementsAre(4, 4));
  EXPECT_THAT(pieces("falcon", "a1,"), ElementsAre(0, 1, 2));
  EXPECT_THAT(pieces("falcon", "1111"), ElementsAre(5, 1));
  EXPECT_THAT(pieces("falcon", "a,,"), ElementsAre(0, 8));
}

TEST(GgufTokenizerTest, ChatsBeginWithATokenThatEveryPromptGets) {
  json metadata = Gpt2("qwen2");
  metadata["tokenizer.ggml.bos_token_id"] = 7;
  EXPECT_FALSE(GgufTokenizerConfig(metadata).contains(kChatsBeginWith));
  metadata["tokenizer.ggml.add_bos_token"] = false;
  EXPECT_FALSE(GgufTokenizerConfig(metadata).contains(kChatsBeginWith));
  metadata["tokenizer.ggml.add_bos_token"] = true;
  EXPECT_EQ(GgufTokenizerConfig(metadata)[kChatsBeginWith], "<end>");
}

TEST(GgufTokenizerTest, AddsTokensAroundTexts) {
  json metadata = Gpt2("qwen2");
  metadata["tokenizer.ggml.bos_token_id"] = 7;
  EXPECT_THAT(Ids(*Make(metadata, "qwen2"), "ab"), ElementsAre(4));
  metadata["tokenizer.ggml.add_bos_token"] = true;
  EXPECT_THAT(Ids(*Make(metadata, "qwen2"), "ab"), ElementsAre(7, 4));
  metadata["tokenizer.ggml.add_eos_token"] = true;
  EXPECT_THAT(Ids(*Make(metadata, "qwen2"), "ab"), ElementsAre(7, 4, 7));
  // LLaMA 3's adds it unless the file says otherwise.
  metadata = Gpt2("llama-bpe");
  metadata["tokenizer.ggml.bos_token_id"] = 7;
  EXPECT_THAT(Ids(*Make(metadata, "llama"), "ab"), ElementsAre(7, 4));
}

// "▁" is SentencePiece's spelling of a space.
json Llama() {
  const char* blank = "\xE2\x96\x81";
  json tokens = {"<unk>", "<s>",   "a", "b", blank, std::string(blank) + "a",
                 "ab",    "<0x0A>"};
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.tokens", tokens},
          {"tokenizer.ggml.scores", {0, 0, -3, -4, -5, -1, -2, 0}},
          {"tokenizer.ggml.token_type", {2, 3, 1, 1, 1, 1, 1, 6}},
          {"tokenizer.ggml.bos_token_id", 1}};
}

TEST(GgufTokenizerTest, ReadsSentencePieceByScores) {
  const auto tokenizer = Make(Llama(), "llama");
  ASSERT_NE(tokenizer, nullptr);
  // "▁a" has a better score than "ab".
  EXPECT_THAT(Ids(*tokenizer, "ab"), ElementsAre(1, 5, 3));
  EXPECT_THAT(Ids(*tokenizer, " bab\n"), ElementsAre(1, 4, 4, 3, 6, 7));
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{5, 3, 4, 2, 7}), "ab a\n");
  json without = Llama();
  without["tokenizer.ggml.add_space_prefix"] = false;
  without["tokenizer.ggml.add_bos_token"] = false;
  EXPECT_THAT(Ids(*Make(without, "llama"), "ab"), ElementsAre(6));
}

// Gemma's merges are in the order of its pieces, which spell runs of blanks
// with spaces.
TEST(GgufTokenizerTest, ReadsTheTokenizerOfGemma) {
  json metadata = Llama();
  metadata["tokenizer.ggml.tokens"].push_back("  ");
  metadata["tokenizer.ggml.scores"].push_back(0);
  metadata["tokenizer.ggml.token_type"].push_back(4);
  metadata["tokenizer.ggml.scores"][5] = -9;
  const auto tokenizer = Make(metadata, "gemma3");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_THAT(Ids(*tokenizer, "ab  b ab"), ElementsAre(1, 6, 8, 3, 5, 3));
}

// Gemma 4's has merges, and adds no blank.
TEST(GgufTokenizerTest, ReadsTheTokenizerOfGemma4) {
  json metadata = Llama();
  metadata["tokenizer.ggml.model"] = "gemma4";
  metadata["tokenizer.ggml.add_space_prefix"] = false;
  EXPECT_EQ(Error(metadata, "gemma4").code(), StatusCode::kInvalidArgument);
  metadata["tokenizer.ggml.merges"] = {"a b"};
  const auto tokenizer = Make(metadata, "gemma4");
  ASSERT_NE(tokenizer, nullptr);
  // The merge counts, not the better score of "▁a".
  EXPECT_THAT(Ids(*tokenizer, "ab ab\n"), ElementsAre(1, 6, 4, 6, 7));
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{6, 4, 6, 7}), "ab ab\n");
}

TEST(GgufTokenizerTest, MakesTheMergesOfTransformers) {
  const std::vector<std::string> pieces = {"a", "b", "aa", "aaa", "ab"};
  const std::vector<double> scores = {0, 0, -1, -3, -1};
  // Better scores first; then the longer left half.
  EXPECT_THAT(MergesFromScores(pieces, scores),
              ElementsAre(Pair("a", "a"), Pair("a", "b"), Pair("aa", "a"),
                          Pair("a", "aa")));
}

// U+2581 begins a word; pieces without it continue one.
json Bert() {
  return {{"tokenizer.ggml.model", "bert"},
          {"tokenizer.ggml.tokens",
           {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\xE2\x96\x81un", "able",
            "\xE2\x96\x81"
            "able",
            "\xE2\x96\x81[", "\xE2\x96\x81."}},
          {"tokenizer.ggml.token_type", {3, 3, 3, 3, 1, 1, 1, 1, 1}},
          {"tokenizer.ggml.unknown_token_id", 1},
          {"tokenizer.ggml.cls_token_id", 2},
          {"tokenizer.ggml.seperator_token_id", 3}};
}

TEST(GgufTokenizerTest, ReadsWordPiece) {
  auto tokenizer = Make(Bert(), "bert");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_THAT(Ids(*tokenizer, "Unable able. x["),
              ElementsAre(2, 4, 5, 6, 8, 1, 7, 3));
  const auto pair = tokenizer->EncodePair("able", "un", {});
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_THAT(pair->ids, ElementsAre(2, 6, 3, 4, 3));
  EXPECT_THAT(pair->type_ids, ElementsAre(0, 0, 0, 1, 1));
  // A vocabulary with capitals, or a key, keeps them.
  json metadata = Bert();
  metadata["tokenizer.ggml.tokens"][4] = "\xE2\x96\x81Un";
  EXPECT_THAT(Ids(*Make(metadata, "bert"), "Un un"), ElementsAre(2, 4, 1, 3));
  metadata = Bert();
  metadata["tokenizer.ggml.normalizer.lowercase"] = false;
  EXPECT_THAT(Ids(*Make(metadata, "bert"), "Un un"), ElementsAre(2, 1, 4, 3));
}

json Unigram() {
  return {{"tokenizer.ggml.model", "t5"},
          {"tokenizer.ggml.tokens",
           {"<s>", "<pad>", "</s>", "<unk>", "\xE2\x96\x81", "a", "b",
            "\xE2\x96\x81"
            "ab",
            "ab"}},
          {"tokenizer.ggml.scores", {0, 0, 0, 0, -2, -3, -3, -1, -2}},
          {"tokenizer.ggml.token_type", {3, 3, 3, 2, 1, 1, 1, 1, 1}},
          {"tokenizer.ggml.bos_token_id", 0},
          {"tokenizer.ggml.eos_token_id", 2}};
}

TEST(GgufTokenizerTest, ReadsUnigram) {
  const auto tokenizer = Make(Unigram(), "bert");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_THAT(Ids(*tokenizer, " ab  abab "), ElementsAre(0, 7, 7, 8, 2));
  const auto pair = tokenizer->EncodePair("ab", "ab", {});
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_THAT(pair->ids, ElementsAre(0, 7, 2, 2, 7, 2));
  // T5's texts only end with a token.
  EXPECT_THAT(Ids(*Make(Unigram(), "t5encoder"), "ab"), ElementsAre(7, 2));
  json metadata = Unigram();
  metadata.erase("tokenizer.ggml.scores");
  EXPECT_THAT(Error(metadata, "bert"),
              IsError(StatusCode::kInvalidArgument, "scores"));
  metadata = Unigram();
  metadata["tokenizer.ggml.scores"][5] = NAN;
  EXPECT_THAT(Error(metadata, "bert"),
              IsError(StatusCode::kInvalidArgument, "scores"));
  metadata = Unigram();
  metadata["tokenizer.ggml.token_type"][3] = 1;
  EXPECT_THAT(Error(metadata, "bert"),
              IsError(StatusCode::kInvalidArgument, "token_type"));
  metadata = Unigram();
  metadata["tokenizer.ggml.precompiled_charsmap"] = {1, "x"};
  EXPECT_THAT(Error(metadata, "bert"),
              IsError(StatusCode::kInvalidArgument, "precompiled_charsmap"));
}

TEST(GgufTokenizerTest, NamesUnsupportedValues) {
  EXPECT_THAT(Error({{"tokenizer.ggml.model", "rwkv"}}, "llama"),
              IsError(StatusCode::kUnimplemented, "rwkv"));
  EXPECT_THAT(Error(Gpt2("kimi-k2"), "llama"),
              IsError(StatusCode::kUnimplemented, "kimi-k2"));
  json metadata = Gpt2("gpt-2");
  metadata.erase("tokenizer.ggml.pre");
  EXPECT_EQ(Error(metadata, "gpt2"), absl::OkStatus());
  EXPECT_THAT(Error(metadata, "llama"),
              IsError(StatusCode::kUnimplemented, "pre"));
}

TEST(GgufTokenizerTest, NamesTheBrokenValue) {
  const auto broken = [](json metadata, const char* key, const json& value) {
    metadata[std::string("tokenizer.ggml.") + key] = value;
    return Error(metadata, "llama");
  };
  EXPECT_THAT(broken(Llama(), "tokens", 3),
              IsError(StatusCode::kInvalidArgument, "list"));
  EXPECT_THAT(broken(Llama(), "tokens", {1, 2}),
              IsError(StatusCode::kInvalidArgument, "texts"));
  EXPECT_THAT(broken(Llama(), "scores", {1, 2}),
              IsError(StatusCode::kInvalidArgument, "scores"));
  EXPECT_THAT(broken(Llama(), "scores", nullptr),
              IsError(StatusCode::kInvalidArgument, "scores"));
  EXPECT_THAT(broken(Llama(), "token_type", {"", "", "", "", "", "", "", ""}),
              IsError(StatusCode::kInvalidArgument, "numbers"));
  EXPECT_THAT(broken(Llama(), "bos_token_id", 8),
              IsError(StatusCode::kInvalidArgument, "bos_token_id"));
  EXPECT_THAT(broken(Gpt2("gpt-2"), "merges", "a b"),
              IsError(StatusCode::kInvalidArgument, "merges"));
  json metadata = Llama();
  metadata.erase("tokenizer.ggml.scores");
  EXPECT_THAT(Error(metadata, "llama"),
              IsError(StatusCode::kInvalidArgument, "scores"));
  metadata["tokenizer.ggml.model"] = "none";
  EXPECT_TRUE(GgufTokenizerJson(metadata, "llama")->is_null());
  metadata.erase("tokenizer.ggml.model");
  EXPECT_TRUE(GgufTokenizerJson(metadata, "llama")->is_null());
}

}  // namespace
}  // namespace trivium
