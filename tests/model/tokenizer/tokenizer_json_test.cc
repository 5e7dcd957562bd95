#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/model/tokenizer/tokenizer_test_util.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

using Json = nlohmann::json;

constexpr char kLine[] = "\xE2\x96\x81";  // SentencePiece's visible space

Json Unigram() {
  Json vocabulary = Json::array();
  for (const auto& [piece, score] : std::vector<std::pair<std::string, double>>{
           {"<unk>", 0.0},
           {kLine, -2.0},
           {std::string(kLine) + "ab", -1.0},
           {"a", -3.0},
           {"b", -3.0},
           {"c", -3.0},
           {"fi", -1.0}}) {
    vocabulary.push_back(Json::array({piece, score}));
  }
  return {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocabulary}};
}

Json Bpe() {
  return {{"type", "BPE"},
          {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}, {" ", 3}, {"1", 4}}},
          {"merges", {"a b"}}};
}

class TokenizerJsonTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Tokenizer>> TryLoad(const Json& json) {
    folder_.Write("tokenizer.json", json.dump());
    return LoadTokenizer(folder_.path());
  }
  std::unique_ptr<Tokenizer> Load(const Json& json) {
    auto tokenizer = TryLoad(json);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    return *std::move(tokenizer);
  }
  absl::Status ErrorOf(const Json& json) { return TryLoad(json).status(); }
  // Returns the texts that the pre-tokenizer leaves of a text: every word is
  // unknown to the model.
  std::vector<std::string> Words(const Json& pre_tokenizer,
                                 const std::string& text) {
    const auto tokenizer =
        Load({{"pre_tokenizer", pre_tokenizer},
              {"model", {{"type", "WordPiece"}, {"vocab", {{"[UNK]", 0}}}}}});
    std::vector<std::string> words;
    const auto tokens = tokenizer->Tokenize(text, {}).value();
    for (const Token& token : tokens) {
      words.push_back(
          text.substr(token.byte_begin, token.byte_end - token.byte_begin));
    }
    return words;
  }

  ScratchFolder folder_;
};

TEST_F(TokenizerJsonTest, NamesUnsupportedParts) {
  for (const auto& [section, part, place] :
       std::vector<std::tuple<const char*, Json, const char*>>{
           {"normalizer", {{"type", "ByteLevel"}}, "\"ByteLevel\""},
           {"normalizer",
            {{"type", "Sequence"}, {"normalizers", {{{"type", "Foo"}}}}},
            "\"Foo\""},
           {"pre_tokenizer",
            {{"type", "UnicodeScripts"}},
            "\"UnicodeScripts\""},
           {"post_processor", {{"type", "X"}}, "\"X\""},
           {"decoder", {{"type", "CTC"}}, "\"CTC\""},
           {"decoder",
            {{"type", "Sequence"},
             {"decoders", {{{"type", "Fuse"}}, {{"type", "Metaspace"}}}}},
            "\"Fuse\""},
           {"model", {{"type", "WordLevel"}}, "\"WordLevel\""}}) {
    Json json = {{"model", Bpe()}};
    json[section] = part;
    EXPECT_THAT(ErrorOf(json), IsError(StatusCode::kUnimplemented, place));
    EXPECT_THAT(ErrorOf(json),
                IsError(StatusCode::kUnimplemented, "tokenizer.json"));
  }
  Json dropout = Bpe();
  dropout["dropout"] = 0.1;
  EXPECT_THAT(ErrorOf({{"model", dropout}}),
              IsError(StatusCode::kUnimplemented, "dropout"));
}

