#include "model/languages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A vocabulary without a tokenizer around it.
class FakeTokenizer : public Tokenizer {
 public:
  explicit FakeTokenizer(std::vector<std::string> pieces)
      : pieces_(std::move(pieces)) {}

  absl::StatusOr<Encoding> Encode(std::string_view,
                                  const EncodeOptions&) const override {
    return absl::UnimplementedError("fake");
  }
  std::string Decode(std::span<const int32_t>) const override { return ""; }
  std::unique_ptr<StreamingDecoder> NewStreamingDecoder() const override {
    return nullptr;
  }
  int vocabulary_size(TextSide) const override {
    return static_cast<int>(pieces_.size());
  }
  std::string IdToPiece(int32_t id, TextSide) const override {
    return pieces_[id];
  }
  int32_t PieceToId(std::string_view, TextSide) const override { return -1; }

 private:
  const std::vector<std::string> pieces_;
};

TEST(LanguagesTest, CodesBecomeTheShortestTags) {
  EXPECT_EQ(ToBcp47("de"), "de");
  EXPECT_EQ(ToBcp47("deu"), "de");
  EXPECT_EQ(ToBcp47(">>deu<<"), "de");
  EXPECT_EQ(ToBcp47("zho_Hans"), "zh-Hans");
  EXPECT_EQ(ToBcp47(">>pt_br<<"), "pt-BR");
  EXPECT_EQ(ToBcp47("cmn_Hant"), "cmn-Hant");
  for (const char* none : {"", "mul", "ROMANCE", "x", ">><<", "d e", "und"}) {
    EXPECT_EQ(ToBcp47(none), "") << none;
  }
  EXPECT_EQ(ToBcp47(std::string("de\0fr", 5)), "");
  EXPECT_EQ(ToBcp47("de-" + std::string(10000, 'a')), "");
}

TEST(LanguagesTest, OneDirectionNeedsNoChoice) {
  const json config = {{"source_lang", "eng"}, {"target_lang", "de"}};
  const LanguageTable table(nullptr, &config);
  EXPECT_THAT(table.sources(), ElementsAre(Language{"en", "eng"}));
  EXPECT_THAT(table.targets(), ElementsAre(Language{"de", "de"}));
  for (const auto& direction :
       {table.Resolve({}, {}), table.Resolve("en", "de"),
        table.Resolve("eng", "deu"), table.Resolve("en-GB", "de-AT")}) {
    ASSERT_TRUE(direction.ok()) << direction.status();
    EXPECT_THAT(direction->prefix_ids, IsEmpty());
  }
  const absl::Status target = table.Resolve("en", "fr").status();
  EXPECT_TRUE(absl::IsInvalidArgument(target));
  EXPECT_THAT(std::string(target.message()),
              HasSubstr("target_language 'fr' is not one of this model's: de"));
  EXPECT_THAT(std::string(table.Resolve("de", {}).status().message()),
              HasSubstr("source_language 'de'"));
  EXPECT_FALSE(table.Resolve({}, "").ok());
  EXPECT_FALSE(table.Resolve({}, std::string(100000, 'x')).ok());
}

TEST(LanguagesTest, TokensChooseTheTarget) {
  const FakeTokenizer tokenizer({"</s>", ">>deu<<", "word", ">>fra<<",
                                 ">>zho_Hans<<", ">>a b<<", ">><<", ">>pt<<",
                                 ">>pt_br<<"});
  const json config = {{"source_lang", "mul"}, {"target_lang", "mul"}};
  const LanguageTable table(&tokenizer, &config);
  EXPECT_THAT(table.sources(), IsEmpty());
  EXPECT_THAT(
      table.targets(),
      ElementsAre(Language{"de", ">>deu<<"}, Language{"fr", ">>fra<<"},
                  Language{"zh-Hans", ">>zho_Hans<<"}, Language{"pt", ">>pt<<"},
                  Language{"pt-BR", ">>pt_br<<"}));
  const auto id = [&](std::string_view target) {
    const auto direction = table.Resolve("any", target);
    return direction.ok() && direction->prefix_ids.size() == 1
               ? direction->prefix_ids[0]
               : -1;
  };
  EXPECT_EQ(id("de"), 1);
  EXPECT_EQ(id("deu"), 1);
  EXPECT_EQ(id(">>deu<<"), 1);
  EXPECT_EQ(id("fr-CA"), 3);
  EXPECT_EQ(id("zh-Hans-CN"), 4);
  EXPECT_EQ(id("zh"), -1);
  EXPECT_EQ(id("pt-BR"), 8);
  EXPECT_EQ(id("pt-PT"), 7);
  EXPECT_EQ(id("es"), -1);
  EXPECT_THAT(std::string(table.Resolve({}, {}).status().message()),
              HasSubstr("target_language is missing; this model translates to "
                        "de, fr, zh-Hans, pt, pt-BR"));
}

TEST(LanguagesTest, TheFolderMayNameADefaultAmongTheTokens) {
  const FakeTokenizer tokenizer({">>en<<", "word", ">>deu<<"});
  json config = {{"target_lang", "de"}};
  const LanguageTable table(&tokenizer, &config);
  EXPECT_THAT(table.targets(),
              ElementsAre(Language{"en", ">>en<<"}, Language{"de", ">>deu<<"}));
  // It names no source, so it translates among its targets.
  EXPECT_EQ(table.sources(), table.targets());
  EXPECT_THAT(std::string(table.Resolve("fr", {}).status().message()),
              HasSubstr("source_language 'fr' is not one of this model's: en, "
                        "de"));
  EXPECT_THAT(table.Resolve({}, {}).value().prefix_ids, ElementsAre(2));
  EXPECT_THAT(table.Resolve("en", {}).value().prefix_ids, ElementsAre(2));
  EXPECT_THAT(table.Resolve("de", "en").value().prefix_ids, ElementsAre(0));
  // Nobody wants German from German.
  EXPECT_THAT(std::string(table.Resolve("de", {}).status().message()),
              HasSubstr("target_language is missing"));
  // One that it has no token for is none.
  config["target_lang"] = "fr";
  EXPECT_FALSE(LanguageTable(&tokenizer, &config).Resolve({}, {}).ok());
}

TEST(LanguagesTest, OneTokenIsTheChoice) {
  const FakeTokenizer tokenizer({"a", ">>deu<<"});
  const LanguageTable table(&tokenizer, nullptr);
  const auto direction = table.Resolve({}, {});
  ASSERT_TRUE(direction.ok());
  EXPECT_THAT(direction->prefix_ids, ElementsAre(1));
}

TEST(LanguagesTest, AModelThatNamesNoLanguages) {
  const LanguageTable table(nullptr, nullptr);
  EXPECT_TRUE(table.Resolve({}, {}).ok());
  EXPECT_THAT(std::string(table.Resolve("en", {}).status().message()),
              HasSubstr("leave source_language out"));
  EXPECT_THAT(std::string(table.Resolve({}, "de").status().message()),
              HasSubstr("leave target_language out"));
}

}  // namespace
}  // namespace trivium
