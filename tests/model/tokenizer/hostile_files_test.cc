// Tokenizer files that were made to crash, hang or fill the process. Each must
// be refused with a message, or finish in bounded time.

#include <sys/stat.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/model/tokenizer/tokenizer_test_util.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;

using Json = nlohmann::json;

class HostileFilesTest : public testing::Test {
 protected:
  absl::Status Error() { return LoadTokenizer(folder_.path()).status(); }
  // Returns the error of a tokenizer.json with one section.
  absl::Status ErrorOf(const char* section, const Json& value) {
    WriteJson(section, value);
    return Error();
  }
  std::unique_ptr<Tokenizer> LoadWith(const char* section, const Json& value) {
    WriteJson(section, value);
    return LoadOrDie(folder_.path());
  }

  ScratchFolder folder_;

 private:
  void WriteJson(const char* section, const Json& value) {
    Json json = {{"model", {{"type", "WordPiece"}, {"vocab", {{"[UNK]", 0}}}}}};
    json[section] = value;
    folder_.Write("tokenizer.json", json.dump());
  }
};

// {"type": "Sequence", "normalizers": [{"type": "Sequence", ...
std::string NestedSequences(const std::string& section, const std::string& list,
                            int depth) {
  std::string text = "{\"" + section + "\": ";
  for (int i = 0; i < depth; ++i) {
    text += "{\"type\": \"Sequence\", \"" + list + "\": [";
  }
  for (int i = 0; i < depth; ++i) text += "]}";
  return text + "}";
}

