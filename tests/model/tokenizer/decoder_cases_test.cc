// Small tokenizers of the kinds that decoders and ModernBERT use, compared with
// the results of Hugging Face's library (make_decoder_cases.py).

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "gtest/gtest.h"
#include "model/tokenizer/token_bytes.h"
#include "nlohmann/json.hpp"
#include "tests/model/tokenizer/tokenizer_test_util.h"

namespace trivium {
namespace {

using Json = nlohmann::json;

const Json& Decoders() {
  static const Json* const decoders = new Json(
      Json::parse(ReadAll("tests/model/tokenizer/testdata/decoders.json")));
  return *decoders;
}

class DecoderCasesTest : public testing::Test {
 protected:
  static void ExpectEqual(const Tokenizer& tokenizer, const Json& cases) {
    EXPECT_GE(cases.size(), 25u);
    for (const Json& expected : cases) {
      const std::string text = expected["text"];
      SCOPED_TRACE(expected.dump());
      const std::vector<int32_t> ids = expected["ids"];
      EXPECT_EQ(tokenizer.Encode(text, {})->ids, ids);
      std::vector<int> begins;
      std::vector<int> ends;
      const std::vector<Token> tokens = tokenizer.Tokenize(text, {}).value();
      for (const Token& token : tokens) {
        begins.push_back(token.char_begin);
        ends.push_back(token.char_end);
      }
      EXPECT_EQ(begins, expected["begins"].get<std::vector<int>>());
      EXPECT_EQ(ends, expected["ends"].get<std::vector<int>>());
      const TextPart literal = {text, /*literal=*/true};
      EXPECT_EQ(tokenizer.EncodeParts({&literal, 1}, {})->ids,
                expected["literal"].get<std::vector<int32_t>>());
      EXPECT_EQ(tokenizer.Decode(ids), expected["decoded"]);
      std::string streamed;
      for (const std::string& part : Stream(tokenizer, ids)) streamed += part;
      EXPECT_EQ(streamed, expected["decoded"]);
    }
  }
  // Writes the older files with the contents of a tokenizer.json.
  void WriteOldFiles(const Json& tokenizer, const std::string& family) {
    folder_.Write("config.json", Json({{"model_type", family}}).dump());
    folder_.Write("vocab.json", tokenizer["model"]["vocab"].dump());
    std::string merges = "#version: 0.2\n";
    for (const Json& merge : tokenizer["model"]["merges"]) {
      merges += merge[0].get<std::string>() + " " +
                merge[1].get<std::string>() + "\n";
    }
    folder_.Write("merges.txt", merges);
    Json decoder = Json::object();
    for (const Json& added : tokenizer["added_tokens"]) {
      decoder[std::to_string(added["id"].get<int>())] = added;
    }
    folder_.Write("tokenizer_config.json",
                  Json({{"added_tokens_decoder", decoder}}).dump());
  }

  ScratchFolder folder_;
};

TEST_F(DecoderCasesTest, EqualsTheReference) {
  for (const auto& [name, family] : Decoders().items()) {
    SCOPED_TRACE(name);
    folder_.Write("tokenizer.json", family["tokenizer"].dump());
    ExpectEqual(*LoadOrDie(folder_.path()), family["cases"]);
  }
}

TEST_F(DecoderCasesTest, JoiningDecodersJoinTheBytesOfTokens) {
  int joining = 0;
  std::minstd_rand random(1);
  for (const auto& [name, family] : Decoders().items()) {
    SCOPED_TRACE(name);
    folder_.Write("tokenizer.json", family["tokenizer"].dump());
    const auto tokenizer = LoadOrDie(folder_.path());
    if (tokenizer->NewJoiningDecoder() == nullptr) continue;
    const TokenBytes bytes(*tokenizer, /*joining=*/true);
    if (!bytes.after_text()) continue;
    ++joining;
    const auto first = tokenizer->Encode("a", {.add_special_tokens = false});
    ASSERT_TRUE(first.ok());
    for (int round = 0; round < 200; ++round) {
      const auto decoder = tokenizer->NewJoiningDecoder();
      std::string text;
      for (const int32_t id : first->ids) text += decoder->Push(id);
      std::string joined = text;
      for (int i = 0; i < 12; ++i) {
        const auto id = static_cast<int32_t>(
            random() % tokenizer->vocabulary_size(TextSide::kTarget));
        const TokenBytes::Bytes token = bytes.Of(id);
        // Of parts of characters the text has U+FFFD until they are whole.
        if (token.special || !IsUtf8(token.bytes)) continue;
        text += decoder->Push(id);
        joined += token.bytes;
      }
      EXPECT_EQ(text + decoder->Finish(), joined);
    }
  }
  EXPECT_GE(joining, 4);
}

TEST_F(DecoderCasesTest, OlderFilesGiveTheSameTokenizer) {
  for (const auto& [name, family] :
       {std::pair("openai_gpt", "openai-gpt"), {"gpt2", "gpt_neo"}}) {
    SCOPED_TRACE(name);
    WriteOldFiles(Decoders()[name]["tokenizer"], family);
    ExpectEqual(*LoadOrDie(folder_.path()), Decoders()[name]["cases"]);
  }
}

TEST_F(DecoderCasesTest, OptsFirstTokenComesFromTheConfiguration) {
  WriteOldFiles(Decoders()["opt"]["tokenizer"], "opt");
  Json config = Json::parse(ReadAll(folder_.path() + "/tokenizer_config.json"));
  config["add_bos_token"] = true;
  config["bos_token"] = config["eos_token"] = "</s>";
  folder_.Write("tokenizer_config.json", config.dump());
  ExpectEqual(*LoadOrDie(folder_.path()), Decoders()["opt"]["cases"]);
}

TEST_F(DecoderCasesTest, FlagsAddTokensThatThePostProcessorLacks) {
  const Json& gpt2 = Decoders()["gpt2"]["tokenizer"];
  folder_.Write("tokenizer.json", gpt2.dump());
  const auto ids = [&](const Json& config) {
    folder_.Write("tokenizer_config.json", config.dump());
    return LoadOrDie(folder_.path())->Encode("", {})->ids.size();
  };
  EXPECT_EQ(ids({{"bos_token", "<s>"}}), 0u);
  EXPECT_EQ(ids({{"bos_token", "<s>"}, {"add_bos_token", true}}), 1u);
  EXPECT_EQ(ids({{"bos_token", "<s>"}, {"add_bos_token", false}}), 0u);
  EXPECT_EQ(ids({{"eos_token", "</s>"}, {"add_eos_token", true}}), 1u);
  EXPECT_EQ(ids({{"add_bos_token", true}}), 0u);
  // LLaMA's and Gemma's classes make a new template.
  folder_.Write("tokenizer.json", Decoders()["llama"]["tokenizer"].dump());
  EXPECT_EQ(ids({{"bos_token", "<s>"}}), 1u);
  EXPECT_EQ(ids({{"bos_token", "<s>"}, {"add_bos_token", false}}), 1u);
  EXPECT_EQ(ids({{"bos_token", "<s>"},
                 {"add_bos_token", false},
                 {"tokenizer_class", "LlamaTokenizerFast"}}),
            0u);
  EXPECT_EQ(ids({{"bos_token", "<s>"},
                 {"eos_token", "</s>"},
                 {"add_eos_token", true},
                 {"tokenizer_class", "GemmaTokenizer"}}),
            2u);
}

}  // namespace
}  // namespace trivium
