#include "model/languages.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

// A vocabulary without a tokenizer.
class FakeTokenizer : public Tokenizer {
 public:
  explicit FakeTokenizer(std::vector<std::string> pieces)
      : pieces_(std::move(pieces)) {}

  // The ids of an empty text.
  void set_template(std::vector<int32_t> ids) { template_ = std::move(ids); }

  // A piece's text is that piece, except for words.
  absl::StatusOr<Encoding> Encode(std::string_view text,
                                  const EncodeOptions&) const override {
    Encoding encoding;
    if (text.empty()) encoding.ids = template_;
    const int32_t id = PieceToId(text, TextSide::kSource);
    if (!IsWord(text) && id >= 0) encoding.ids = {id};
    return encoding;
  }
  // Decodes words only.
  std::string Decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids) {
      if (IsWord(pieces_[id])) text += pieces_[id];
    }
    return text;
  }
  std::unique_ptr<StreamingDecoder> NewStreamingDecoder() const override {
    return nullptr;
  }
  int vocabulary_size(TextSide) const override {
    return static_cast<int>(pieces_.size());
  }
  std::string IdToPiece(int32_t id, TextSide) const override {
    return pieces_[id];
  }
  int32_t PieceToId(std::string_view piece, TextSide) const override {
    const auto found = std::find(pieces_.begin(), pieces_.end(), piece);
    return found == pieces_.end() ? -1 : found - pieces_.begin();
  }

 private:
  static bool IsWord(std::string_view text) {
    return text == "to_ID" || text == "__init__";
  }

  const std::vector<std::string> pieces_;
  std::vector<int32_t> template_;
};

LanguageTable Marian(const FakeTokenizer& tokenizer, const json* config) {
  return LanguageTable({.tokenizer = &tokenizer,
                        .family = "marian",
                        .tokenizer_config = config});
}

TEST(LanguagesTest, ShortensCodesToTags) {
  EXPECT_EQ(ToBcp47("de"), "de");
  EXPECT_EQ(ToBcp47("deu"), "de");
  EXPECT_EQ(ToBcp47("ger"), "de");
  EXPECT_EQ(ToBcp47("zho_Hans"), "zh-Hans");
  EXPECT_EQ(ToBcp47("pt_br"), "pt-BR");
  EXPECT_EQ(ToBcp47("cmn_Hant"), "zh-Hant");
  EXPECT_EQ(ToBcp47("arb"), "ar");
  EXPECT_EQ(ToBcp47("iw"), "he");
  for (const char* none :
       {"", "mul", "ROMANCE", "x", ">><<", "d e", "und", "de fr", "de!"}) {
    EXPECT_EQ(ToBcp47(none), "") << none;
  }
  EXPECT_EQ(ToBcp47(std::string("de\0fr", 5)), "");
  EXPECT_EQ(ToBcp47("de-" + std::string(10000, 'a')), "");
}

TEST(LanguagesTest, ASingleDirectionNeedsNoChoice) {
  const json config = {{"source_lang", "eng"}, {"target_lang", "de"}};
  const LanguageTable table({.tokenizer_config = &config});
  EXPECT_THAT(table.sources(), ElementsAre(Language{"en", "eng"}));
  EXPECT_THAT(table.targets(), ElementsAre(Language{"de", "de"}));
  for (const auto& direction :
       {table.Resolve({}, {}), table.Resolve("en", "de"),
        table.Resolve("eng", "deu"), table.Resolve("en-GB", "de-AT")}) {
    ASSERT_TRUE(direction.ok()) << direction.status();
    EXPECT_THAT(direction->prefix_ids, IsEmpty());
  }
  const absl::Status target = table.Resolve("en", "fr").status();
  EXPECT_THAT(target, IsError(StatusCode::kInvalidArgument, "target_language"));
  EXPECT_THAT(table.Resolve("de", {}).status(),
              IsError(StatusCode::kInvalidArgument, "source_language"));
  EXPECT_FALSE(table.Resolve({}, "").ok());
  EXPECT_FALSE(table.Resolve({}, std::string(100000, 'x')).ok());
}

