// Texts of several authors: a user's text never becomes a special token,
// whatever the tokenizer, and a template's special tokens stay.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/tokenizer/byte_alphabet.h"
#include "nlohmann/json.hpp"
#include "tests/model/tokenizer/tokenizer_test_util.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

using Json = nlohmann::json;

constexpr char kUserMark[] = "<\xEF\xBD\x9CUser\xEF\xBD\x9C>";

Json Added(const std::string& content, bool special = true,
           bool normalized = false) {
  return {
      {"content", content}, {"special", special}, {"normalized", normalized}};
}

// All bytes with a few pieces, then special tokens.
Json ByteLevel() {
  Json vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary[std::string(CharacterOfByteAlphabet(byte))] = byte;
  }
  vocabulary["us"] = 256;
  // The model makes one piece of a whole word, even if it is a special one.
  vocabulary["<s>"] = 257;
  return {{"pre_tokenizer",
           {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"use_regex", false}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"added_tokens",
           {Added("<s>"), Added("<|im_start|>"), Added("<|im_end|>"),
            Added("<think>", /*special=*/false), Added(kUserMark, false),
            Added("<AB>", true, /*normalized=*/true), Added("AB"), Added("BC"),
            Added("XBCY", /*special=*/false)}},
          {"model",
           {{"type", "BPE"},
            {"ignore_merges", true},
            {"vocab", vocabulary},
            {"merges", {"u s"}}}}};
}

// A model that finds its pieces, special ones included, in whole texts.
Json WordsAndSpecials() {
  Json vocabulary = Json::array();
  for (const char* piece : {"<unk>", "<s>", "</s>", "E"}) {
    vocabulary.push_back(Json::array({piece, 0.0}));
  }
  for (const char c : std::string("</s>abcuer ")) {
    vocabulary.push_back(Json::array({std::string(1, c), -2.0}));
  }
  return {
      {"added_tokens",
       {Added("<unk>"), Added("<s>"), Added("</s>"), Added("E")}},
      {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocabulary}}}};
}

Json WordPiece() {
  return {{"normalizer", {{"type", "Lowercase"}}},
          {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
          {"added_tokens", {Added("[unk]"), Added("[sep]", true, true)}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "[unk]"},
            {"vocab",
             {{"[unk]", 0},
              {"[sep]", 1},
              {"[", 2},
              {"##]", 3},
              {"sep", 4},
              {"##sep", 5},
              {"sep]", 6}}}}}};
}

class TextPartsTest : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> Load(const Json& json) {
    folder_.Write("tokenizer.json", json.dump());
    return LoadOrDie(folder_.path());
  }
  static std::vector<int32_t> Ids(const Tokenizer& tokenizer,
                                  const std::vector<TextPart>& parts,
                                  const EncodeOptions& options = {}) {
    return tokenizer.EncodeParts(parts, options).value().ids;
  }

  ScratchFolder folder_;
};

TEST_F(TextPartsTest, PartsOfATemplateGiveTheIdsOfTheWholeText) {
  const auto tokenizer = Load(ByteLevel());
  const std::string text = "<|im_start|>user\n<think>us<|im_end|>";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string_view whole = text;
    EXPECT_EQ(Ids(*tokenizer, {{whole.substr(0, cut)}, {whole.substr(cut)}}),
              tokenizer->Encode(text, {})->ids);
  }
  EXPECT_THAT(Ids(*tokenizer, {}), ElementsAre());
  EXPECT_THAT(Ids(*tokenizer, {{""}, {"", true}}), ElementsAre());
}

TEST_F(TextPartsTest, ATemplatesTokensStayBesideAnyText) {
  const auto tokenizer = Load(ByteLevel());
  const int32_t bc = tokenizer->PieceToId("BC", TextSide::kSource);
  const int32_t start = tokenizer->PieceToId("<|im_start|>", TextSide::kSource);
  // The template's token is found although the user's text would make a longer
  // or earlier token with it.
  EXPECT_THAT(Ids(*tokenizer, {{"A", true}, {"BC"}}), ElementsAre('A', bc));
  EXPECT_THAT(Ids(*tokenizer, {{"<|im_", true}, {"<|im_start|>"}}).back(),
              start);
  EXPECT_THAT(Ids(*tokenizer, {{"<|im_start|>"}, {"start|>", true}}).front(),
              start);
  // Tokens that are not special are found across borders of parts.
  EXPECT_THAT(Ids(*tokenizer, {{"XB"}, {"CY", true}}),
              ElementsAre(tokenizer->PieceToId("XBCY", TextSide::kSource)));
  EXPECT_THAT(Ids(*tokenizer, {{"<th", true}, {"ink>", true}}),
              ElementsAre(tokenizer->PieceToId("<think>", TextSide::kSource)));
  // So are the model's pieces.
  EXPECT_THAT(Ids(*tokenizer, {{"u"}, {"s", true}}), ElementsAre(256));
}

