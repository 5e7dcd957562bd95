#include "model/tokenizer/tokenizer_factory.h"

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/model/tokenizer/tokenizer_test_util.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

absl::Status ErrorOf(const TokenizerFolder& folder) {
  return LoadTokenizer(folder.path()).status();
}

TEST(TokenizerFactoryTest, ReturnsNullWithoutAnyFile) {
  const TokenizerFolder folder;
  for (const char* name : {"source.spm", "target.spm", "vocab.json"}) {
    folder.Remove(name);
  }
  const auto tokenizer = LoadTokenizer(folder.path());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ(*tokenizer, nullptr);
}

TEST(TokenizerFactoryTest, NamesTheMissingFile) {
  for (const char* name : {"source.spm", "target.spm", "vocab.json"}) {
    const TokenizerFolder folder;
    folder.Remove(name);
    EXPECT_THAT(ErrorOf(folder), IsError(StatusCode::kNotFound, name));
  }
  const TokenizerFolder folder;
  folder.Remove("source.spm");
  folder.Remove("target.spm");
  EXPECT_THAT(ErrorOf(folder), IsError(StatusCode::kNotFound, "source.spm"));
}

TEST(TokenizerFactoryTest, NamesAnUnknownTokenizer) {
  const ScratchFolder folder;
  folder.Write("tokenizer.json", "{\"model\": {\"type\": \"WordLevel\"}}");
  const auto unknown = LoadTokenizer(folder.path()).status();
  EXPECT_THAT(unknown, IsError(StatusCode::kUnimplemented, "\"WordLevel\""));
  // The older files contain a known tokenizer.
  folder.Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n");
  EXPECT_THAT(LoadOrDie(folder.path())->Encode("a", {}).value().ids,
              ElementsAre(1, 3, 2));
  // A known tokenizer.json comes first; a broken one is an error.
  folder.Write("tokenizer.json",
               "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 7, "
               "\"[UNK]\": 8}}}");
  EXPECT_THAT(LoadOrDie(folder.path())->Encode("a", {}).value().ids,
              ElementsAre(7));
  folder.Write("tokenizer.json", "{}");
  EXPECT_EQ(LoadTokenizer(folder.path()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(TokenizerFactoryTest, LowersCaseAsSentenceTransformersSays) {
  const ScratchFolder folder;
  folder.Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\nA\n[MASK]\n");
  folder.Write("tokenizer_config.json",
               R"({"do_lower_case": false, "mask_token": "[MASK]"})");
  folder.Write("sentence_roberta_config.json",
               R"({"max_seq_length": null, "do_lower_case": true})");
  const auto ids = [&] {
    return LoadOrDie(folder.path())->Encode("A [MASK]", {}).value().ids;
  };
  EXPECT_THAT(ids(), ElementsAre(1, 4, 5, 2));  // without modules.json
  folder.Write("modules.json", "[]");
  EXPECT_THAT(ids(), ElementsAre(1, 3, 5, 2));
  // The first of its names counts.
  folder.Write("sentence_bert_config.json", R"({"do_lower_case": false})");
  EXPECT_THAT(ids(), ElementsAre(1, 4, 5, 2));
  folder.Write("sentence_bert_config.json", R"({"max_seq_length": "many"})");
  EXPECT_THAT(LoadTokenizer(folder.path()).status(),
              IsError(StatusCode::kInvalidArgument, "max_seq_length"));
}

TEST(TokenizerFactoryTest, PairsShareTheirFirstText) {
  const ScratchFolder folder;
  folder.Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\nb\n");
  const auto tokenizer = LoadOrDie(folder.path());
  const std::vector<std::string_view> seconds = {"b", "", "a b a b a b", "b b"};
  for (const int most : {0, 7, 9}) {
    const EncodeOptions options = {.max_tokens = most};
    const FirstText first = tokenizer->TokenizeFirst("a a b", options).value();
    for (const std::string_view second : seconds) {
      const Encoding shared =
          tokenizer->EncodeSecond(first, second, options).value();
      const Encoding alone =
          tokenizer->EncodePair("a a b", second, options).value();
      EXPECT_EQ(shared.ids, alone.ids);
      EXPECT_EQ(shared.type_ids, alone.type_ids);
      EXPECT_EQ(shared.truncated, alone.truncated);
    }
  }
}

TEST(TokenizerFactoryTest, NamesAFamilyWhoseSentencePieceIsUnknown) {
  const ScratchFolder folder;
  folder.Write("spiece.model", "");
  folder.Write("config.json", "{\"model_type\": \"xlnet\"}");
  const auto unknown = LoadTokenizer(folder.path()).status();
  EXPECT_THAT(unknown, IsError(StatusCode::kUnimplemented, "xlnet"));
}

TEST(TokenizerFactoryTest, NamesABrokenFile) {
  struct Case {
    const char* file;
    std::string contents;
    const char* place;
  };
  const std::string spm = ReadAll(std::string(kEmbedded) + "/source.spm");
  for (const Case& broken : std::vector<Case>{
           {"source.spm", "", "source.spm"},
           {"source.spm", "no model at all", "source.spm"},
           {"target.spm", spm.substr(0, spm.size() / 2), "target.spm"},
           {"target.spm", spm.substr(0, 1000), "target.spm"},
           {"vocab.json", "", "JSON"},
           {"vocab.json", "{\"a\": 1", "JSON"},
           {"vocab.json", "[1, 2]", "object"},
           {"vocab.json", "3", "object"},
           {"vocab.json", "{}", "pieces"},
           {"vocab.json", "{\"a\": \"b\"}", "number"},
           {"vocab.json", "{\"a\": -1}", "number"},
           {"vocab.json", "{\"a\": 1.5}", "number"},
           {"vocab.json", "{\"a\": {}}", "flat"},
           {"vocab.json", "{\"a\": 4294967296}", "\"a\""},
           {"vocab.json", "{\"a\": 0, \"<unk>\": 1}", "</s>"},
           {"vocab.json", "{\"</s>\": 0}", "<unk>"},
           {"tokenizer_config.json", "[]", "tokenizer_config.json"},
           {"tokenizer_config.json", "{\"separate_vocabs\": 1}",
            "separate_vocabs"}}) {
    const TokenizerFolder folder;
    folder.Write(broken.file, broken.contents);
    EXPECT_THAT(ErrorOf(folder),
                IsError(StatusCode::kInvalidArgument, broken.place))
        << broken.contents;
  }
  const TokenizerFolder folder;
  folder.Write("tokenizer_config.json", "{\"separate_vocabs\": true}");
  EXPECT_THAT(ErrorOf(folder),
              IsError(StatusCode::kNotFound, "target_vocab.json"));
}

TEST(TokenizerFactoryTest, RefusesDeepJson) {
  const TokenizerFolder folder;
  folder.Write("vocab.json", std::string(1000000, '['));
  EXPECT_THAT(ErrorOf(folder),
              IsError(StatusCode::kInvalidArgument, "vocab.json"));
  const TokenizerFolder other;
  other.Write("tokenizer_config.json", std::string(100000, '['));
  EXPECT_THAT(ErrorOf(other),
              IsError(StatusCode::kInvalidArgument, "tokenizer_config.json"));
}

TEST(TokenizerFactoryTest, WorksWithoutAConfiguration) {
  const TokenizerFolder folder;
  folder.Remove("tokenizer_config.json");
  EXPECT_EQ(LoadOrDie(folder.path())->Encode("a", {}).value().ids.back(), 0);
}

// A target vocabulary whose ids are the source's in reverse.
TEST(TokenizerFactoryTest, ReadsSeparateVocabularies) {
  const TokenizerFolder folder;
  const nlohmann::json vocabulary =
      nlohmann::json::parse(ReadAll(std::string(kEmbedded) + "/vocab.json"));
  const int last = static_cast<int>(vocabulary.size()) - 1;
  nlohmann::json target;
  for (const auto& [piece, id] : vocabulary.items()) {
    target[piece] = last - id.get<int>();
  }
  folder.Write("target_vocab.json", target.dump());
  const std::string text = "I ate an 😀 apple.";
  for (const char* config : {"{}", "{\"separate_vocabs\": true}"}) {
    folder.Write("tokenizer_config.json", config);
    const auto tokenizer = LoadOrDie(folder.path());
    const auto source = tokenizer->Encode(text, {}).value().ids;
    const auto encoded =
        tokenizer->Encode(text, {.side = TextSide::kTarget}).value().ids;
    ASSERT_EQ(source.size(), encoded.size());
    for (size_t i = 0; i < source.size(); ++i) {
      EXPECT_EQ(encoded[i], last - source[i]);
    }
    EXPECT_EQ(tokenizer->Decode(encoded), text);
    EXPECT_EQ(tokenizer->IdToPiece(last, TextSide::kTarget), "</s>");
    EXPECT_EQ(tokenizer->IdToPiece(8000, TextSide::kSource), "<pad>");
  }
  // The file is not used if the vocabularies are said to be shared.
  folder.Write("tokenizer_config.json", "{\"separate_vocabs\": false}");
  EXPECT_EQ(LoadOrDie(folder.path())->IdToPiece(0, TextSide::kTarget), "</s>");
}

TEST(TokenizerFactoryTest, ReadsSpecialTokensOfTheConfiguration) {
  const TokenizerFolder folder;
  folder.Write("tokenizer_config.json",
               "{\"eos_token\": {\"content\": \"<0x41>\"}, \"pad_token\": "
               "\"<0x42>\", \"unk_token\": null}");
  const auto tokenizer = LoadOrDie(folder.path());
  const int32_t end = tokenizer->PieceToId("<0x41>", TextSide::kSource);
  EXPECT_THAT(tokenizer->Encode("", {}).value().ids, ElementsAre(end));
}

TEST(TokenizerFactoryTest, CleansUpSpacesIfConfigured) {
  const TokenizerFolder folder;
  const std::string text = "Yes . No ? It 's ' x ' n't  . a  , b";
  const auto ids = LoadOrDie(folder.path())
                       ->Encode(text, {.add_special_tokens = false})
                       .value()
                       .ids;
  folder.Write("tokenizer_config.json",
               "{\"clean_up_tokenization_spaces\": true}");
  const auto tokenizer = LoadOrDie(folder.path());
  // Like Transformers' clean_up_tokenization (double spaces are gone before).
  EXPECT_EQ(tokenizer->Decode(ids), "Yes. No? It's'x'n't. a, b");
  std::string joined;
  for (const std::string& part : Stream(*tokenizer, ids)) joined += part;
  EXPECT_EQ(joined, tokenizer->Decode(ids));
}

}  // namespace
}  // namespace trivium
