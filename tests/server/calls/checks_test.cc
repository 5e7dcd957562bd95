// Checks of translations, second tries, and words.
#include "tests/server/calls/translate_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::ElementsAre;

class ChecksTest : public TranslateTest {
 protected:
  v1::Checks* checks() { return options()->mutable_checks(); }
  // Each token is a byte, and less probable than the one before it.
  static RequestResult Made(const std::vector<std::string>& texts,
                            FinishReason reason = FinishReason::kEnd) {
    RequestResult result = Translated(texts, reason);
    for (Hypothesis& hypothesis : result.hypotheses) {
      float logprob = 0;
      for (float& one : hypothesis.logprobs) one = --logprob;
    }
    return result;
  }
  void Answer(size_t i, const std::vector<std::string>& texts) {
    batcher_.Wait(i).observer->OnDone(Made(texts));
  }
  std::vector<v1::Check> Found(const v1::TranslateResult& result) {
    std::vector<v1::Check> found;
    for (const v1::Suspicion& one : result.suspicions()) {
      found.push_back(one.check());
    }
    return found;
  }
};

TEST_F(ChecksTest, EachSentenceIsLookedAt) {
  checks();
  Start({"Äh, yes. The cat sat there. \n"});
  Answer(0, {"Äh, ja."});
  Answer(1, {"Die Katze Katze Katze Katze.", "Die Katze saß da."});
  const v1::TranslateResult result = Result();
  ASSERT_EQ(result.suspicions_size(), 1);
  const v1::Suspicion& found = result.suspicions(0);
  EXPECT_EQ(found.check(), v1::CHECK_REPETITION);
  EXPECT_EQ(found.hypothesis(), 0);
  EXPECT_EQ(found.source().byte_begin(), 10);
  EXPECT_EQ(found.source().char_begin(), 9);
  EXPECT_EQ(found.source().byte_end(), 28);
  EXPECT_EQ(result.second_try_count(), 0);
}

TEST_F(ChecksTest, AllThatIsFoundIsTold) {
  checks();
  options()->set_split(v1::SPLIT_NONE);
  const std::string source = " he had never seen such a house";
  Start({source});
  batcher_.Wait(0).observer->OnDone(
      Made({source + " he had never seen such a house",
            "Er hatte nie ein solches Haus gesehen."},
           FinishReason::kLength));
  const v1::TranslateResult result = Result();
  EXPECT_THAT(Found(result),
              ElementsAre(v1::CHECK_REPETITION, v1::CHECK_SOURCE_COPIED,
                          v1::CHECK_TRUNCATED, v1::CHECK_WRONG_LANGUAGE,
                          v1::CHECK_NEGATION, v1::CHECK_TRUNCATED));
  EXPECT_EQ(result.suspicions(5).hypothesis(), 1);
  EXPECT_EQ(result.suspicions(5).source().char_end(), source.size());
}

TEST_F(ChecksTest, OnlyWhatIsAskedFor) {
  checks()->add_kinds(v1::CHECK_LENGTH_RATIO);
  Start({"No, that is what I told her before she went to see her mother."});
  Answer(0, {"Ja ja ja ja."});
  EXPECT_THAT(Found(Result()), ElementsAre(v1::CHECK_LENGTH_RATIO));
}

TEST_F(ChecksTest, NegationsAreComparedBetweenEnglishAndGerman) {
  checks()->add_kinds(v1::CHECK_NEGATION);
  Start({"I do not like him. I like her."});
  Answer(0, {"Ich mag ihn."});
  Answer(1, {"Ich mag sie."});
  const v1::TranslateResult result = Result();
  EXPECT_THAT(Found(result), ElementsAre(v1::CHECK_NEGATION));
  EXPECT_EQ(result.suspicions(0).source().byte_end(), 18);
}

TEST_F(ChecksTest, KindsAreNamedOnce) {
  for (int i = 0; i < 9; ++i) checks()->add_kinds(v1::CHECK_REPETITION);
  EXPECT_EQ(
      Refused(),
      "options.checks.kinds: has 9 values, but only 8 exist; give each once");
}

TEST_F(ChecksTest, NothingIsToldThatNobodyAskedFor) {
  Start({"Yes."});
  Answer(0, {"Ja ja ja ja ja."});
  EXPECT_EQ(Result().suspicions_size(), 0);
}

