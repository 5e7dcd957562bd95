// Texts with markup: what the model reads, and what becomes of tags.
#include "tests/server/calls/translate_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::HasSubstr;

class MarkupCallTest : public TranslateTest {
 protected:
  MarkupCallTest() { options()->set_format(v1::TEXT_FORMAT_HTML); }

  // Request i reads `source`, and its hypotheses are `translations`; where it
  // asks what they look at, that is the same letter.
  void Expect(size_t i, const std::string& source,
              const std::vector<std::string>& translations) {
    const Request& request = batcher_.Wait(i);
    std::string read;
    for (const int32_t id : request.source.ids) {
      read += id >= PuppetTokenizer::kFirst
                  ? static_cast<char>(id - PuppetTokenizer::kFirst)
                  : '\0';
    }
    EXPECT_EQ(read, source + '\0');
    RequestResult result;
    for (const std::string& text : translations) {
      Hypothesis& hypothesis = result.hypotheses.emplace_back();
      hypothesis.ids = IdsOf(text);
      hypothesis.ids.push_back(PuppetTokenizer::kEnd);
      hypothesis.logprobs.resize(hypothesis.ids.size());
      hypothesis.reason = FinishReason::kEnd;
      if (!request.cross_attention) continue;
      EXPECT_TRUE(request.mean_cross_attention);
      AttentionMap& map = result.cross_attention.emplace_back();
      map.layers = map.heads = 1;
      map.queries = static_cast<int>(hypothesis.ids.size());
      map.keys = static_cast<int>(read.size());
      // The end gets most of what is left.
      for (const char c : text + '\0') {
        for (const char key : read) {
          map.weights.push_back(key == '\0' ? 0.9f : key == c ? 0.1f : 0.01f);
        }
      }
    }
    request.observer->OnDone(std::move(result));
  }
};

TEST_F(MarkupCallTest, TheModelReadsWhatPeopleRead) {
  options()->set_sentences(true);
  Start({"<p class=x>A <b>b</b>&amp;\n cc. <i>D ee.</i></p>\n<hr> <p>F</p>\n"});
  Expect(0, "A b& cc.", {"cc b A &."});
  EXPECT_FALSE(batcher_.Wait(1).cross_attention);
  Expect(1, "D ee.", {"ee > D."});
  Expect(2, "F", {"F"});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(
      result.hypotheses(0).text(),
      "<p class=x>cc <b>b</b> A &amp;. <i>ee &gt; D.</i></p>\n<hr> <p>F</p>"
      "\n");
  ASSERT_EQ(result.sentences_size(), 3);
  EXPECT_EQ(result.sentences(0).source().byte_begin(), 11);
  EXPECT_EQ(result.sentences(0).source().byte_end(), 11 + 20);
  EXPECT_EQ(result.sentences(0).targets(0).byte_end(), 11 + 20);
  EXPECT_EQ(result.sentences(1).targets(0).byte_begin(), 11 + 20 + 4);
}

TEST_F(MarkupCallTest, MarkdownGoesTheSameWay) {
  options()->set_format(v1::TEXT_FORMAT_MARKDOWN);
  options()->set_sentences(true);
  Start({"# A\n\n- x **y**\n  `c`.\n\n```\nB\n```\n"});
  Expect(0, "A", {"1. A"});
  Expect(1, "x y <x1>.", {"y* <x1> x."});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(),
            "# 1\\. A\n\n- **y**\\* `c` x.\n\n```\nB\n```\n");
  ASSERT_EQ(result.sentences_size(), 2);
  EXPECT_EQ(result.sentences(1).source().byte_begin(), 7);
  EXPECT_EQ(result.sentences(1).source().byte_end(), 7 + 14);
}

TEST_F(MarkupCallTest, EachHypothesisHasItsTags) {
  options()->mutable_decoding()->set_beam_size(2);
  options()->mutable_decoding()->set_num_hypotheses(2);
  Start({"x <b>y</b>", "<br>", ""});
  Expect(0, "x y", {"x y", "y x"});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(), "x <b>y</b>");
  EXPECT_EQ(result.hypotheses(1).text(), "<b>y</b> x");
  EXPECT_EQ(Result(1).hypotheses(0).text(), "<br>");
  EXPECT_EQ(Result(2).hypotheses(0).text(), "");
}

TEST_F(MarkupCallTest, WhatIsNotTranslatedIsAPlaceholder) {
  options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_PRINTF);
  Start({"U <code>a &lt; %s</code> <b>o %d</b> v", "<kbd>F5</kbd>"});
  // No words are asked for where only code has a place.
  Expect(0, "U <x1> o <x2> v", {"v o <x2> U <x1>"});
  EXPECT_EQ(Result().hypotheses(0).text(),
            "v <b>o %d</b> U <code>a &lt; %s</code>");
  EXPECT_EQ(Result(1).hypotheses(0).text(), "<kbd>F5</kbd>");
  EXPECT_EQ(Result().unkept_size(), 0);
}

TEST_F(MarkupCallTest, NoTagComesIntoAProtectedSpan) {
  options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_PRINTF);
  Start({"U <b>%d</b> v", "%<i>s</i> o"});
  Expect(0, "U <x1> v", {"v <x1> U"});
  Expect(1, "<x1> o", {"o <x1>"});
  EXPECT_EQ(Result().hypotheses(0).text(), "v <b>%d</b> U");
  EXPECT_EQ(Result(1).hypotheses(0).text(), "o <i>%s</i>");
}