TEST_F(HostileFilesTest, RefusesDeepNesting) {
  for (const auto& [section, list] : {std::pair("normalizer", "normalizers"),
                                      {"pre_tokenizer", "pretokenizers"},
                                      {"post_processor", "processors"},
                                      {"decoder", "decoders"}}) {
    folder_.Write("tokenizer.json", NestedSequences(section, list, 100'000));
    EXPECT_THAT(Error(),
                IsError(StatusCode::kInvalidArgument, "tokenizer.json"));
  }
  const std::string deep = std::string(100'000, '[');
  folder_.Write("tokenizer.json", "{}");
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json",
                           "added_tokens.json", "config.json"}) {
    folder_.Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
    folder_.Remove("tokenizer.json");
    folder_.Write(name, "{\"x\": " + deep);
    EXPECT_THAT(Error(), IsError(StatusCode::kInvalidArgument, name)) << name;
    folder_.Write(name, "{}");
  }
}

TEST_F(HostileFilesTest, RefusesPipesAndDevices) {
  for (const char* name : {"vocab.txt", "tokenizer.json", "spiece.model"}) {
    const std::string path = folder_.path() + "/" + name;
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(Error(), IsError(StatusCode::kInvalidArgument, name));
    folder_.Remove(name);
    std::filesystem::create_symlink("/dev/zero", path);
    EXPECT_THAT(Error(), IsError(StatusCode::kInvalidArgument, name));
    folder_.Remove(name);
  }
}

TEST_F(HostileFilesTest, RefusesAnEmptyPieceOfSentencePiece) {
  // SentencePiece's trie throws for it. Adds a field of two bytes to the model:
  // a piece whose text is empty.
  const std::string good = ReadAll(std::string(kEmbedded) + "/source.spm");
  folder_.Write("spiece.model", good + std::string("\x0A\x02\x0A\x00", 4));
  EXPECT_THAT(Error(), IsError(StatusCode::kInvalidArgument, "spiece.model"));
}

TEST_F(HostileFilesTest, RefusesIdsFarBeyondThePieces) {
  folder_.Write("merges.txt", "#version\n");
  folder_.Write("vocab.json", R"({"a": 16777215})");
  EXPECT_THAT(Error(), IsError(StatusCode::kInvalidArgument, "16777215"));
  folder_.Remove("merges.txt");
  folder_.Remove("vocab.json");
  EXPECT_THAT(
      ErrorOf("model", {{"type", "WordPiece"}, {"vocab", {{"a", 16777215}}}}),
      IsError(StatusCode::kInvalidArgument, "\"a\""));
}

TEST_F(HostileFilesTest, RefusesAMetaspaceThatIsNotOneCharacter) {
  for (const char* replacement : {"", "ab", "\xE2\x96\x81\xE2\x96\x81"}) {
    const Json json = {{"type", "Metaspace"}, {"replacement", replacement}};
    EXPECT_THAT(ErrorOf("decoder", json),
                IsError(StatusCode::kInvalidArgument, "decoder"));
    EXPECT_THAT(ErrorOf("pre_tokenizer", json),
                IsError(StatusCode::kInvalidArgument, "Metaspace"));
  }
}

TEST_F(HostileFilesTest, GivesUpExpressionsThatTakeTooLong) {
  const std::string text = std::string(3000, 'a') + "!";
  const Json pattern = {{"Regex", "(a+)+$"}};
  const auto split = LoadWith(
      "pre_tokenizer",
      {{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}});
  EXPECT_THAT(split->Encode(text, {}).status(),
              IsError(StatusCode::kInvalidArgument, "(a+)+$"));
  EXPECT_TRUE(split->Encode("aaa!", {}).ok());
  const auto replace =
      LoadWith("normalizer",
               {{"type", "Replace"}, {"pattern", pattern}, {"content", "b"}});
  EXPECT_THAT(replace->EncodePair("a", text, {}).status(),
              IsError(StatusCode::kInvalidArgument, "(a+)+$"));
  // Steps that ICU does not count: quadratic in the text.
  const auto quadratic =
      LoadWith("pre_tokenizer", {{"type", "Split"},
                                 {"pattern", {{"Regex", "(?>[ab]*)c"}}},
                                 {"behavior", "Isolated"}});
  EXPECT_THAT(quadratic->Encode(std::string(1 << 18, 'a'), {}).status(),
              IsError(StatusCode::kInvalidArgument, "(?>[ab]*)c"));
  // Needs more stack than a search may have.
  const auto stack =
      LoadWith("pre_tokenizer", {{"type", "Split"},
                                 {"pattern", {{"Regex", "(?:a|b)+"}}},
                                 {"behavior", "Isolated"}});
  EXPECT_THAT(stack->Encode(std::string(1 << 22, 'a'), {}).status(),
              IsError(StatusCode::kInvalidArgument, "(?:a|b)+"));
  // A decoder has no text to refuse: the piece stays unchanged.
  Json json = {
      {"model", {{"type", "WordPiece"}, {"vocab", {{"[UNK]", 0}, {text, 1}}}}},
      {"decoder",
       {{"type", "Replace"}, {"pattern", pattern}, {"content", "b"}}}};
  folder_.Write("tokenizer.json", json.dump());
  EXPECT_EQ(LoadOrDie(folder_.path())->Decode(std::vector<int32_t>{1}), text);
}

TEST_F(HostileFilesTest, RefusesAddedTokensThatTakeTooLong) {
  Json json = {
      {"model", {{"type", "WordPiece"}, {"vocab", {{"[UNK]", 0}}}}},
      {"normalizer",
       {{"type", "Replace"},
        {"pattern", {{"Regex", "(a+)+$"}}},
        {"content", "b"}}},
      {"added_tokens",
       {{{"content", std::string(3000, 'a') + "!"}, {"normalized", true}}}}};
  folder_.Write("tokenizer.json", json.dump());
  EXPECT_THAT(Error(), IsError(StatusCode::kInvalidArgument, "normalizer"));
}

TEST_F(HostileFilesTest, RefusesTooManyAddedTokens) {
  Json tokens = Json::array();
  for (int i = 0; i < 1200; ++i) {
    tokens.push_back({{"content", std::to_string(i) + std::string(1000, 'x')}});
  }
  EXPECT_THAT(ErrorOf("added_tokens", tokens),
              IsError(StatusCode::kInvalidArgument, "1048576"));
}

TEST_F(HostileFilesTest, RefusesReplacementsThatGrowWithoutLimit) {
  Json steps = Json::array();
  for (int i = 0; i < 20; ++i) {
    steps.push_back({{"type", "Replace"},
                     {"pattern", {{"String", "a"}}},
                     {"content", "aaaaaaaaaa"}});
  }
  const auto replace =
      LoadWith("normalizer", {{"type", "Sequence"}, {"normalizers", steps}});
  EXPECT_THAT(replace->Encode("a", {}).status(),
              IsError(StatusCode::kResourceExhausted, "128"));
  EXPECT_TRUE(replace->Encode("b", {}).ok());
  Json json = {
      {"model", {{"type", "WordPiece"}, {"vocab", {{"[UNK]", 0}, {"a", 1}}}}},
      {"decoder", {{"type", "Sequence"}, {"decoders", steps}}}};
  folder_.Write("tokenizer.json", json.dump());
  EXPECT_LE(LoadOrDie(folder_.path())->Decode(std::vector<int32_t>{1}).size(),
            1u << 20);
}

TEST_F(HostileFilesTest, RefusesATemplateThatNamesATextTwice) {
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  EXPECT_THAT(ErrorOf("post_processor", {{"type", "TemplateProcessing"},
                                         {"single", {text, text}},
                                         {"pair", {text}}}),
              IsError(StatusCode::kInvalidArgument, "\"A\""));
}

TEST_F(HostileFilesTest, BoundsStepsAndExpressions) {
  Json steps = Json::array();
  for (int i = 0; i < 6000; ++i) steps.push_back({{"type", "Lowercase"}});
  EXPECT_THAT(
      ErrorOf("normalizer", {{"type", "Sequence"}, {"normalizers", steps}}),
      IsError(StatusCode::kInvalidArgument, "10000"));
  Json splits = Json::array();
  for (int i = 0; i < 20; ++i) {
    std::string expression;
    while (expression.size() < 4000) expression += "\\p{L}";
    splits.push_back({{"type", "Split"},
                      {"pattern", {{"Regex", expression}}},
                      {"behavior", "Isolated"}});
  }
  EXPECT_THAT(ErrorOf("pre_tokenizer",
                      {{"type", "Sequence"}, {"pretokenizers", splits}}),
              IsError(StatusCode::kInvalidArgument, "80000"));
  EXPECT_THAT(ErrorOf("pre_tokenizer",
                      {{"type", "Split"},
                       {"pattern", {{"Regex", std::string(5000, 'a')}}},
                       {"behavior", "Isolated"}}),
              IsError(StatusCode::kInvalidArgument, "5000"));
}

}  // namespace
}  // namespace trivium
