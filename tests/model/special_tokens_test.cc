// A user's text never becomes a special token. Tries every special token of
// every tokenizer in the repository and among the downloaded files, as a user
// would write it: whole, and in two parts one of which is a template's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/model/gguf_vocabulary.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Returns the folders and files with a tokenizer, in and below `root`.
std::vector<std::string> TokenizersBelow(const char* root) {
  std::vector<std::string> paths;
  if (!fs::exists(root)) return paths;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const fs::path& path = entry.path();
    for (const char* name :
         {"tokenizer.json", "spiece.model", "sentencepiece.bpe.model",
          "tokenizer.model", "source.spm", "vocab.txt", "merges.txt"}) {
      if (path.filename() == name) paths.push_back(path.parent_path().string());
    }
    if (path.filename().string().starts_with("ggml-vocab-") &&
        path.extension() == ".gguf") {
      paths.push_back(path.string());
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizerOf(
    const std::string& path) {
  return path.ends_with(".gguf") ? LoadGgufVocabulary(path)
                                 : LoadTokenizer(path);
}

// Returns the texts that the files call special.
std::vector<std::string> DeclaredTexts(const std::string& path) {
  std::vector<std::string> texts;
  if (path.ends_with(".gguf")) {
    constexpr int kControl = 3;
    const auto file = MappedFile::Open(path);
    const GgufFile gguf = ReadGguf((*file)->bytes()).value();
    const json& types = gguf.metadata["tokenizer.ggml.token_type"];
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] != kControl) continue;
      texts.push_back(gguf.metadata["tokenizer.ggml.tokens"][i]);
    }
  } else if (fs::exists(path + "/tokenizer.json")) {
    const json tokenizer = ReadJsonFile(path + "/tokenizer.json").value();
    for (const json& token : tokenizer.value("added_tokens", json::array())) {
      if (token.value("special", false)) texts.push_back(token["content"]);
    }
  }
  return texts;
}

// Returns these tokens, and those that the tokenizer finds in texts and reports
// as special. The unknown token is not included: any text may become it.
std::map<int32_t, std::string> SpecialTokens(const Tokenizer& tokenizer,
                                             const std::string& path) {
  std::map<int32_t, std::string> specials;
  for (const std::string& text : DeclaredTexts(path)) {
    specials[tokenizer.PieceToId(text, TextSide::kSource)] = text;
  }
  EXPECT_FALSE(specials.contains(-1)) << specials[-1] << " has no id";
  EncodeOptions options;
  options.add_special_tokens = false;
  const int size = tokenizer.vocabulary_size(TextSide::kSource);
  for (int32_t id = 0; id < size; ++id) {
    const std::string text = tokenizer.IdToPiece(id, TextSide::kSource);
    if (text.empty()) continue;
    const auto tokens = tokenizer.Tokenize(text, options);
    if (tokens.ok() && tokens->size() == 1 && tokens->front().id == id &&
        tokens->front().special) {
      specials[id] = text;
    }
  }
  const SpecialTokenIds roles = tokenizer.special_token_ids();
  // (In GPT-2's kind it is also the end token, and no text becomes it.)
  if (roles.unknown != roles.end) specials.erase(roles.unknown);
  // A folder may name it in tokenizer.json alone.
  if (fs::exists(path + "/tokenizer.json")) {
    const json model = ReadJsonFile(path + "/tokenizer.json").value()["model"];
    if (model.contains("unk_token") && model["unk_token"].is_string()) {
      const auto id = tokenizer.PieceToId(model["unk_token"].get<std::string>(),
                                          TextSide::kSource);
      if (id != roles.end) specials.erase(id);
    }
  }
  return specials;
}

class SpecialTokensTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto tokenizer = LoadTokenizerOf(GetParam());
    if (absl::IsUnimplemented(tokenizer.status())) {
      GTEST_SKIP() << tokenizer.status();
    }
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    tokenizer_ = *std::move(tokenizer);
    const TextPart part = {"a", /*literal=*/true};
    if (absl::IsFailedPrecondition(
            tokenizer_->EncodeParts({&part, 1}, {}).status())) {
      GTEST_SKIP() << "a tokenizer that reads no chats";
    }
    specials_ = SpecialTokens(*tokenizer_, GetParam());
    ASSERT_FALSE(specials_.empty());
  }

  // Checks that no special token contains a byte of a literal part.
  void ExpectText(const std::vector<TextPart>& parts) {
    EncodeOptions options;
    options.add_special_tokens = false;
    options.with_tokens = true;
    const auto encoding = tokenizer_->EncodeParts(parts, options);
    ASSERT_TRUE(encoding.ok()) << encoding.status();
    int begin = 0;
    std::string all;
    for (const TextPart& part : parts) {
      const int end = begin + static_cast<int>(part.text.size());
      all += fmt::format("{}{}|", part.literal ? "user: " : "", part.text);
      for (const Token& token : encoding->tokens) {
        const bool of_part = token.byte_begin < end && token.byte_end > begin;
        EXPECT_FALSE(part.literal && of_part && specials_.contains(token.id))
            << all << " has " << token.piece;
      }
      begin = end;
    }
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  std::map<int32_t, std::string> specials_;
};

TEST_P(SpecialTokensTest, AreNeverMadeOfUsersTexts) {
  for (const auto& [id, special] : specials_) {
    for (const auto& [before, behind] :
         {std::pair("", ""), {"a", "b"}, {"Well, ", " is it?"}, {" ", "\n"}}) {
      ExpectText({{before + special + behind, true}});
      ExpectText({{before}, {special, true}, {behind}});
    }
    ExpectText({{special + special, true}});
  }
}

// A part may end at any character of a special token.
TEST_P(SpecialTokensTest, AreNeverMadeAcrossBordersOfParts) {
  for (const auto& [id, special] : specials_) {
    const std::string_view text = special;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if ((text[cut] & 0xC0) == 0x80) continue;
      const std::string_view head = text.substr(0, cut),
                             tail = text.substr(cut);
      ExpectText({{head, true}, {tail, true}});
      ExpectText({{head}, {tail, true}});
      ExpectText({{head, true}, {tail}});
      ExpectText({{"a"}, {head, true}, {tail}, {"b", true}});
      // One special token inside another.
      const std::string around = fmt::format("{}{}{}", head, special, tail);
      ExpectText({{around, true}});
    }
  }
}

// The same texts in a template are those tokens.
TEST_P(SpecialTokensTest, AreMadeOfTemplatesTexts) {
  EncodeOptions options;
  options.add_special_tokens = false;
  int found = 0;
  for (const auto& [id, special] : specials_) {
    const std::vector<TextPart> parts = {{"a", true}, {special}, {"b", true}};
    const auto encoding = tokenizer_->EncodeParts(parts, options);
    ASSERT_TRUE(encoding.ok()) << encoding.status();
    found += std::count(encoding->ids.begin(), encoding->ids.end(), id);
  }
  EXPECT_EQ(found, static_cast<int>(specials_.size()));
}

std::vector<std::string> Committed() {
  std::vector<std::string> paths = TokenizersBelow("tests");
  for (const std::string& path : TokenizersBelow("model/embedded")) {
    paths.push_back(path);
  }
  return paths;
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = fmt::format("{}_{}", info.index,
                                 fs::path(info.param).filename().string());
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !isalnum(c); },
      '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Committed, SpecialTokensTest,
                         testing::ValuesIn(Committed()), TestName);
INSTANTIATE_TEST_SUITE_P(
    Downloaded, SpecialTokensTest,
    testing::ValuesIn(TokenizersBelow("../shared/material/tokenizers")),
    TestName);

}  // namespace
}  // namespace trivium