TEST_F(TokenizerJsonTest, NamesBrokenParts) {
  Json merges = Bpe();
  merges["merges"] = {"a"};
  Json ids = Bpe();
  ids["vocab"]["a"] = -1;
  Json scores = Unigram();
  scores["vocab"][1] = Json::array({1, 2});
  Json unknown = Unigram();
  unknown["unk_id"] = 7;
  for (const auto& [section, part, place] :
       std::vector<std::tuple<const char*, Json, const char*>>{
           {"model", nullptr, "model"},
           {"model", {{"type", "BPE"}}, "vocabulary"},
           {"model", merges, "merge 0"},
           {"model", ids, "\"a\""},
           {"model", scores, "piece 1"},
           {"model", unknown, "unk_id"},
           {"normalizer", {{"type", "Sequence"}}, "normalizers"},
           {"normalizer", {{"type", "Replace"}}, "pattern"},
           {"normalizer",
            {{"type", "Replace"}, {"pattern", {{"Regex", "("}}}},
            "\"(\""},
           {"normalizer",
            {{"type", "Precompiled"}, {"precompiled_charsmap", "?"}},
            "base64"},
           {"normalizer",
            {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA"}},
            "table"},
           {"pre_tokenizer",
            {{"type", "Split"}, {"behavior", "Sideways"}},
            "Sideways"},
           {"post_processor", {{"type", "BertProcessing"}}, "cls"},
           {"post_processor",
            {{"type", "TemplateProcessing"},
             {"single", {{{"SpecialToken", {{"id", "[CLS]"}}}}}}},
            "[CLS]"},
           {"added_tokens", {1}, "added token 0"}}) {
    Json json = {{"model", Bpe()}};
    json[section] = part;
    EXPECT_THAT(ErrorOf(json), IsError(StatusCode::kInvalidArgument, place))
        << part.dump();
  }
  folder_.Write("tokenizer.json", "[");
  EXPECT_THAT(LoadTokenizer(folder_.path()).status(),
              IsError(StatusCode::kInvalidArgument, "JSON"));
}

TEST_F(TokenizerJsonTest, SplitsByPatterns) {
  const auto split = [](const char* behavior, bool invert) -> Json {
    return {{"type", "Split"},
            {"pattern", {{"String", "-"}}},
            {"behavior", behavior},
            {"invert", invert}};
  };
  const std::string text = "the-final--countdown";
  EXPECT_THAT(Words(split("Removed", false), text),
              ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(Words(split("Isolated", false), text),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(Words(split("MergedWithPrevious", false), text),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(Words(split("MergedWithNext", false), text),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(Words(split("Contiguous", false), text),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(Words(split("Removed", true), text), ElementsAre("-", "-", "-"));
  EXPECT_THAT(Words({{"type", "Punctuation"}}, "a,b\xE3\x80\x82 c"),
              ElementsAre("a", ",", "b", "\xE3\x80\x82", " c"));
  EXPECT_THAT(Words({{"type", "Digits"}, {"individual_digits", true}}, "a12"),
              ElementsAre("a", "1", "2"));
  EXPECT_THAT(Words({{"type", "Digits"}}, "a12b"), ElementsAre("a", "12", "b"));
  EXPECT_THAT(Words({{"type", "Whitespace"}}, "it's \xC3\xA9t\xC3\xA9, 1_a"),
              ElementsAre("it", "'", "s", "\xC3\xA9t\xC3\xA9", ",", "1_a"));
  EXPECT_THAT(Words({{"type", "WhitespaceSplit"}}, " a\xE3\x80\x80 b\n"),
              ElementsAre("a", "b"));
  // Characters of four bytes are two units for the matcher of expressions.
  EXPECT_THAT(Words({{"type", "Split"},
                     {"pattern", {{"Regex", "\\p{L}+"}}},
                     {"behavior", "Isolated"}},
                    "\xF0\x9F\x98\x80"
                    "a\xF0\x90\x90\x80!"),
              ElementsAre("\xF0\x9F\x98\x80", "a\xF0\x90\x90\x80", "!"));
}

TEST_F(TokenizerJsonTest, MetaspaceReplacesSpaces) {
  const auto pieces = [&](const char* scheme, bool split,
                          const std::string& text) {
    const auto tokenizer =
        Load({{"model", Unigram()},
              {"pre_tokenizer",
               {{"type", "Metaspace"},
                {"replacement", kLine},
                {"prepend_scheme", scheme},
                {"split", split}}},
              {"added_tokens",
               {{{"id", 7}, {"content", "<x>"}, {"normalized", false}}}}});
    return Pieces(tokenizer->Tokenize(text, {}).value());
  };
  const std::string line = kLine;
  EXPECT_EQ(pieces("always", true, "ab ab<x>ab"),
            line + "ab " + line + "ab <x> " + line + "ab");
  EXPECT_EQ(pieces("first", true, "ab ab<x>ab"),
            line + "ab " + line + "ab <x> a b");
  EXPECT_EQ(pieces("never", false, "ab ab<x>ab"), "a b " + line + "ab <x> a b");
  EXPECT_EQ(pieces("always", false, " ab"), line + "ab");
}

TEST_F(TokenizerJsonTest, NormalizersKeepOffsets) {
  const auto tokens = [&](const Json& normalizer, const std::string& text) {
    return Load({{"model", Unigram()}, {"normalizer", normalizer}})
        ->Tokenize(text, {})
        .value();
  };
  // U+FB01 is one character of three bytes and becomes two.
  EXPECT_EQ(Offsets(tokens({{"type", "NFKC"}},
                           "a\xEF\xAC\x81"
                           "b")),
            "0-1 1-4 4-5");
  EXPECT_EQ(Offsets(tokens({{"type", "Strip"}}, "  ab ")), "2-3 3-4");
  EXPECT_EQ(Offsets(tokens({{"type", "Prepend"}, {"prepend", kLine}}, "ab")),
            "0-2");
  EXPECT_EQ(Offsets(tokens({{"type", "Replace"},
                            {"pattern", {{"Regex", "x+"}}},
                            {"content", "b"}},
                           "axxxa")),
            "0-1 3-4 4-5");
  EXPECT_EQ(Pieces(tokens({{"type", "Sequence"},
                           {"normalizers",
                            {{{"type", "NFD"}},
                             {{"type", "StripAccents"}},
                             {{"type", "Lowercase"}}}}},
                          "\xC3\x81")),
            "a");
}

// A trie with one entry: "x" becomes "bc".
TEST_F(TokenizerJsonTest, PrecompiledNormalizerUsesItsTable) {
  std::vector<uint32_t> trie(512, 0);
  trie[0] = 1u << 10;  // children at 1 ^ label
  const uint32_t node = 1u ^ 'x';
  const uint32_t leaf = 256;
  trie[node] = ((node ^ leaf) << 10) | (1u << 8) | 'x';
  trie[leaf] = 1;  // after the first byte
  std::string charsmap;
  const auto append = [&charsmap](uint32_t unit) {
    for (int i = 0; i < 4; ++i) charsmap += static_cast<char>(unit >> (8 * i));
  };
  append(static_cast<uint32_t>(trie.size() * 4));
  for (const uint32_t unit : trie) append(unit);
  charsmap += std::string("?bc\0", 4);
  std::string base64;
  absl::Base64Escape(charsmap, &base64);
  const auto tokenizer =
      Load({{"model", Unigram()},
            {"normalizer",
             {{"type", "Precompiled"}, {"precompiled_charsmap", base64}}}});
  const auto tokens = tokenizer->Tokenize("axa", {}).value();
  EXPECT_EQ(Pieces(tokens), "a b c a");
  EXPECT_EQ(Offsets(tokens), "0-1 1-2 1-2 2-3");
  // Far outside the table.
  trie[node] = (0x1FFFFFu << 10) | (1u << 8) | 'x';
  charsmap.clear();
  append(static_cast<uint32_t>(trie.size() * 4));
  for (const uint32_t unit : trie) append(unit);
  absl::Base64Escape(charsmap, &base64);
  EXPECT_EQ(
      Load({{"model", Unigram()},
            {"normalizer",
             {{"type", "Precompiled"}, {"precompiled_charsmap", base64}}}})
          ->Tokenize("x", {})
          .value()
          .size(),
      1u);
}

TEST_F(TokenizerJsonTest, TemplatesMayHaveSeveralTokens) {
  const Json special = {{"SpecialToken", {{"id", "S"}, {"type_id", 2}}}};
  const auto sequence = [](const char* id, int type) -> Json {
    return {{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  const auto tokenizer = Load(
      {{"model", Bpe()},
       {"post_processor",
        {{"type", "TemplateProcessing"},
         {"single", {special, sequence("A", 1)}},
         {"pair", {sequence("B", 3), special, sequence("A", 1)}},
         {"special_tokens",
          {{"S", {{"id", "S"}, {"ids", {8, 9}}, {"tokens", {"x", "y"}}}}}}}}});
  EXPECT_THAT(tokenizer->Encode("ab", {}).value().ids, ElementsAre(8, 9, 2));
  const Encoding pair = tokenizer->EncodePair("ab", "1", {}).value();
  EXPECT_THAT(pair.ids, ElementsAre(4, 8, 9, 2));
  EXPECT_THAT(pair.type_ids, ElementsAre(3, 2, 2, 1));
  EXPECT_EQ(tokenizer->special_token_count(false), 2);
}

TEST_F(TokenizerJsonTest, DecodersStreamWhatTheyDecode) {
  Json model = Bpe();
  model["vocab"] = {{"<0xE4>", 0}, {"<0xBA>", 1}, {"<0xBA>x", 2},
                    {kLine, 3},    {"a", 4},      {"<0xba>", 5}};
  model["merges"] = Json::array();
  const Json replace = {
      {"type", "Replace"}, {"pattern", {{"String", kLine}}}, {"content", " "}};
  const Json strip = {
      {"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 1}};
  const auto decode = [&](const Json& decoder, std::vector<int32_t> ids) {
    const auto tokenizer = Load({{"model", model}, {"decoder", decoder}});
    std::string streamed;
    for (const std::string& part : Stream(*tokenizer, ids)) streamed += part;
    const std::string text = tokenizer->Decode(ids);
    EXPECT_EQ(streamed, text);
    return text;
  };
  const Json llama = {
      {"type", "Sequence"},
      {"decoders",
       {replace, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip}}};
  EXPECT_EQ(decode(llama, {3, 3, 4, 0, 1, 5, 3, 4, 3}), " a\xE4\xBA\xBA a");
  EXPECT_EQ(decode(llama, {0, 1, 4}),
            "\xEF\xBF\xBD\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(decode(llama, {4, 3, 3}), "a ");
  // Without Fuse, each piece is stripped.
  EXPECT_EQ(decode({{"type", "Sequence"}, {"decoders", {replace, strip}}},
                   {3, 4, 3, 4}),
            "aa");
  EXPECT_EQ(
      decode({{"type", "Metaspace"}, {"replacement", kLine}}, {3, 4, 3, 4}),
      "a a");
  EXPECT_EQ(decode(nullptr, {4, 4}), "a a");
}

TEST_F(TokenizerJsonTest, AddsTokensOfTheConfiguration) {
  folder_.Write("tokenizer_config.json",
                "{\"mask_token\": \"<m>\", \"pad_token\": \"b\"}");
  const auto tokenizer = Load({{"model", Bpe()}});
  EXPECT_EQ(tokenizer->special_token_ids().mask, 5);
  EXPECT_EQ(tokenizer->special_token_ids().padding, 1);
  EXPECT_THAT(tokenizer->Encode("a<m>", {}).value().ids, ElementsAre(0, 5));
}

}  // namespace
}  // namespace trivium