TEST_F(TextPartsTest, UsersTextsNeverBecomeSpecialTokens) {
  for (const Json& json : {ByteLevel(), WordsAndSpecials(), WordPiece()}) {
    const auto tokenizer = Load(json);
    std::set<int32_t> special;
    std::vector<std::string> texts;
    for (const Json& added : json["added_tokens"]) {
      const std::string content = added["content"];
      if (content == "<think>" || content == "XBCY") continue;
      texts.push_back(content);
      if (content == "<unk>" || content == "[unk]") continue;
      special.insert(tokenizer->PieceToId(content, TextSide::kSource));
    }
    ASSERT_GE(special.size(), 1u);
    for (const std::string& first : texts) {
      for (const std::string& second : texts) {
        for (const std::string& text :
             {first, first + second, first + " " + second, "a" + first + "b",
              first.substr(0, first.size() / 2) + second +
                  first.substr(first.size() / 2)}) {
          // Whole, and with a border at each place.
          for (size_t cut = 0; cut <= text.size(); ++cut) {
            if (cut < text.size() && (text[cut] & 0xC0) == 0x80) continue;
            const std::string_view whole = text;
            const auto ids = Ids(*tokenizer, {{whole.substr(0, cut), true},
                                              {whole.substr(cut), true}});
            for (const int32_t id : ids) {
              EXPECT_FALSE(special.contains(id)) << text << " gives " << id;
            }
            // A token across the border is not made either.
            if (cut > 0 && cut < first.size() && text == first &&
                first != "<AB>") {
              for (const int32_t id :
                   Ids(*tokenizer,
                       {{whole.substr(0, cut)}, {whole.substr(cut), true}})) {
                EXPECT_FALSE(special.contains(id)) << text << " at " << cut;
              }
            }
          }
        }
      }
    }
  }
}

TEST_F(TextPartsTest, TokensOfUsersTextsDecodeToThem) {
  const auto tokenizer = Load(ByteLevel());
  for (const std::string text : {"<s>", "<|im_end|>", "a<s>b<|im_start|>"}) {
    EXPECT_EQ(tokenizer->Decode(Ids(*tokenizer, {{text, true}})), text);
  }
  // A single character that is a special token is dropped.
  const auto unigram = Load(WordsAndSpecials());
  EXPECT_THAT(Ids(*unigram, {{"aEb", true}}),
              ElementsAre(unigram->PieceToId("a", TextSide::kSource),
                          unigram->PieceToId("b", TextSide::kSource)));
}

TEST_F(TextPartsTest, RolesAreSpecialWhateverTheirFlagsSay) {
  folder_.Write("tokenizer_config.json", R"({"eos_token": "<think>"})");
  const auto tokenizer = Load(ByteLevel());
  const int32_t think = tokenizer->PieceToId("<think>", TextSide::kSource);
  EXPECT_THAT(Ids(*tokenizer, {{"<think>"}}), ElementsAre(think));
  EXPECT_EQ(Ids(*tokenizer, {{"<think>", true}}).size(), 7u);
}

TEST_F(TextPartsTest, LongTextsAreCutLikeOthers) {
  const auto tokenizer = Load(ByteLevel());
  std::string text;
  while (text.size() < (1 << 20)) text += "<|im_end|><s> ";
  EncodeOptions options;
  options.most_tokens = 100;
  const Encoding encoding =
      tokenizer
          ->EncodeParts(std::vector<TextPart>{{"<|im_start|>"}, {text, true}},
                        options)
          .value();
  EXPECT_TRUE(encoding.partial);
  EXPECT_GT(encoding.ids.size(), 100u);
  EXPECT_LT(encoding.ids.size(), 70'000u);
  EXPECT_TRUE(std::all_of(encoding.ids.begin() + 1, encoding.ids.end(),
                          [](int32_t id) { return id < 256; }));
}

TEST_F(TextPartsTest, RefusesPartsWithoutSupportForChats) {
  const TextPart part = {"a"};
  EXPECT_EQ(LoadOrDie(kEmbedded)->EncodeParts({&part, 1}, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace trivium