TEST_F(MarkupCallTest, PiecesHaveTheirTags) {
  Start({"U <code>x</code> <b>o</b>, v <kbd>y</kbd>"});
  Expect(0, "U <x1> o, v <x2>", {"none"});
  Expect(1, "U {1} o, v {2}", {"none"});
  Expect(2, "U %1 o, v %2", {"none"});
  Expect(3, "U", {"uu"});
  Expect(4, "o, v", {"v, o"});
  EXPECT_EQ(Result().hypotheses(0).text(),
            "uu <code>x</code> v, <b>o</b> <kbd>y</kbd>");
}

TEST_F(MarkupCallTest, CodeStaysWhereSentencesMayNotBeInPieces) {
  options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_PRINTF);
  options()->mutable_protect()->set_pieces(false);
  Start({"U <code>x</code> %s w"});
  for (size_t i = 0; i < 3; ++i) {
    const char* const read[] = {"U <x1> <x2> w", "U {1} {2} w", "U %1 %2 w"};
    Expect(i, read[i], {"w U"});
  }
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(), "<code>x</code> w U");
  ASSERT_EQ(result.unkept_size(), 1);
  EXPECT_EQ(result.unkept(0).text(), "%s");
  EXPECT_EQ(result.unkept(0).source().byte_begin(), 17);
}

TEST_F(MarkupCallTest, WithoutSplittingBlocksAreTextsOfTheirOwn) {
  options()->set_format(v1::TEXT_FORMAT_XML);
  options()->set_split(v1::SPLIT_NONE);
  Start({"<d><s>A. b.</s><s> <![CDATA[C & d]]></s></d>"});
  Expect(0, "A. b.", {"A > b"});
  Expect(1, "C & d", {"d & C"});
  EXPECT_EQ(Result().hypotheses(0).text(),
            "<d><s>A &gt; b</s><s> <![CDATA[d & C]]></s></d>");
}

TEST_F(MarkupCallTest, TermsAreOfTheTextWithoutIt) {
  v1::GlossaryTerm* term = options()->mutable_glossary()->add_terms();
  term->set_source("cat");
  term->set_target("miez");
  Start({"<p>&gt; A <b>cat</b> x.</p>"});
  ASSERT_EQ(batcher_.Wait(0).decoding->required.size(), 1u);
  Expect(0, "> A cat x.", {"> A miez x."});
  const v1::TranslateResult result = Result();
  EXPECT_THAT(result.hypotheses(0).text(), HasSubstr("miez"));
  ASSERT_EQ(result.glossary_uses_size(), 1);
  EXPECT_EQ(result.glossary_uses(0).missing_size(), 0);
  EXPECT_EQ(result.glossary_uses(0).source().byte_begin(), 13);
  EXPECT_EQ(result.glossary_uses(0).source().byte_end(), 16);
}

TEST_F(MarkupCallTest, ASecondTryHasItsTags) {
  options()->mutable_checks()->add_kinds(v1::CHECK_LENGTH_RATIO);
  options()->mutable_checks()->mutable_second_try();
  const std::string words = " is what I told her before she saw her mother.";
  Start({"<p><b>QUX</b>" + words + "</p><p>" + "That" + words + "</p>"});
  Expect(0, "QUX" + words, {"a"});
  Expect(1, "That" + words, {"a"});
  Expect(2, "QUX" + words, {"o QUX" + words});
  Expect(3, "That" + words, {"b"});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(),
            "<p>o <b>QUX</b>" + words + "</p><p>a</p>");
  EXPECT_EQ(result.second_try_count(), 2);
  EXPECT_EQ(result.second_kept_count(), 1);
  ASSERT_EQ(result.suspicions_size(), 1);
  EXPECT_EQ(result.suspicions(0).source().byte_begin(), 20 + words.size());
}

TEST_F(MarkupCallTest, WordsAreOfTextsWithoutIt) {
  request_.add_inputs()->set_text("a");
  options()->set_words(true);
  EXPECT_THAT(Refused(), ErrorAt("options.words"));
}
TEST_F(MarkupCallTest, WhatCannotBeIsRefused) {
  request_.add_inputs()->set_text("a");
  options()->mutable_cross_attention();
  EXPECT_THAT(Refused(), ErrorAt("options.cross_attention"));
}
TEST_F(MarkupCallTest, UnknownFormatsAreRefused) {
  request_.add_inputs()->set_text("a");
  options()->set_format(static_cast<v1::TextFormat>(9));
  EXPECT_THAT(Refused(), ErrorAt("options.format"));
}
TEST_F(MarkupCallTest, MalformedXmlNamesTheText) {
  options()->set_format(v1::TEXT_FORMAT_XML);
  request_.add_inputs()->set_text("a");
  request_.add_inputs()->set_text("a<b>");
  EXPECT_THAT(Refused(), ErrorAt("inputs[1].text"));
}
TEST_F(MarkupCallTest, IdsHaveNoMarkup) {
  request_.add_inputs()->mutable_ids()->add_ids(5);
  EXPECT_THAT(Refused(), ErrorAt("options.format"));
}
TEST_F(MarkupCallTest, PrefixesAreOfOneSearch) {
  request_.add_inputs()->set_text("a");
  request_.mutable_inputs(0)->set_target_prefix("b");
  EXPECT_THAT(Refused(), ErrorAt("inputs[0].target_prefix"));
}

}  // namespace
}  // namespace trivium
