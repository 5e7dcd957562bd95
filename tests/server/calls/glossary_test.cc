// Glossaries: what a search is held to, and what results tell of it.
#include "tests/server/calls/translate_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::ElementsAre;

class GlossaryCallTest : public TranslateTest {
 protected:
  v1::GlossaryTerm* Add(const std::string& source, const std::string& target) {
    v1::GlossaryTerm* term = options()->mutable_glossary()->add_terms();
    term->set_source(source);
    term->set_target(target);
    return term;
  }
};

TEST_F(GlossaryCallTest, ASearchIsHeldToTheTermsOfItsSentence) {
  Add("computer", "Rechner");
  Add("cat", "miez");
  options()->mutable_decoding()->set_num_hypotheses(2);
  Start({"Äh, a Computer. A cat's computer. None."});
  const DecodingOptions& first = *batcher_.Wait(0).decoding;
  ASSERT_EQ(first.required.size(), 1u);
  EXPECT_THAT(first.required[0].forms, ElementsAre(IdsOf("Rechner")));
  EXPECT_TRUE(first.required[0].first_forms.empty());
  EXPECT_TRUE(first.required[0].whole);
  EXPECT_FALSE(first.required[0].endings);
  EXPECT_EQ(first.beam_size, 2 + 2);
  // Its tokens: a byte each, "Ä" two.
  EXPECT_THAT(first.required[0].source,
              ElementsAre(7, 8, 9, 10, 11, 12, 13, 14));
  const DecodingOptions& second = *batcher_.Wait(1).decoding;
  ASSERT_EQ(second.required.size(), 2u);
  EXPECT_THAT(second.required[0].first_forms, ElementsAre(IdsOf("Miez")));
  EXPECT_EQ(second.beam_size, 2 + 4);
  EXPECT_TRUE(batcher_.Wait(2).decoding->required.empty());
  EXPECT_EQ(batcher_.Wait(2).decoding->beam_size, 2);
  Answer(0, {"Ein Rechner.", "Ein Computer."});
  Answer(1, {"Miez am Rechnerpult.", "Der Rechner der miez."});
  Answer(2, {"Nichts.", "Nein."});
  const v1::TranslateResult result = Result();
  ASSERT_EQ(result.glossary_uses_size(), 3);
  const v1::GlossaryUse& one = result.glossary_uses(0);
  EXPECT_EQ(one.term(), 0);
  EXPECT_EQ(one.source().byte_begin(), 7);
  EXPECT_EQ(one.source().char_begin(), 6);
  EXPECT_EQ(one.source().char_end(), 14);
  EXPECT_THAT(one.missing(), ElementsAre(1));
  EXPECT_EQ(result.glossary_uses(1).term(), 1);
  EXPECT_TRUE(result.glossary_uses(1).missing().empty());
  EXPECT_THAT(result.glossary_uses(2).missing(), ElementsAre(0));
}

TEST_F(GlossaryCallTest, EqualTermsAreNeededAsOften) {
  Add("cat", "Miez");
  options()->set_split(v1::SPLIT_NONE);
  Start({" cat and cat"});
  EXPECT_EQ(batcher_.Wait(0).decoding->required.size(), 2u);
  Answer(0, {"Miez und Katze"});
  const v1::TranslateResult result = Result();
  ASSERT_EQ(result.glossary_uses_size(), 2);
  EXPECT_TRUE(result.glossary_uses(0).missing().empty());
  EXPECT_THAT(result.glossary_uses(1).missing(), ElementsAre(0));
}

TEST_F(GlossaryCallTest, InflectionsAreFoundAndMayHaveEndings) {
  Add("license", "Lizenz");
  options()->mutable_glossary()->set_inflections(true);
  Start({"Two licenses."});
  EXPECT_TRUE(batcher_.Wait(0).decoding->required.at(0).endings);
  Answer(0, {"Zwei Lizenzen."});
  EXPECT_TRUE(Result().glossary_uses(0).missing().empty());
}

