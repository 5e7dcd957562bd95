#include "server/translation/glossary.h"

#include <gmock/gmock.h>

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Found(const Glossary& glossary,
                               std::string_view text) {
  std::vector<std::string> found;
  const auto matches = glossary.Find(text, nullptr);
  for (const Glossary::Match& match : *matches) {
    found.push_back(std::to_string(match.term) + " " +
                    std::string(match.span.Of(text)));
  }
  return found;
}

TEST(GlossaryTest, FindsWholeWords) {
  const Glossary glossary({{"server"}, {"hard disk"}, {"C++"}}, "en", false);
  EXPECT_THAT(Found(glossary, "The Server, a hard\ndisk; servers in C++."),
              ElementsAre("0 Server", "1 hard\ndisk", "2 C++"));
  EXPECT_THAT(Found(glossary, "observer, serverless, hard-disk, hard disks, C"),
              IsEmpty());
  EXPECT_THAT(Found(glossary, ""), IsEmpty());
}

TEST(GlossaryTest, StopsWhenTheResultIsNoLongerWanted) {
  const Glossary glossary({{"a b"}}, "en", false);
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "a b ";
  int asked = 0;
  const auto counts = [&asked] {
    ++asked;
    return absl::OkStatus();
  };
  EXPECT_EQ(glossary.Find(text, counts)->size(), 10'000);
  EXPECT_EQ(asked, 2 * 10);  // reading words, then terms: every 4 KiB
  EXPECT_EQ(glossary.Find(text, [] { return absl::CancelledError("gone"); })
                .status()
                .message(),
            "gone");
}

// Of 4^8 words that are alike but for capitals, terms have a thousand.
TEST(GlossaryTest, TellsTermsApartByCapitals) {
  std::vector<Glossary::Term> terms;
  for (int i = 0; i < 1000; ++i) {
    std::string term = "abcdefghij";
    for (int bit = 0; bit < 10; ++bit) {
      if (i >> bit & 1) term[bit] -= 'a' - 'A';
    }
    terms.push_back({term, true});
  }
  const Glossary glossary(terms, "en", false);
  EXPECT_THAT(Found(glossary, "abcdefghij ABcdefghij ABCDEFGHIJ"),
              ElementsAre("0 abcdefghij", "3 ABcdefghij"));
}

TEST(GlossaryTest, PrefersTheLongestTerm) {
  const Glossary glossary({{"server"}, {"server room"}, {"room"}}, "en", false);
  EXPECT_THAT(Found(glossary, "server server room room"),
              ElementsAre("0 server", "1 server room", "2 room"));
}

TEST(GlossaryTest, RespectsCapitalsWithinWords) {
  const Glossary glossary({{"IT"}, {"Apple", true}, {"ORACLE", false}}, "en",
                          false);
  EXPECT_THAT(Found(glossary, "it is IT, It. apple Apple oracle"),
              ElementsAre("0 IT", "1 Apple", "2 oracle"));
}

TEST(GlossaryTest, FindsInflectionsByLanguage) {
  const Glossary english({{"license"}, {"hard disk"}}, "en", true);
  EXPECT_THAT(Found(english, "Licenses of hard disks, licensed."),
              ElementsAre("0 Licenses", "1 hard disks", "0 licensed"));
  const Glossary german({{"Haus"}, {"Rechner"}}, "deu_Latn", true);
  EXPECT_THAT(Found(german, "Häuser mit Rechnern und Rechnungen"),
              ElementsAre("0 Häuser", "1 Rechnern"));
  EXPECT_TRUE(Glossary::KnowsInflections("de-AT"));
  EXPECT_FALSE(Glossary::KnowsInflections("zh"));
  EXPECT_FALSE(Glossary::KnowsInflections(""));
}

TEST(GlossaryTest, FindsInflectionsOfCapitalizedTerms) {
  const Glossary glossary({{"API"}}, "en", true);
  EXPECT_THAT(Found(glossary, "APIs, an API, apis"),
              ElementsAre("0 APIs", "0 API"));
}

TEST(GlossaryTest, FindsTermsInScriptsWithoutSpaces) {
  const Glossary glossary({{"服务器"}}, "zh", false);
  EXPECT_THAT(Found(glossary, "打开服务器房间"), ElementsAre("0 服务器"));
}

TEST(CountTermTest, CountsWholeWords) {
  EXPECT_EQ(CountTerm("Art, Artikel, art; Arten. Art", "Art", false), 2u);
  EXPECT_EQ(CountTerm("Art, Artikel, art; Arten. Art", "Art", true), 4u);
  EXPECT_EQ(CountTerm("Computer of a computer", "computer", false), 2u);
  EXPECT_EQ(CountTerm("Kunst-Art", "Art", false), 1u);
  EXPECT_EQ(CountTerm("打开服务器房间", "服务器", false), 1u);
  EXPECT_EQ(CountTerm("in C++.", "C++", false), 1u);
  EXPECT_EQ(CountTerm("", "a", false), 0u);
}

}  // namespace
}  // namespace trivium
