// Models in Marian's own files, tests/golden/marian_npz, against what Marian
// itself translated with them (make_marian_npz_goldens.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "model/model.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

// The folder of goldens, or the model of that kind there.
std::string GoldenPath(const std::string& kind) {
  const char* variable = std::getenv("TRIVIUM_GOLDENS");
  return std::string(variable ? variable : "tests/golden") + "/marian_npz/" +
         kind;
}

class MarianNpzGoldenTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MarianNpzGoldenTest, TranslatesAsMarianDoes) {
  const std::string folder = GoldenPath(GetParam());
  LoadOptions load;
  load.precision = Precision::kF32;
  const auto model = Model::Load(folder, load);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->info().family, "marian");
  EXPECT_EQ((*model)->info().recurrent_decoder,
            std::string(GetParam()) == "ssru");
  // What model.npz.decoder.yml says.
  EXPECT_EQ((*model)->decoding_defaults().beam_size, 4);
  EXPECT_EQ((*model)->decoding_defaults().length_penalty, 1);
  const auto engine = (*model)->NewEngine({.kv_cache_bytes = 16 << 20});
  ASSERT_TRUE(engine.ok()) << engine.status();
  const Tokenizer& tokenizer = *(*model)->tokenizer();
  std::ifstream golden(folder + "/golden.tsv");
  std::string beam, text, translation;
  int lines = 0, of_beams = 0, equal_beams = 0;
  while (std::getline(golden, beam, '\t') && std::getline(golden, text, '\t') &&
         std::getline(golden, translation)) {
    ++lines;
    const auto ids = tokenizer.Encode(text, {});
    ASSERT_TRUE(ids.ok()) << ids.status();
    DecodingOptions options = (*model)->decoding_defaults();
    options.beam_size = std::stoi(beam);
    const auto result = GenerateAlone(engine->get(), {ids->ids, {}},
                                      (*model)->decoder_prefix(), options);
    ASSERT_TRUE(result.ok()) << result.status();
    const std::string made = tokenizer.Decode(result->front().ids);
    if (options.beam_size == 1) {
      EXPECT_EQ(made, translation) << text;
    } else {
      ++of_beams;
      equal_beams += made == translation ? 1 : 0;
    }
  }
  EXPECT_EQ(lines, 20);
  // Marian's beam narrows with each hypothesis that ends, ours does not.
  EXPECT_EQ(of_beams, 10);
  EXPECT_GE(equal_beams, 8);
}

// Another precision is another model, a little; recurrent states are kept in
// more than int8.
TEST_P(MarianNpzGoldenTest, IsServedInInt8) {
  LoadOptions load;
  load.precision = Precision::kInt8;
  const auto model = Model::Load(GoldenPath(GetParam()), load);
  ASSERT_TRUE(model.ok()) << model.status();
  const bool recurrent = std::string(GetParam()) == "ssru";
  EXPECT_EQ((*model)->info().kv_precision,
            recurrent ? Precision::kBf16 : Precision::kInt8);
  const auto engine = (*model)->NewEngine({.kv_cache_bytes = 16 << 20});
  ASSERT_TRUE(engine.ok()) << engine.status();
  const Tokenizer& tokenizer = *(*model)->tokenizer();
  const auto ids = tokenizer.Encode("Tom is here.", {});
  const auto result =
      GenerateAlone(engine->get(), {ids->ids, {}}, (*model)->decoder_prefix(),
                    (*model)->decoding_defaults());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(tokenizer.Decode(result->front().ids).substr(0, 3), "Tom");
}

INSTANTIATE_TEST_SUITE_P(Kinds, MarianNpzGoldenTest,
                         ::testing::Values("transformer", "ssru"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace trivium