TEST_F(GlossaryCallTest, ManyTermsAreBounded) {
  Add("a", "ein");
  options()->set_split(v1::SPLIT_NONE);
  std::string text;
  for (int i = 0; i < 20; ++i) text += "a ";
  Start({text});
  EXPECT_EQ(batcher_.Wait(0).decoding->required.size(), 12u);
  EXPECT_EQ(batcher_.Wait(0).decoding->beam_size, 16);
  Answer(0, {"ein"});
  EXPECT_EQ(Result().glossary_uses_size(), 20);
}

TEST_F(GlossaryCallTest, ProtectedSpansHaveNoTerms) {
  Add("cat", "Miez");
  options()->mutable_protect()->add_patterns("cat food");
  Start({"The cat food of the cat."});
  EXPECT_EQ(batcher_.Wait(0).decoding->required.size(), 1u);
  Answer(0, {"Das <x1> der Miez."});
  const v1::TranslateResult result = Result();
  ASSERT_EQ(result.glossary_uses_size(), 1);
  EXPECT_EQ(result.glossary_uses(0).source().byte_begin(), 20);
}

TEST_F(GlossaryCallTest, SecondTriesAreHeldToThem) {
  Add("cat", "Miez");
  options()->mutable_checks()->mutable_second_try();
  Start({"The cat."});
  Answer(0, {"Miez Miez Miez Miez Miez."});
  EXPECT_EQ(batcher_.Wait(1).decoding->required.size(), 1u);
  EXPECT_EQ(batcher_.Wait(1).decoding->beam_size, 6);
  Answer(1, {"Die Miez."});
  EXPECT_EQ(Result().glossary_uses_size(), 1);
}

TEST_F(GlossaryCallTest, NoTermsAreRefused) {
  options()->mutable_glossary();
  EXPECT_THAT(Refused(), ErrorAt("options.glossary"));
}

TEST_F(GlossaryCallTest, BadTermsAreRefused) {
  Add("cat", " ");
  EXPECT_THAT(Refused(), ErrorAt("options.glossary.terms[0].target"));
}

TEST_F(GlossaryCallTest, LongTermsAreRefused) {
  Add("cat", "Miez");
  Add(std::string(257, 'a'), "A");
  EXPECT_THAT(Refused(), ErrorAt("options.glossary.terms[1].source"));
}

TEST_F(GlossaryCallTest, TermsOfManyWordsAreRefused) {
  Add(std::string(65, '.'), "b");
  EXPECT_THAT(Refused(), ErrorAt("options.glossary.terms[0].source"));
}

// Twenty-four bytes each, where a response has at most a thousand.
TEST_F(GlossaryCallTest, UsesAreExpectedOfTheResponse) {
  environment_.limits.max_response_bytes = 1000;
  Add("a", "b");
  std::string text;
  for (int i = 0; i < 50; ++i) text += "a ";
  request_.add_inputs()->set_text(text);
  EXPECT_THAT(Refused(), ErrorAt("1200"));
  EXPECT_EQ(batcher_.count(), 0);
}

TEST_F(GlossaryCallTest, TermsOfManyTokensAreRefused) {
  Add("cat", std::string(33, 'a'));
  EXPECT_THAT(Refused(), ErrorAt("terms[0].target"));
}

TEST_F(GlossaryCallTest, TooManyTermsAreRefused) {
  for (int i = 0; i < 1025; ++i) Add("cat", "Miez");
  EXPECT_THAT(Refused(), ErrorAt("options.glossary.terms"));
}

TEST_F(GlossaryCallTest, DrawsAreNoSearch) {
  Add("cat", "Miez");
  options()->mutable_decoding()->set_temperature(1);
  EXPECT_THAT(Refused(), ErrorAt("options.glossary"));
}

TEST_F(GlossaryCallTest, IdsHaveNoTerms) {
  Add("cat", "Miez");
  options()->set_split(v1::SPLIT_NONE);
  request_.add_inputs()->mutable_ids()->add_ids(5);
  Start();
  EXPECT_THAT(MessageOf(transport_.WaitForFinish()),
              ErrorAt("options.glossary"));
}

}  // namespace
}  // namespace trivium
