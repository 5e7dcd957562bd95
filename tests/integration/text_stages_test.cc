// What the embedded model would damage comes through: names and words with
// letters that its vocabulary lacks, invisible characters, emoji, and marks
// that are no words.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/integration/server_process.h"

namespace trivium {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kReplacement[] = "\uFFFD";

class TextStagesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new ServerProcess(); }
  static void TearDownTestSuite() { delete server_; }

  static v1::TranslateResponse Translate(const std::vector<std::string>& texts,
                                         const std::string& target,
                                         v1::TranslateOptions options = {}) {
    v1::TranslateRequest request;
    for (const std::string& text : texts) request.add_inputs()->set_text(text);
    options.set_target_language(target);
    *request.mutable_options() = options;
    auto response = server_->NewClient()->Translate(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::TranslateResponse();
  }
  static std::string Translate(const std::string& text,
                               const std::string& target,
                               v1::TranslateOptions options = {}) {
    const auto response = Translate(std::vector{text}, target, options);
    if (response.results().empty()) return "";
    return response.results(0).hypotheses(0).text();
  }
  static std::string TranslateHtml(const std::string& text,
                                   const std::string& target) {
    v1::TranslateOptions options;
    options.set_format(v1::TEXT_FORMAT_HTML);
    return Translate(text, target, options);
  }

  static ServerProcess* server_;
};
ServerProcess* TextStagesTest::server_ = nullptr;

int CountOf(const std::string& part, const std::string& text) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

TEST_F(TextStagesTest, NamesComeThrough) {
  const std::vector<std::string> names = {
      "Dvořák",   "Čapek",    "Łódź",       "Wałęsa",  "Škoda",
      "Gdańsk",   "Modrić",   "Erdoğan",    "Kőszegi", "Đoković",
      "Şükrü",    "Guðrún",   "Brașov",     "Žižek",   "Nguyễn",
      "Ålesund",  "Kęstutis", "Małgorzata", "Москва",  "Αθήνα",
      "François", "القاهرة",  "北京",       "서울",    "תל אביב"};
  for (const bool english : {true, false}) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string& name = names[i];
      texts.push_back(
          i % 2 == 0 ? absl::StrCat(english ? "Yesterday I read about "
                                            : "Gestern las ich über ",
                                    name, ".")
                     : absl::StrCat(name, english ? " is here again today."
                                                  : " ist heute wieder da."));
    }
    const auto response = Translate(texts, english ? "de" : "en");
    ASSERT_EQ(response.results_size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      const v1::TranslateResult& result = response.results(i);
      const std::string& text = result.hypotheses(0).text();
      EXPECT_EQ(CountOf(names[i], text), 1) << text;
      EXPECT_THAT(text, Not(HasSubstr(kReplacement)));
      EXPECT_THAT(result.text_stages(),
                  testing::ElementsAre(v1::TEXT_STAGE_UNKNOWN_LETTERS));
      EXPECT_NE(text, texts[i]);
    }
  }
}

TEST_F(TextStagesTest, LinksAndIdentifiersComeThrough) {
  for (const std::string link :
       {"info@beispiel.de", "https://haus.de/garten?x=1", "haus.de/garten",
        "sommer.txt", "hunter2", "get_user_name()", "@hans_meier",
        "#Sommer2024", "`make install`"}) {
    const auto response = Translate(
        std::vector{"Bitte schreiben Sie mir über " + link + "."}, "en");
    const v1::TranslateResult& result = response.results(0);
    EXPECT_EQ(CountOf(link, result.hypotheses(0).text()), 1)
        << result.hypotheses(0).text();
    EXPECT_THAT(result.text_stages(),
                testing::ElementsAre(v1::TEXT_STAGE_LINKS));
  }
}

TEST_F(TextStagesTest, CodeComesThrough) {
  for (const char* const code :
       {"$HOME", "${TMP_DIR}", "$(PWD)", "%APPDATA%", "getUserName()",
        "std::vector", "-DTYPE=RELEASE", "LANG=C", "&copy;"}) {
    for (const bool english : {true, false}) {
      const std::string text = absl::StrCat(
          english ? "Please use " : "Bitte benutzen Sie ", code,
          english ? " in your own script." : " in Ihrem eigenen Skript.");
      const std::string made = Translate(text, english ? "de" : "en");
      EXPECT_EQ(CountOf(code, made), 1) << made;
    }
  }
}

TEST_F(TextStagesTest, LabelsThatTheModelCopiesAreReadInSmallLetters) {
  for (const auto& [label, german] : {std::pair("Purpose", "Zweck"),
                                      {"Quarter", "Quartal"},
                                      {"Breakfast", "Frühstück"},
                                      {"Berlin", "Berlin"},
                                      {"Bluetooth", "Bluetooth"}}) {
    v1::TranslateOptions options;
    options.set_source_language("en");
    EXPECT_EQ(Translate(label, "de", options), german);
  }
}

TEST_F(TextStagesTest, ScoresAreNoTimes) {
  EXPECT_THAT(Translate("They won the game 7:8.", "de"),
              AllOf(HasSubstr("7:8"), Not(HasSubstr("Uhr"))));
}

TEST_F(TextStagesTest, RaisedCharactersStay) {
  for (const std::string raised : {"m²", "CO₂", "10⁻³", "½"}) {
    const std::string text = Translate("We measured " + raised + ".", "de");
    EXPECT_EQ(CountOf(raised, text), 1) << text;
  }
}

