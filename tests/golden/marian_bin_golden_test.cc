// Models in Marian's binary files, tests/golden/marian_bin, against what Marian
// itself translated with their weights (make_marian_bin_goldens.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "model/model.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

std::string BinPath(const std::string& kind) {
  const char* variable = std::getenv("TRIVIUM_GOLDENS");
  return std::string(variable ? variable : "tests/golden") + "/marian_bin/" +
         kind;
}

// Lines of a beam size, a text and its translations, divided by tabs.
std::vector<std::vector<std::string>> ReadLines(const std::string& path) {
  std::vector<std::vector<std::string>> lines;
  std::ifstream file(path);
  for (std::string line, field; std::getline(file, line);) {
    std::istringstream fields(line);
    auto& read = lines.emplace_back();
    while (std::getline(fields, field, '\t')) read.push_back(field);
  }
  return lines;
}

// How many of a golden's translations a model makes as well.
struct Agreement {
  int greedy = 0, beam = 0;
};
class MarianBinGoldenTest : public ::testing::Test {
 protected:
  // Of the translations in a column.
  Agreement Compare(const std::string& kind, const std::string& golden,
                    size_t column, const LoadOptions& load) {
    Agreement agreement;
    const auto model = Model::Load(BinPath(kind), load);
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return agreement;
    const auto engine = (*model)->NewEngine({.kv_cache_bytes = 16 << 20});
    EXPECT_TRUE(engine.ok()) << engine.status();
    const Tokenizer& tokenizer = *(*model)->tokenizer();
    const auto lines = ReadLines(BinPath(kind) + "/" + golden);
    EXPECT_EQ(lines.size(), 20);
    for (const auto& line : lines) {
      DecodingOptions options = (*model)->decoding_defaults();
      options.beam_size = std::stoi(line[0]);
      options.length_penalty = 1;
      const auto ids = tokenizer.Encode(line[1], {});
      const auto result = GenerateAlone(engine->get(), {ids->ids, {}},
                                        (*model)->decoder_prefix(), options);
      EXPECT_TRUE(result.ok()) << result.status();
      if (!result.ok()) return agreement;
      const bool equal =
          tokenizer.Decode(result->front().ids) == line.at(column);
      (options.beam_size == 1 ? agreement.greedy : agreement.beam) += equal;
    }
    return agreement;
  }
};

constexpr LoadOptions kF32{.precision = Precision::kF32};

TEST_F(MarianBinGoldenTest, WeightsAreThoseOfTheFile) {
  for (const char* kind : {"intgemm8", "firefox"}) {
    const Agreement agreement = Compare(kind, "golden.tsv", 2, kF32);
    EXPECT_EQ(agreement.greedy, 10) << kind;
    // Marian's beam narrows with each hypothesis that ends, ours does not.
    EXPECT_GE(agreement.beam, 8) << kind;
  }
}

// Of which it makes integers in another way: one multiplier for all rows.
TEST_F(MarianBinGoldenTest, MarianWithInt8ActivationsIsNear) {
  EXPECT_GE(Compare("intgemm8", "golden.tsv", 3, kF32).greedy, 7);
  EXPECT_GE(
      Compare("intgemm8", "golden.tsv", 3, {.precision = Precision::kInt8})
          .greedy,
      7);
}

TEST_F(MarianBinGoldenTest, ALexicalShortlistAllowsWhatMarianAllows) {
  const Agreement agreement =
      Compare("firefox", "shortlist.tsv", 2,
              {.precision = Precision::kF32, .vocabulary_shortlist = true});
  // One source would need 53 tokens, more than an eighth of the vocabulary of
  // 401, and is not restricted.
  EXPECT_EQ(agreement.greedy, 9);
  EXPECT_GE(agreement.beam, 8);
}

TEST_F(MarianBinGoldenTest, LanguagesAreTheMetadatas) {
  const auto model = Model::Load(BinPath("firefox"), kF32);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE((*model)->ResolveDirection("en", "de").ok());
  EXPECT_FALSE((*model)->ResolveDirection("en", "fr").ok());
}

}  // namespace
}  // namespace trivium
