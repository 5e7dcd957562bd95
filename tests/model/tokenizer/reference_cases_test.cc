// Ids and decoded text of real vocabularies, from Hugging Face's tokenizers.
// The files are downloaded and not part of the repository. CTest runs this test
// separately and shows it as skipped without them.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"
#include "tests/model/tokenizer/tokenizer_test_util.h"

namespace trivium {
namespace {

class ReferenceCasesTest : public testing::TestWithParam<const char*> {};

TEST_P(ReferenceCasesTest, EqualsTheReference) {
  const std::filesystem::path material = "../shared/material/tokenizers/hf";
  const std::string name = GetParam();
  if (!std::filesystem::exists(material)) {
    GTEST_SKIP() << "skipped: there is no folder " << material;
  }
  std::ifstream expected(material / "expected" / (name + ".jsonl"));
  ASSERT_TRUE(expected) << material << " has no " << name;
  const auto tokenizer = LoadOrDie((material / name).string());
  int count = 0;
  for (std::string line; std::getline(expected, line); ++count) {
    const nlohmann::json reference = nlohmann::json::parse(line);
    const std::string text = reference["text"];
    SCOPED_TRACE(text);
    const std::vector<int32_t> ids = reference["ids"];
    EXPECT_EQ(tokenizer->Encode(text, {}).value().ids, ids);
    const std::vector<Token> tokens = tokenizer->Tokenize(text, {}).value();
    ASSERT_EQ(tokens.size(), ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(tokens[i].id, ids[i]);
      EXPECT_LE(tokens[i].byte_begin, tokens[i].byte_end);
      EXPECT_LE(tokens[i].byte_end, static_cast<int>(text.size()));
    }
    EXPECT_EQ(tokenizer->Decode(ids), reference["decoded"]);
    std::string streamed;
    for (const std::string& part : Stream(*tokenizer, ids)) streamed += part;
    EXPECT_EQ(streamed, reference["decoded"]);
  }
  EXPECT_GE(count, 500);
}

// Each piece of the vocabulary, special ones included, as a user's text.
TEST_P(ReferenceCasesTest, NoPieceBecomesASpecialTokenOfAUsersText) {
  const std::filesystem::path material = "../shared/material/tokenizers/hf";
  if (!std::filesystem::exists(material)) {
    GTEST_SKIP() << "skipped: there is no folder " << material;
  }
  const auto tokenizer = LoadOrDie((material / GetParam()).string());
  const SpecialTokenIds roles = tokenizer->special_token_ids();
  EncodeOptions options;
  options.add_special_tokens = false;
  for (int32_t id = 0; id < tokenizer->vocabulary_size(TextSide::kSource);
       ++id) {
    const std::string piece = tokenizer->IdToPiece(id, TextSide::kSource);
    const TextPart part = {piece, /*literal=*/true};
    const auto encoding = tokenizer->EncodeParts({&part, 1}, options);
    for (const int32_t found : encoding->ids) {
      for (const int32_t role : {roles.begin, roles.end, roles.classification,
                                 roles.separator, roles.mask, roles.padding}) {
        ASSERT_TRUE(found != role) << piece << " gives " << found;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceCasesTest,
                         testing::Values("bert-uncased", "gpt2", "llama"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace trivium