TEST_F(TextStagesTest, ANameInTheGenitiveKeepsItsLetters) {
  EXPECT_EQ(Translate("Łukasz's car is red.", "de"), "Łukaszs Auto ist rot.");
}

TEST_F(TextStagesTest, ATextOfOtherScriptsComesBackAsItIs) {
  for (const std::string text :
       {"Москва — столица России. Это большой город!", "今日はいい天気です。",
        "Łódź", "مرحبا بالعالم"}) {
    EXPECT_EQ(Translate(text, "de"), text);
    EXPECT_EQ(Translate(text, "en"), text);
  }
}

TEST_F(TextStagesTest, InvisibleCharactersChangeNothing) {
  const std::string plain = "The beautiful weather surprised the children.";
  const std::string expected = Translate(plain, "de");
  for (const char* const invisible :
       {"\u00AD", "\u200B", "\u200C", "\u200D", "\u2060", "\uFEFF", "\u200E"}) {
    const std::string at = invisible;
    const std::string text =
        at +
        absl::StrReplaceAll(plain, {{"eaut", absl::StrCat("ea", at, "ut")},
                                    {"ildr", absl::StrCat("il", at, "dr")}});
    const auto response = Translate(std::vector{text}, "de");
    EXPECT_EQ(response.results(0).hypotheses(0).text(), expected);
    EXPECT_THAT(response.results(0).text_stages(),
                testing::ElementsAre(v1::TEXT_STAGE_INVISIBLE_CHARACTERS));
  }
}

TEST_F(TextStagesTest, EmojiComeThroughOnceAndWhole) {
  const std::vector<std::string> emoji = {"🚗",
                                          "🍕",
                                          "1️⃣",
                                          "👨‍👩‍👧‍👦",
                                          "🇩🇪",
                                          "👍🏽",
                                          "❤️",
                                          "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
                                          "🏳️‍🌈",
                                          "☀️"};
  for (const bool english : {true, false}) {
    for (const std::string& one : emoji) {
      for (const std::string& text :
           english ? std::vector{"I bought a new " + one + " yesterday.",
                                 one + " Good morning!", "See you soon " + one}
                   : std::vector{"Ich habe gestern " + one + " gekauft.",
                                 one + " Guten Morgen!", "Bis bald " + one}) {
        const std::string out = Translate(text, english ? "de" : "en");
        EXPECT_EQ(CountOf(one, out), 1) << text << " -> " << out;
        EXPECT_THAT(out, Not(HasSubstr(kReplacement)));
      }
    }
  }
}

TEST_F(TextStagesTest, MarksBetweenItemsAreBorders) {
  EXPECT_EQ(
      Translate("Good morning! | Thank you.", "de"),
      Translate("Good morning!", "de") + " | " + Translate("Thank you.", "de"));
  EXPECT_EQ(TranslateHtml("<a href=\"/\">Good morning!</a> | "
                          "<a href=\"/e\">Thank you.</a>",
                          "de"),
            absl::StrCat("<a href=\"/\">", Translate("Good morning!", "de"),
                         "</a> | <a href=\"/e\">",
                         Translate("Thank you.", "de"), "</a>"));
  EXPECT_EQ(TranslateHtml("<a>Good morning!</a> <a>Thank you.</a>", "de"),
            absl::StrCat("<a>", Translate("Good morning!", "de"), "</a> <a>",
                         Translate("Thank you.", "de"), "</a>"));
}

TEST_F(TextStagesTest, TextWithoutLettersComesBackAsItIs) {
  for (const std::string text :
       {"1 .. 31", "$5.00 $10.00 $15.00 $20.00", "| 12 | 13 |", "***"}) {
    EXPECT_EQ(Translate(text, "de"), text);
  }
}

TEST_F(TextStagesTest, FormulasAndFootnotesKeepTheirTags) {
  EXPECT_THAT(TranslateHtml("Water is H<sub>2</sub>O.", "de"),
              HasSubstr("H<sub>2</sub>O"));
  EXPECT_THAT(TranslateHtml("The garden has 20 m<sup>2</sup>.", "de"),
              HasSubstr("m<sup>2</sup>"));
  EXPECT_THAT(TranslateHtml("He lives in Berlin.<sup>1</sup> She works.", "de"),
              HasSubstr("Berlin.<sup>1</sup> "));
}

TEST_F(TextStagesTest, LanguageTagsFollowTheTarget) {
  v1::TranslateOptions options;
  options.set_format(v1::TEXT_FORMAT_HTML);
  options.set_source_language("en");
  EXPECT_EQ(
      Translate("<html lang=\"en\"><p>Good morning!</p></html>", "de", options),
      absl::StrCat("<html lang=\"de\"><p>", Translate("Good morning!", "de"),
                   "</p></html>"));
}

TEST_F(TextStagesTest, OffTurnsAllOff) {
  v1::TranslateOptions options;
  options.set_text_stages(v1::TEXT_STAGES_OFF);
  const auto response =
      Translate(std::vector<std::string>{"I met Mr. Dvořák 🚗."}, "de", options);
  EXPECT_TRUE(response.results(0).text_stages().empty());
}

}  // namespace
}  // namespace trivium