TEST_F(ChecksTest, ASecondTryThatIsBetterIsKept) {
  checks()->mutable_second_try()->set_no_repeat_ngram_size(2);
  checks()->mutable_second_try()->set_beam_size(3);
  options()->mutable_decoding()->set_repetition_penalty(1.5);
  Start({"Yes. The cat sat there. No."});
  Answer(2, {"Nein."});
  Answer(1, {"Die Katze Katze Katze Katze."});
  Answer(0, {"Ja."});
  const Request& second = batcher_.Wait(3);
  EXPECT_EQ(second.source.ids, batcher_.Wait(1).source.ids);
  EXPECT_EQ(second.decoding->no_repeat_ngram_size, 2);
  EXPECT_EQ(second.decoding->beam_size, 3);
  EXPECT_EQ(second.decoding->repetition_penalty, 1.5f);
  Answer(3, {"Die Katze saß da."});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(), "Ja. Die Katze saß da. Nein.");
  EXPECT_EQ(result.second_try_count(), 1);
  EXPECT_EQ(result.second_kept_count(), 1);
  EXPECT_EQ(result.suspicions_size(), 0);
}

TEST_F(ChecksTest, OneThatIsNoBetterIsNot) {
  checks()->mutable_second_try();
  Start({"The cat sat there."});
  Answer(0, {"Die Katze Katze Katze Katze."});
  const DecodingOptions& decoding = *batcher_.Wait(1).decoding;
  EXPECT_EQ(decoding.beam_size, 4);
  EXPECT_EQ(decoding.no_repeat_ngram_size, 4);
  Answer(1, {"Da da da da da."});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(), "Die Katze Katze Katze Katze.");
  EXPECT_EQ(result.second_try_count(), 1);
  EXPECT_EQ(result.second_kept_count(), 0);
  EXPECT_THAT(Found(result), ElementsAre(v1::CHECK_REPETITION));
}

TEST_F(ChecksTest, DrawsAreTriedAgainByBeams) {
  checks()->mutable_second_try();
  options()->mutable_decoding()->set_temperature(2);
  options()->mutable_decoding()->set_top_k(5);
  Start({"The cat sat there."});
  Answer(0, {"Die Katze Katze Katze Katze."});
  EXPECT_FALSE(batcher_.Wait(1).decoding->sample);
  EXPECT_EQ(batcher_.Wait(1).decoding->beam_size, 4);
  Answer(1, {"Die Katze saß da."});
  EXPECT_EQ(Result().second_kept_count(), 1);
}

TEST_F(ChecksTest, ProtectedSpansHaveSecondTriesToo) {
  options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_PRINTF);
  checks()->mutable_second_try();
  Start({"Open %s at once."});
  Answer(0, {"Öffnen öffnen öffnen öffnen öffnen."});
  Answer(1, {"{1} jetzt jetzt jetzt jetzt jetzt öffnen."});
  EXPECT_EQ(batcher_.Wait(2).decoding->no_repeat_ngram_size, 4);
  EXPECT_EQ(batcher_.Wait(2).source.ids, batcher_.Wait(0).source.ids);
  Answer(2, {"Öffnen."});
  Answer(3, {"{1} sofort öffnen."});
  const v1::TranslateResult result = Result();
  EXPECT_EQ(result.hypotheses(0).text(), "%s sofort öffnen.");
  EXPECT_EQ(result.second_kept_count(), 1);
  EXPECT_EQ(result.unkept_size(), 0);
}

TEST_F(ChecksTest, WhatDoesNotGoWithThemIsRefused) {
  checks()->add_kinds(static_cast<v1::Check>(99));
  EXPECT_THAT(Refused(), ErrorAt("options.checks.kinds[0]"));
}

TEST_F(ChecksTest, ATargetPrefixIsRefused) {
  checks();
  request_.add_inputs()->set_text("a");
  request_.mutable_inputs(0)->set_target_prefix("b");
  Start();
  EXPECT_THAT(MessageOf(transport_.WaitForFinish()),
              ErrorAt("inputs[0].target_prefix"));
}

TEST_F(ChecksTest, IdsAreRefused) {
  checks();
  options()->set_split(v1::SPLIT_NONE);
  request_.add_inputs()->mutable_ids()->add_ids(5);
  Start();
  EXPECT_THAT(MessageOf(transport_.WaitForFinish()), ErrorAt("options.checks"));
}

TEST_F(ChecksTest, ASecondTryHasTheFirstOnesHypotheses) {
  checks()->mutable_second_try()->set_num_hypotheses(2);
  EXPECT_THAT(Refused(), ErrorAt("options.checks.second_try.num_hypotheses"));
}

TEST_F(ChecksTest, ASecondTryIsCheckedAtOnce) {
  checks()->mutable_second_try()->set_beam_size(99);
  EXPECT_THAT(Refused(), ErrorAt("options.checks.second_try.beam_size"));
}

TEST_F(ChecksTest, AttentionIsOfOneSearch) {
  checks()->mutable_second_try();
  options()->mutable_cross_attention();
  EXPECT_THAT(Refused(), ErrorAt("options.cross_attention"));
}

