#include "server/translation/sentences.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

#include "absl/strings/str_replace.h"
#include "base/utf8.h"

namespace trivium {
namespace {

using testing::ElementsAre;

absl::Status Yes() { return absl::OkStatus(); }

std::vector<std::string> Sentences(std::string_view language,
                                   std::string_view text) {
  std::vector<std::string> out;
  const auto spans = SentenceSplitter(language).Split(text, Yes);
  EXPECT_TRUE(spans.ok()) << spans.status();
  for (const TextSpan& span : *spans) out.emplace_back(span.Of(text));
  return out;
}

// Hard cases: a sentence each, which a space joins.
void ExpectFound(std::string_view language,
                 const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) {
    text += (text.empty() ? "" : " ") + sentence;
  }
  EXPECT_EQ(Sentences(language, text), sentences);
}

TEST(SentencesTest, KnowsEnglishAbbreviations) {
  ExpectFound("en",
              {"Dr. Smith met Mrs. Jones.", "They left at 5 p.m. sharp."});
  ExpectFound("en", {"He lives in the U.S. Army base.", "She does not."});
  ExpectFound("en", {"It closes at 5 p.m. on Mondays, e.g. Monday.", "Good."});
  ExpectFound("en", {"We sell pens, etc. Peter buys paper.", "Good."});
  ExpectFound("en", {"Apple Inc. Chairman J. R. R. Tolkien spoke.", "Why?"});
  ExpectFound("en", {"See No. 5 Street.", "The answer is no.", "Peter left."});
  ExpectFound("en", {"Those are Tom's.", "That is Mary’s.", "It's fine."});
  ExpectFound("en", {"I was born on Jan. 5 in St. Louis.", "Is it far?"});
}

TEST(SentencesTest, EndsSentencesBeforeTheirUsualFirstWords) {
  ExpectFound("en", {"He came home at 5 p.m.", "She slept."});
  ExpectFound("en", {"They moved to the U.S.", "It was cold."});
  ExpectFound("de", {"Es gab Brot, Käse usw.", "Er aß alles."});
}

TEST(SentencesTest, KnowsGermanAbbreviationsAndOrdinals) {
  ExpectFound("de", {"Am 3. Oktober kam z. B. Dr. Meier.", "Er blieb."});
  ExpectFound("de", {"Im 19. Jahrhundert war das d.h. selten so.", "Ja!"});
  ExpectFound("de", {"Ludwig XIV. Sonnenkönig kam.", "Danach ging er."});
  ExpectFound("de", {"Siehe Nr. 5 und S. 10 ff. in Bd. 2.", "Das reicht."});
  ExpectFound("de", {"Das war 1990.", "Peter kam."});
  ExpectFound("de", {"Die 2. Bundesliga ist gut, bzw. Bayern ist es.", "So."});
}

TEST(SentencesTest, KeepsQuotesAndBracketsWithTheirSentence) {
  ExpectFound("en", {"\"Really?\" she asked.", "\"Yes.\"", "He went."});
  ExpectFound("en", {"He said: \"Go.\"", "\"Now?\""});
  ExpectFound("en", {"It works (see p. 5).", "(He knows.)", "Good."});
  ExpectFound("de", {"„Komm!“ rief er.", "„Nein.“", "»Doch.«"});
}

TEST(SentencesTest, KeepsNumbersWhole) {
  ExpectFound("en", {"It costs 3.50 dollars.", "Pi is 3.14.", "Fine."});
  ExpectFound("en", {"It rained all night.", "20 people came."});
  ExpectFound("en", {"It is unbelievable.", "$5,000 per person, at most."});
  ExpectFound("de", {"Es kam anders.", "(3) der zweite Teil.", "#5 kam."});
  ExpectFound("en", {"See no. #5 and vol. (3) of it."});
  ExpectFound("en", {"1. Open the door.", "Then close it."});
  ExpectFound("de", {"Es kostet 1.250,50 Euro.", "Gut."});
  ExpectFound("en", {"Use v2.0.1 of example.com.", "It is new."});
}

TEST(SentencesTest, SplitsAtEllipses) {
  ExpectFound("en", {"Well...", "He went."});
  ExpectFound("en", {"Well... he went.", "Well…", "She stayed."});
}

TEST(SentencesTest, LetsQuotedSpeechBeginInLowerCase) {
  ExpectFound("de", {"\"Er lehnte ab.\"", "\"ich bin dagegen.\"", "Gut."});
  ExpectFound("en", {"He asked (\"Why?\") 'them' again."});
}

TEST(SentencesTest, BeginsSentencesAtDashesAfterMarks) {
  ExpectFound("de", {"Dringend empfohlen!", "-- Der Präsident sprach."});
  ExpectFound("en", {"Is it far?", "– No, it is near."});
  ExpectFound("en", {"No! — he cried.", "\"Go!\" - Abraham Lincoln."});
}

TEST(SentencesTest, SplitsTextsWithoutCapitals) {
  ExpectFound("en", {"i went home.", "then i slept.", "good"});
  ExpectFound("de", {"Was mich verwundert hat.", "das sind 15 Minuten."});
  ExpectFound("en", {"We sell qty. ten, and approx. five etc. as one."});
  ExpectFound("de", {"Es gilt ggf. der Rest inkl. allem usw. wie immer."});
  ExpectFound("en", {"It is an rgltn. by us."});
  // Of other languages too little is known.
  ExpectFound("fr", {"Il est là. et il mange."});
}

TEST(SentencesTest, EndsSentencesAtSmileys) {
  ExpectFound("de", {"Alles wie immer :)", "Also für eine Nacht reicht es."});
  ExpectFound("de", {"Danke Rosemarie! :-)", "Gäste kommen."});
  ExpectFound("en",
              {"Thanks a lot!", "😊", "Tomorrow is fine 👍🏽", "We will."});
  ExpectFound("en",
              {"I ❤️ New York and I :D Berlin.", "Well (see p. 8) Peter."});
  ExpectFound("en", {":) Berlin"});
  ExpectFound("en", {"It has 3 Doors."});
}

TEST(SentencesTest, EndsThaiSentencesAtPoliteParticles) {
  ExpectFound("th", {"สวัสดีครับ", "ผมชื่อสมชาย ยินดีที่ได้รู้จักค่ะ", "ไปไหนคะ"});
}

TEST(SentencesTest, EndsSentencesAtLineBreaks) {
  EXPECT_THAT(Sentences("en", " A title\r\n\r\nA text. More\n- a point\n"),
              ElementsAre("A title", "A text.", "More", "- a point"));
}

TEST(SentencesTest, SplitsOtherScripts) {
  EXPECT_THAT(Sentences("zh", "我吃了一个苹果。你呢？好！"),
              ElementsAre("我吃了一个苹果。", "你呢？", "好！"));
  EXPECT_THAT(Sentences("ja", "「行くよ。」と彼は言った。はい。"),
              testing::SizeIs(testing::Ge(2)));
  EXPECT_THAT(Sentences("th", "ฉันกินแอปเปิล\nอร่อยมาก"),
              ElementsAre("ฉันกินแอปเปิล", "อร่อยมาก"));
  EXPECT_THAT(Sentences("fr", "M. Dupont est là. Il mange."),
              ElementsAre("M. Dupont est là.", "Il mange."));
  EXPECT_THAT(Sentences("hi", "वह आया। वह गया।"),
              ElementsAre("वह आया।", "वह गया।"));
}

TEST(SentencesTest, UsesBothTablesForUnknownLanguages) {
  ExpectFound("", {"Dr. Meier kam am 3. Oktober.", "The end."});
  ExpectFound("xx-Latn", {"Dr. Who.", "Ja."});
  // Known by other names.
  ExpectFound("deu_Latn", {"Am 3. Montag.", "Ja."});
  ExpectFound("eng", {"In 3.", "Monday."});
  ExpectFound("en-GB", {"In 3.", "Monday."});
}

TEST(SentencesTest, FindsNoSentencesInBlankTexts) {
  EXPECT_THAT(Sentences("en", ""), ElementsAre());
  EXPECT_THAT(Sentences("en", " \n\t\u00A0\r\n\u2028"), ElementsAre());
}

TEST(SentencesTest, StopsWhenTheResultIsNoLongerWanted) {
  int asked = 0;
  const auto spans = SentenceSplitter("en").Split("a\nb\nc", [&asked] {
    return ++asked < 2 ? absl::OkStatus() : absl::CancelledError("gone");
  });
  EXPECT_EQ(spans.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 2);
  const std::string line(200 << 10, ' ');
  asked = 0;
  const auto more = SentenceSplitter("en").Split(
      "A. " + absl::StrReplaceAll(line, {{" ", "b "}}), [&asked] {
        return ++asked < 3 ? absl::OkStatus() : absl::CancelledError("gone");
      });
  EXPECT_EQ(more.status().code(), absl::StatusCode::kCancelled);
}

// What is in no sentence is white space, so that texts can be put together
// again byte for byte.
TEST(SentencesTest, LosesNoText) {
  const std::vector<std::string> parts = {
      "Hello", "Dr.",     "z. B.", "3.",   "A.",
      "x",     ".",       "!",     "?\"",  "。",
      "…",     "\r\n",    "\n",    "\r",   " ",
      "  ",    "\u00A0",  "\t",    "🎉",    "👩‍👩‍👧",
      "ก",     "\u2028",  "(",     ")",    "\"",
      "„",     "“",       "5",     "\x01", "\x7F",
      "é",     "e\u0301", "\xFF",  "\xE2", std::string(1, '\0'),
      "ß",     "İ",       "中",    "，",   ";"};
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (size_t n = random() % 30; n > 0; --n) {
      text += parts[random() % parts.size()];
    }
    const char* language = i % 3 == 0 ? "en" : i % 3 == 1 ? "de" : "fr";
    const auto spans = SentenceSplitter(language).Split(text, Yes);
    ASSERT_TRUE(spans.ok());
    size_t end = 0;
    for (const TextSpan& span : *spans) {
      ASSERT_LE(end, span.begin) << text;
      ASSERT_LT(span.begin, span.end) << text;
      EXPECT_TRUE(IsBlank(text.substr(end, span.begin - end))) << text;
      EXPECT_EQ(WithoutWhiteSpace(text, span), span) << text;
      end = span.end;
    }
    EXPECT_TRUE(IsBlank(text.substr(end))) << text;
  }
}

