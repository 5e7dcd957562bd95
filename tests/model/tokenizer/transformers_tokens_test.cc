// Results of Transformers 5.23's MarianTokenizer (without sacremoses) with the
// embedded model's files. testdata/en-de.json has texts with their ids as
// source and as target and the ids' text, and random ids with their text.

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"
#include "tests/model/tokenizer/tokenizer_test_util.h"

namespace trivium {
namespace {

nlohmann::json Cases() {
  return nlohmann::json::parse(
      ReadAll("tests/model/tokenizer/testdata/en-de.json"));
}

TEST(TransformersCasesTest, EncodesLikeTransformers) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  const nlohmann::json cases = Cases();
  EXPECT_GE(cases["encoded"].size(), 200u);
  for (const nlohmann::json& encoded : cases["encoded"]) {
    const std::string text = encoded["text"];
    SCOPED_TRACE(text);
    EXPECT_EQ(tokenizer->Encode(text, {}).value().ids,
              encoded["ids"].get<std::vector<int32_t>>());
    EXPECT_EQ(tokenizer->Encode(text, {.side = TextSide::kTarget}).value().ids,
              encoded["target_ids"].get<std::vector<int32_t>>());
    EXPECT_EQ(tokenizer->Decode(encoded["ids"].get<std::vector<int32_t>>()),
              encoded["decoded"].get<std::string>());
  }
}

TEST(TransformersCasesTest, DecodesLikeTransformers) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  const nlohmann::json cases = Cases();
  EXPECT_GE(cases["decoded"].size(), 100u);
  for (const nlohmann::json& decoded : cases["decoded"]) {
    SCOPED_TRACE(decoded["ids"].dump());
    EXPECT_EQ(tokenizer->Decode(decoded["ids"].get<std::vector<int32_t>>()),
              decoded["text"].get<std::string>());
  }
}

}  // namespace
}  // namespace trivium
