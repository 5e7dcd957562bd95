// Tiny tokenizers of the classes that encoders' folders have, which
// make_encoder_cases.py made: ids of texts of many kinds and of pairs equal
// those of Transformers (testdata/encoders.json).

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"
#include "tests/model/tokenizer/tokenizer_test_util.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

class EncoderCasesTest : public testing::TestWithParam<const char*> {};

TEST_P(EncoderCasesTest, EncodesLikeTransformers) {
  const nlohmann::json one = nlohmann::json::parse(
      ReadAll("tests/model/tokenizer/testdata/encoders.json"))[GetParam()];
  const ScratchFolder folder;
  for (const auto& [name, contents] : one["files"].items()) {
    folder.Write(name, contents.get<std::string>());
  }
  const auto tokenizer = LoadOrDie(folder.path());
  EXPECT_GE(one["texts"].size(), 40u);
  for (const nlohmann::json& text : one["texts"]) {
    SCOPED_TRACE(text["text"].dump());
    EXPECT_EQ(
        tokenizer->Encode(text["text"].get<std::string>(), {}).value().ids,
        text["ids"].get<std::vector<int32_t>>());
  }
  for (const nlohmann::json& pair : one["pairs"]) {
    SCOPED_TRACE(pair.dump());
    const Encoding encoding =
        tokenizer
            ->EncodePair(pair["first"].get<std::string>(),
                         pair["second"].get<std::string>(), {})
            .value();
    EXPECT_EQ(encoding.ids, pair["ids"].get<std::vector<int32_t>>());
    // Null: the model is told no types.
    const nlohmann::json& types = pair["types"];
    EXPECT_EQ(encoding.type_ids,
              types.is_null() ? std::vector<int32_t>(encoding.ids.size(), 0)
                              : types.get<std::vector<int32_t>>());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Classes, EncoderCasesTest,
    testing::Values("ernie", "ernie.vocab", "megatron-bert",
                    "megatron-bert.vocab", "nomic_bert", "nomic_bert.vocab",
                    "data2vec-text", "data2vec-text.merges", "jina_bert.code",
                    "xlm-roberta", "camembert", "modernbert", "eurobert"));

TEST(RoFormerTokenizerTest, ChineseWordsAreRefused) {
  const ScratchFolder folder;
  folder.Write("config.json", R"({"model_type": "roformer"})");
  const std::string pieces =
      "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n今\n天\ncat\n";
  // Single characters need no words.
  folder.Write("vocab.txt", pieces);
  EXPECT_EQ(LoadOrDie(folder.path())->Encode("今天cat", {}).value().ids,
            (std::vector<int32_t>{2, 5, 6, 7, 3}));
  folder.Write("vocab.txt", pieces + "今天\n");
  EXPECT_THAT(LoadTokenizer(folder.path()).status(),
              IsError(absl::StatusCode::kUnimplemented, "RoFormerTokenizer"));
}

TEST(FlaubertTokenizerTest, PiecesOfCharactersAreRefused) {
  const ScratchFolder folder;
  folder.Write("config.json", R"({"model_type": "flaubert"})");
  folder.Write("vocab.json",
               R"({"<unk>": 0, "a": 1, "b</w>": 2, "ab</w>": 3})");
  folder.Write("merges.txt", "a b</w>\n");
  EXPECT_THAT(LoadTokenizer(folder.path()).status(),
              IsError(absl::StatusCode::kUnimplemented, "merges.txt"));
}

}  // namespace
}  // namespace trivium