// A line of borders that are all taken back costs no more than its length.
TEST(SentencesTest, SplitsLongLinesOfAbbreviationsInLinearTime) {
  for (const char* part : {"z. B. ", "ก.", "1.", "\"?\"a", "Dr.", "a.b.", "((",
                           "... ", "5. 5 ", "…A"}) {
    std::string text;
    while (text.size() < (1 << 18)) text += part;
    EXPECT_TRUE(SentenceSplitter("de").Split(text, Yes).ok());
  }
}

TEST(ClauseBorderTest, PrefersClausesNearTheMiddle) {
  const auto left = [](std::string_view text) {
    return std::string(text.substr(0, ClauseBorder(text)));
  };
  EXPECT_EQ(left("one, two three four five; six seven eight"),
            "one, two three four five;");
  EXPECT_EQ(left("one two three, four five six"), "one two three,");
  EXPECT_EQ(left("one two three four"), "one two");
  EXPECT_EQ(left("a bcdefghijklmnop"), "a");
  EXPECT_EQ(left("abcdef"), "abc");
  EXPECT_EQ(left("一二三，四五六七"), "一二三，");
  EXPECT_EQ(left("ää"), "ä");
  EXPECT_EQ(ClauseBorder("ä"), 0);
  EXPECT_EQ(left("ภาษาไทยเป็นภาษาที่สวยงาม"), "ภาษาไทยเป็น");
  EXPECT_EQ(left("👩‍👩‍👧👩‍👩‍👧"), "👩‍👩‍👧")
      << "a family is one character";
}

TEST(ClauseBorderTest, DoesNotCutWordsOrWholeSpans) {
  const std::string thai = "ภาษาไทยเป็นภาษาที่สวยงาม";
  EXPECT_EQ(ClauseBorder(thai, {{21, 45}}), 45);  // of "เป็น" to "ภาษา"
  std::string longer;
  while (longer.size() < (1 << 18)) longer += thai;
  const size_t at = ClauseBorder(longer);
  EXPECT_LT(std::max(at, longer.size() / 2) - std::min(at, longer.size() / 2),
            20);
  // A word begins there, in whichever of the repetitions.
  EXPECT_EQ(std::set<size_t>({0, 12, 21, 33, 45, 54}).count(at % thai.size()),
            1);
}

}  // namespace
}  // namespace trivium