TEST(LanguagesTest, TokensChooseTheTarget) {
  const FakeTokenizer tokenizer({"</s>", ">>deu<<", "word", ">>fra<<",
                                 ">>zho_Hans<<", ">>a b<<", ">><<", ">>pt<<",
                                 ">>pt_br<<"});
  const json config = {{"source_lang", "mul"}, {"target_lang", "mul"}};
  const LanguageTable table = Marian(tokenizer, &config);
  EXPECT_THAT(table.sources(), IsEmpty());
  EXPECT_THAT(
      table.targets(),
      ElementsAre(Language{"de", ">>deu<<"}, Language{"fr", ">>fra<<"},
                  Language{"zh", ">>zho_Hans<<"}, Language{"pt", ">>pt<<"},
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
  EXPECT_EQ(id("zh"), 4);
  EXPECT_EQ(id("zh-CN"), 4);
  EXPECT_EQ(id("Chinese"), 4);
  EXPECT_EQ(id("zh-TW"), -1);
  EXPECT_EQ(id("GERMAN"), 1);
  EXPECT_EQ(id("ger"), 1);
  EXPECT_EQ(id("pt_BR"), 8);
  EXPECT_EQ(id("pt-BR"), 8);
  EXPECT_EQ(id("pt-PT"), 7);
  EXPECT_EQ(id("es"), -1);
  EXPECT_THAT(table.Resolve({}, {}).status(),
              IsError(StatusCode::kInvalidArgument, "target_language"));
}

TEST(LanguagesTest, TheFolderMayNameADefaultTarget) {
  const FakeTokenizer tokenizer({">>en<<", "word", ">>deu<<"});
  json config = {{"target_lang", "de"}};
  const LanguageTable table = Marian(tokenizer, &config);
  EXPECT_THAT(table.targets(),
              ElementsAre(Language{"en", ">>en<<"}, Language{"de", ">>deu<<"}));
  // The folder names no source, so the model translates among its targets.
  EXPECT_EQ(table.sources(), table.targets());
  EXPECT_THAT(table.Resolve("fr", {}).status(),
              IsError(StatusCode::kInvalidArgument, "source_language"));
  EXPECT_THAT(table.Resolve({}, {}).value().prefix_ids, ElementsAre(2));
  EXPECT_THAT(table.Resolve("en", {}).value().prefix_ids, ElementsAre(2));
  EXPECT_THAT(table.Resolve("de", "en").value().prefix_ids, ElementsAre(0));
  // Nobody wants a translation from German into German.
  EXPECT_THAT(table.Resolve("de", {}).status(),
              IsError(StatusCode::kInvalidArgument, "target_language"));
  // A language without a token cannot be the default.
  config["target_lang"] = "fr";
  EXPECT_FALSE(Marian(tokenizer, &config).Resolve({}, {}).ok());
}

TEST(LanguagesTest, ASingleTokenIsTheDefault) {
  const FakeTokenizer tokenizer({"a", ">>deu<<"});
  const LanguageTable table = Marian(tokenizer, nullptr);
  const auto direction = table.Resolve({}, {});
  ASSERT_TRUE(direction.ok());
  EXPECT_THAT(direction->prefix_ids, ElementsAre(1));
}

// Returns "prefix | suffix | what the decoder is told", with "no" if the
// tokenizer adds no special tokens of its own.
std::string Told(const absl::StatusOr<Direction>& direction) {
  if (!direction.ok()) return std::string(direction.status().message());
  std::string told = direction->text_prefix;
  for (const int32_t id : direction->prefix_ids) told += fmt::format("{} ", id);
  told += direction->add_special_tokens ? "|" : "| no";
  for (const int32_t id : direction->suffix_ids) told += fmt::format(" {}", id);
  told += " |";
  if (const auto id = direction->forced_first_id) {
    told += fmt::format(" first {}", *id);
  }
  if (const auto id = direction->start_id)
    told += fmt::format(" start {}", *id);
  return told;
}

TEST(LanguagesTest, MBartHasTheSourceAfterTheTextAndStartsWithTheTarget) {
  const FakeTokenizer tokenizer(
      {"<s>", "</s>", "to_ID", "ar_AR", "de_DE", "en_XX", "zh_CN", "<mask>"});
  GenerationConfig generation;
  generation.decoder_prefix = {4};
  const LanguageTable table(
      {.tokenizer = &tokenizer, .family = "mbart", .generation = &generation});
  // "to_ID" is an ordinary word.
  EXPECT_THAT(table.targets(),
              ElementsAre(Language{"ar", "ar_AR"}, Language{"de", "de_DE"},
                          Language{"en", "en_XX"}, Language{"zh", "zh_CN"}));
  EXPECT_EQ(table.sources(), table.targets());
  EXPECT_EQ(Told(table.Resolve("en", "zh-Hans")), "| no 1 5 | start 6");
  EXPECT_EQ(Told(table.Resolve("en-GB", {})), "| no 1 5 | start 4");
  EXPECT_THAT(table.Resolve({}, "de").status(),
              IsError(StatusCode::kInvalidArgument, "source_language"));
  EXPECT_THAT(table.Resolve("de", {}).status(),
              IsError(StatusCode::kInvalidArgument, "target_language"));
}

TEST(LanguagesTest, MBart50HasTheSourceBeforeTheTextAndForcesTheTarget) {
  const FakeTokenizer tokenizer({"<s>", "</s>", "de_DE", "en_XX", "pt_XX"});
  const json config = {{"tokenizer_class", "MBart50TokenizerFast"}};
  for (const bool in_config : {true, false}) {
    GenerationConfig generation;
    generation.decoder_prefix = {1};
    generation.options.forced_first_id = 3;
    const LanguageTable table(
        {.tokenizer = &tokenizer,
         .family = "mbart",
         .config = in_config ? &config : nullptr,
         .tokenizer_config = in_config ? nullptr : &config,
         .generation = &generation});
    EXPECT_EQ(Told(table.Resolve("de", "pt-BR")), "2 | no 1 | first 4");
    EXPECT_EQ(Told(table.Resolve("German", {})), "2 | no 1 | first 3");
    EXPECT_EQ(table.default_target()->code, "en_XX");
  }
}

// Transformers 5 may save any tokenizer as one of this class.
TEST(LanguagesTest, WithoutAClassTheTokenizersTemplateTellsTheModel) {
  const json config = {{"tokenizer_class", "TokenizersBackend"}};
  FakeTokenizer regions({"<s>", "</s>", "de_DE", "en_XX", "pt_XX"});
  GenerationConfig generation;
  generation.decoder_prefix = {1};
  const auto regional = [&] {
    const LanguageTable table({.tokenizer = &regions,
                               .family = "mbart",
                               .tokenizer_config = &config,
                               .generation = &generation});
    return Told(table.Resolve("de", "pt"));
  };
  regions.set_template({3, 1});
  EXPECT_EQ(regional(), "2 | no 1 | first 4") << "mBART-50";
  regions.set_template({1, 3});
  EXPECT_EQ(regional(), "| no 1 2 | start 4") << "mBART";

  FakeTokenizer scripts({"<s>", "</s>", "deu_Latn", "eng_Latn"});
  const auto with_scripts = [&] {
    const LanguageTable table({.tokenizer = &scripts,
                               .family = "m2m_100",
                               .tokenizer_config = &config,
                               .generation = &generation});
    return Told(table.Resolve("de", "en"));
  };
  scripts.set_template({3, 1});
  EXPECT_EQ(with_scripts(), "2 | no 1 | first 3") << "NLLB";
  scripts.set_template({1, 3});
  EXPECT_EQ(with_scripts(), "| no 1 2 | first 3") << "NLLB's first version";
}

TEST(LanguagesTest, FindsTheTokensOfM2m100AndNllb) {
  const FakeTokenizer m2m(
      {"</s>", "__en__", "__zh__", "__no__", "__x__y", "__init__"});
  const LanguageTable table({.tokenizer = &m2m, .family = "m2m_100"});
  EXPECT_THAT(table.targets(),
              ElementsAre(Language{"en", "__en__"}, Language{"zh", "__zh__"},
                          Language{"no", "__no__"}));
  EXPECT_EQ(Told(table.Resolve("en", "nb")), "1 | no 0 | first 3");
  EXPECT_EQ(Told(table.Resolve("__zh__", "EN")), "2 | no 0 | first 1");

  const FakeTokenizer nllb({"</s>", "arb_Arab", "arb_Latn", "deu_Latn",
                            "srp_Cyrl", "zho_Hans", "zho_Hant", "pes_Arab"});
  json config = {{"src_lang", "deu_Latn"}, {"tgt_lang", nullptr}};
  const LanguageTable flores(
      {.tokenizer = &nllb, .family = "m2m_100", .tokenizer_config = &config});
  std::vector<std::string> tags;
  for (const Language& language : flores.targets()) {
    tags.push_back(language.bcp47);
  }
  EXPECT_THAT(tags, ElementsAre("ar-Arab", "ar-Latn", "de", "sr", "zh-Hans",
                                "zh-Hant", "fa"));
  EXPECT_EQ(Told(flores.Resolve("deu_Latn", "zh-TW")), "3 | no 0 | first 6");
  EXPECT_EQ(Told(flores.Resolve({}, "ar")), "3 | no 0 | first 1");
  EXPECT_EQ(Told(flores.Resolve("zh", "ar-Latn")), "5 | no 0 | first 2");
  EXPECT_EQ(Told(flores.Resolve({}, "Persian")), "3 | no 0 | first 7");
  // No other language is accepted instead.
  EXPECT_THAT(flores.Resolve({}, "sr-Latn").status(),
              IsError(StatusCode::kInvalidArgument, "target_language"));
  config["legacy_behaviour"] = true;
  EXPECT_EQ(Told(LanguageTable({.tokenizer = &nllb,
                                .family = "m2m_100",
                                .tokenizer_config = &config})
                     .Resolve("de", "zh")),
            "| no 0 3 | first 5");
}

TEST(LanguagesTest, MadladHasTheTargetAsText) {
  const FakeTokenizer tokenizer({"</s>", "<2de>", "<2zh_Hant>", "<2en>"});
  const LanguageTable table({.tokenizer = &tokenizer, .family = "t5"});
  EXPECT_EQ(Told(table.Resolve({}, "de")), "<2de> | |");
  EXPECT_EQ(Told(table.Resolve("en", "zh-TW")), "<2zh_Hant> | |");
}

TEST(LanguagesTest, T5HasATaskForEachDirection) {
  GenerationConfig generation;
  for (const char* name :
       {"summarization", "translation_en_to_de", "translation_en_to_fr",
        "translation_fr_to_en", "translation_x_to_y"}) {
    generation.tasks.push_back({name, "", {}});
  }
  const FakeTokenizer tokenizer({"</s>", "a"});
  const LanguageTable table(
      {.tokenizer = &tokenizer, .family = "t5", .generation = &generation});
  EXPECT_THAT(table.sources(),
              ElementsAre(Language{"en", "en"}, Language{"fr", "fr"}));
  EXPECT_THAT(table.targets(),
              ElementsAre(Language{"de", "de"}, Language{"fr", "fr"},
                          Language{"en", "en"}));
  EXPECT_EQ(table.Resolve("en", "de").value().task, &generation.tasks[1]);
  EXPECT_EQ(table.Resolve({}, "French").value().task, &generation.tasks[2]);
  EXPECT_EQ(table.Resolve("fra", "eng").value().task, &generation.tasks[3]);
  // Then the text itself names its task.
  EXPECT_EQ(table.Resolve({}, {}).value().task, nullptr);
  EXPECT_THAT(table.Resolve("fr", "de").status(),
              IsError(StatusCode::kInvalidArgument, "source_language"));
}

// Returns "en-de" if both languages are known.
std::string Tags(const absl::StatusOr<Direction>& direction) {
  if (!direction.ok()) return std::string(direction.status().message());
  return direction->source_language + "-" + direction->target_language;
}

TEST(LanguagesTest, ADirectionNamesItsLanguages) {
  const json one = {{"source_lang", "eng"}, {"target_lang", "deu"}};
  const LanguageTable named({.tokenizer_config = &one});
  EXPECT_EQ(Tags(named.Resolve({}, {})), "en-de");
  EXPECT_EQ(Tags(named.Resolve("English", "de-AT")), "en-de");

  const FakeTokenizer tokenizer({"</s>", ">>de<<", ">>fr<<"});
  const json many = {{"source_lang", "mul"}};
  const LanguageTable open = Marian(tokenizer, &many);
  EXPECT_EQ(Tags(open.Resolve({}, "de")), "-de");
  EXPECT_EQ(Tags(open.Resolve("eng", "fra")), "en-fr");
  EXPECT_EQ(Tags(open.Resolve("Elvish", "fr")), "Elvish-fr");
  // Of two languages, the source is the other one.
  const LanguageTable both = Marian(tokenizer, nullptr);
  EXPECT_EQ(Tags(both.Resolve({}, "de")), "fr-de");

  const FakeTokenizer nllb({"</s>", "eng_Latn", "deu_Latn", "fra_Latn"});
  const json config = {{"src_lang", "fra_Latn"}};
  const LanguageTable flores(
      {.tokenizer = &nllb, .family = "m2m_100", .tokenizer_config = &config});
  EXPECT_EQ(Tags(flores.Resolve({}, "German")), "fr-de");
  EXPECT_EQ(Tags(flores.Resolve("eng_Latn", "German")), "en-de");

  GenerationConfig generation;
  generation.tasks = {{"translation_en_to_de", "", {}},
                      {"translation_fr_to_en", "", {}}};
  const LanguageTable t5({.family = "t5", .generation = &generation});
  EXPECT_EQ(Tags(t5.Resolve({}, "en")), "fr-en");
  EXPECT_EQ(Tags(t5.Resolve({}, {})), "-");
  EXPECT_EQ(Tags(LanguageTable({}).Resolve({}, {})), "-");
}

TEST(LanguagesTest, ErrorsNameTheNearestOfManyLanguages) {
  std::vector<std::string> pieces = {"</s>"};
  for (const char* code :
       {"af", "ar", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "he",
        "hr", "it", "ja", "ko", "nl", "pl", "pt", "ro", "ru", "sr", "zh"}) {
    pieces.push_back(fmt::format("__{}__", code));
  }
  const FakeTokenizer tokenizer(pieces);
  const LanguageTable table({.tokenizer = &tokenizer, .family = "m2m_100"});
  EXPECT_THAT(table.Resolve("en", "sr-Latn").status(),
              IsError(StatusCode::kInvalidArgument, " sr,"));
  EXPECT_THAT(table.Resolve("en", "Germn").status(),
              IsError(StatusCode::kInvalidArgument, " de,"));
  EXPECT_THAT(table.Resolve("en", {}).status(),
              IsError(StatusCode::kInvalidArgument, "af, ar, cs"));
}

TEST(LanguagesTest, AModelWithoutNamedLanguagesAcceptsNone) {
  const LanguageTable table({});
  EXPECT_TRUE(table.Resolve({}, {}).ok());
  EXPECT_THAT(table.Resolve("en", {}).status(),
              IsError(StatusCode::kInvalidArgument, "source_language"));
  EXPECT_THAT(table.Resolve({}, "de").status(),
              IsError(StatusCode::kInvalidArgument, "target_language"));
}

TEST(LanguageNamesTest, ScriptsTellLanguagesApartAndRegionsDoNot) {
  EXPECT_TRUE(AreSameLanguage("en-US", "en-GB"));
  EXPECT_TRUE(AreSameLanguage("deu_Latn", "de-AT"));
  EXPECT_TRUE(AreSameLanguage("fra", "fr"));
  EXPECT_FALSE(AreSameLanguage("zh-CN", "zh-TW"));
  EXPECT_FALSE(AreSameLanguage("sr-Latn", "sr"));
  EXPECT_FALSE(AreSameLanguage("en", "de"));
  EXPECT_FALSE(AreSameLanguage("mul", "mul"));
}

}  // namespace
}  // namespace trivium