class WordsTest : public ChecksTest {
 protected:
  WordsTest() { options()->set_words(true); }

  // Byte i of a translation looks at byte looks[i] of the source.
  static RequestResult Looking(const Request& request, const std::string& text,
                               const std::vector<int>& looks) {
    RequestResult result = Made({text});
    AttentionMap& map = result.cross_attention.emplace_back();
    map.layers = map.heads = 1;
    map.queries = static_cast<int>(text.size());
    map.keys = static_cast<int>(request.source.ids.size());
    for (const int look : looks) {
      for (int key = 0; key < map.keys; ++key) {
        map.weights.push_back(key == look ? 1 : 0);
      }
    }
    return result;
  }
};

TEST_F(WordsTest, TellWhatTheyTranslateAndHowSurely) {
  Start({" Äh cat.  Go on!"});
  const Request& first = batcher_.Wait(0);
  ASSERT_TRUE(first.cross_attention);
  EXPECT_TRUE(first.cross_attention->layers.empty());
  EXPECT_TRUE(first.mean_cross_attention);
  // "ü" and "b" look at "cat.", the space between at nothing.
  first.observer->OnDone(Looking(first, "\u00FC b", {4, 5, 8, 0}));
  const Request& second = batcher_.Wait(1);
  second.observer->OnDone(Looking(second, "los", {0, 3, 3}));
  const v1::TranslateResult result = Result();
  ASSERT_EQ(result.source_words_size(), 4);
  EXPECT_EQ(result.source_words(0).byte_begin(), 1);
  EXPECT_EQ(result.source_words(0).byte_end(), 4);
  EXPECT_EQ(result.source_words(0).char_end(), 3);
  EXPECT_EQ(result.source_words(3).byte_begin(), 14);
  EXPECT_EQ(result.source_words(3).char_end(), 16);
  const v1::Hypothesis& hypothesis = result.hypotheses(0);
  EXPECT_EQ(hypothesis.text(), " \u00FC b  los");
  ASSERT_EQ(hypothesis.words_size(), 3);
  const v1::TargetWord& one = hypothesis.words(0);
  EXPECT_EQ(one.byte_begin(), 1);
  EXPECT_EQ(one.byte_end(), 3);
  EXPECT_EQ(one.char_end(), 2);
  EXPECT_EQ(one.mean_logprob(), -1.5);
  EXPECT_EQ(one.min_logprob(), -2);
  EXPECT_THAT(one.source_words(), ElementsAre(1));
  // The space's token says the word after it.
  EXPECT_EQ(hypothesis.words(1).mean_logprob(), -3.5);
  EXPECT_THAT(hypothesis.words(1).source_words(), ElementsAre(0));
  const v1::TargetWord& last = hypothesis.words(2);
  EXPECT_EQ(last.byte_begin(), 7);
  EXPECT_EQ(last.char_begin(), 6);
  EXPECT_EQ(last.min_logprob(), -3);
  EXPECT_THAT(last.source_words(), ElementsAre(2, 3));
}

TEST_F(WordsTest, TextsThatAreNotSplitHaveWords) {
  options()->set_split(v1::SPLIT_NONE);
  Start({"One. Two."});
  const Request& request = batcher_.Wait(0);
  request.observer->OnDone(Looking(request, "2", {6}));
  const v1::TranslateResult result = Result();
  ASSERT_EQ(result.hypotheses(0).words_size(), 1);
  EXPECT_THAT(result.hypotheses(0).words(0).source_words(), ElementsAre(1));
}

TEST_F(WordsTest, SecondTriesHaveTheirOwn) {
  checks()->mutable_second_try();
  Start({"Go."});
  const Request& first = batcher_.Wait(0);
  first.observer->OnDone(Looking(first, "a a a a a", std::vector<int>(9, 0)));
  const Request& second = batcher_.Wait(1);
  second.observer->OnDone(Looking(second, "Los.", {0, 0, 0, 0}));
  EXPECT_EQ(Result().hypotheses(0).words_size(), 1);
}

TEST_F(WordsTest, OtherSelectionsOfAttentionAreRefused) {
  options()->mutable_cross_attention();
  EXPECT_THAT(Refused(), ErrorAt("options.cross_attention"));
}

TEST_F(WordsTest, ProtectedSpansAreRefused) {
  options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_URL);
  EXPECT_THAT(Refused(), ErrorAt("options.words"));
}

TEST_F(WordsTest, IdsAreRefused) {
  options()->set_split(v1::SPLIT_NONE);
  request_.add_inputs()->mutable_ids()->add_ids(5);
  Start();
  EXPECT_THAT(MessageOf(transport_.WaitForFinish()), ErrorAt("options.words"));
}

}  // namespace
}  // namespace trivium
