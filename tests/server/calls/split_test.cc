// Whole texts: a request for each sentence, one result for each text.
#include "tests/server/calls/translate_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

class SplitTest : public TranslateTest {
 protected:
  // All requests are answered by their sources, the last one first.
  v1::TranslateResponse Answered(size_t requests) {
    for (size_t i = requests; i-- > 0;) batcher_.Answer(i);
    const Ending ending = transport_.WaitForFinish();
    EXPECT_TRUE(ending.status.ok()) << ending.status;
    EXPECT_EQ(batcher_.count(), requests);
    return transport_.Response<v1::TranslateResponse>(0);
  }
};

TEST_F(SplitTest, WhiteSpaceIsKeptByteForByte) {
  const std::vector<std::string> texts = {
      "  A title\r\n\r\n\tOne.  Two!\u00A0Three?\n", " \n ", "\u3000Four. "};
  Start(texts);
  EXPECT_EQ(TextOf(batcher_.Wait(0)), "A title");
  EXPECT_EQ(TextOf(batcher_.Wait(3)), "Three?");
  EXPECT_EQ(TextOf(batcher_.Wait(4)), "Four.");
  const v1::TranslateResponse response = Answered(5);
  ASSERT_EQ(response.results_size(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(response.results(i).hypotheses(0).text(), texts[i]);
    EXPECT_EQ(response.results(i).cut_count(), 0);
  }
  EXPECT_EQ(response.results(0).sentence_count(), 4);
  EXPECT_EQ(response.results(1).sentence_count(), 0);
  EXPECT_EQ(response.results(2).sentence_count(), 1);
}

TEST_F(SplitTest, SignsAloneStayAsTheyAre) {
  const std::vector<std::string> texts = {
      "One.\n* * *\n \u2605\u2605\u2606 \nTwo!\n--- ", "!!!", "1."};
  options()->set_sentences(true);
  Start(texts);
  EXPECT_EQ(TextOf(batcher_.Wait(0)), "One.");
  EXPECT_EQ(TextOf(batcher_.Wait(1)), "Two!");
  const v1::TranslateResponse response = Answered(2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(response.results(i).hypotheses(0).text(), texts[i]);
  }
  EXPECT_EQ(response.results(0).sentence_count(), 2);
  EXPECT_EQ(response.results(0).sentences(1).source().byte_begin(), 23);
  EXPECT_EQ(response.results(1).sentence_count(), 0);
}

TEST_F(SplitTest, TheModelReadsSignsWhereItsSearchIsAskedAbout) {
  options()->mutable_decoding()->set_trace(true);
  Start({"!!!"});
  EXPECT_EQ(TextOf(batcher_.Wait(0)), "!!!");
  Answered(1);
}

TEST_F(SplitTest, WithoutTextStagesTheModelReadsDigits) {
  options()->set_text_stages(v1::TEXT_STAGES_OFF);
  Start({"1.", "!!!"});
  EXPECT_EQ(TextOf(batcher_.Wait(0)), "1.");
  Answered(1);
}

TEST_F(SplitTest, WithoutTextStagesTheModelReadsSignsOfWhatIsNotSplit) {
  options()->set_text_stages(v1::TEXT_STAGES_OFF);
  options()->set_split(v1::SPLIT_NONE);
  Start({"!!!"});
  EXPECT_EQ(TextOf(batcher_.Wait(0)), "!!!");
  Answered(1);
}

TEST_F(SplitTest, NumbersAreThoseOfAllSentences) {
  options()->set_tokens(true);
  Start({"One. Four."});
  const auto result = Answered(2).results(0);
  EXPECT_EQ(result.source_token_count(), 5 + 6);
  EXPECT_EQ(result.source_pieces_size(), 5 + 6);
  const v1::Hypothesis& hypothesis = result.hypotheses(0);
  EXPECT_EQ(hypothesis.token_count(), 5 + 6);
  EXPECT_EQ(hypothesis.ids_size(), 5 + 6);
  EXPECT_EQ(hypothesis.finish_reason(), v1::FINISH_REASON_END);
}

TEST_F(SplitTest, ScoresAreMeansOverTokens) {
  Start({"One. Two."});
  const auto answer = [&](size_t i, size_t tokens, float score,
                          FinishReason reason) {
    RequestResult result;
    Hypothesis& hypothesis = result.hypotheses.emplace_back();
    hypothesis.ids.assign(tokens, PuppetTokenizer::kFirst + 'X');
    hypothesis.logprobs.resize(tokens);
    hypothesis.score = score;
    hypothesis.log_probability = score * tokens;
    hypothesis.reason = reason;
    batcher_.Wait(i).observer->OnDone(std::move(result));
  };
  answer(0, 1, -4, FinishReason::kLength);
  answer(1, 3, -2, FinishReason::kEnd);
  transport_.WaitForFinish();
  const auto response = transport_.Response<v1::TranslateResponse>(0);
  const v1::Hypothesis& hypothesis = response.results(0).hypotheses(0);
  EXPECT_EQ(hypothesis.text(), "X XXX");
  EXPECT_EQ(hypothesis.score(), -2.5f);
  EXPECT_EQ(hypothesis.total_logprob(), -10);
  EXPECT_EQ(hypothesis.finish_reason(), v1::FINISH_REASON_LENGTH);
}

TEST_F(SplitTest, TellsWhereSentencesAre) {
  options()->set_sentences(true);
  Start({"Äh. Ja.\n"});
  const auto result = Answered(2).results(0);
  ASSERT_EQ(result.sentences_size(), 2);
  const v1::SentencePair& second = result.sentences(1);
  EXPECT_EQ(second.source().byte_begin(), 5);
  EXPECT_EQ(second.source().byte_end(), 8);
  EXPECT_EQ(second.source().char_begin(), 4);
  EXPECT_EQ(second.source().char_end(), 7);
  ASSERT_EQ(second.targets_size(), 1);
  EXPECT_EQ(second.targets(0).ShortDebugString(),
            second.source().ShortDebugString());
}

TEST_F(SplitTest, NothingIsSplitWhereNoneIsAskedFor) {
  options()->set_split(v1::SPLIT_NONE);
  Start({"One. Two.\n"});
  EXPECT_EQ(TextOf(batcher_.Wait(0)), "One. Two.\n");
  EXPECT_EQ(Answered(1).results(0).sentence_count(), 1);
}

// The puppet reads 64 tokens, bytes and an end.
TEST_F(SplitTest, LongSentencesAreCutAtClauses) {
  options()->set_sentences(true);
  const std::string text = "Short! " + std::string(40, 'a') + ", " +
                           std::string(40, 'b') + "; " + std::string(40, 'c') +
                           " " + std::string(90, 'd') + ".";
  Start({text});
  EXPECT_EQ(TextOf(batcher_.Wait(1)).back(), ',');
  const auto result = Answered(6).results(0);
  EXPECT_EQ(result.hypotheses(0).text(), text);
  EXPECT_EQ(result.sentence_count(), 6);
  EXPECT_EQ(result.cut_count(), 5);
  EXPECT_FALSE(result.sentences(0).cut());
  EXPECT_TRUE(result.sentences(1).cut());
  EXPECT_EQ(result.truncated_tokens(), 0);
}

TEST_F(SplitTest, LongSentencesMayLoseTheirEnd) {
  options()->set_truncate(true);
  Start({"Short! " + std::string(100, 'a')});
  const auto result = Answered(2).results(0);
  EXPECT_EQ(result.truncated_tokens(), 101 - 64);
  EXPECT_EQ(result.cut_count(), 0);
}

TEST_F(SplitTest, ASpaceIsPutWhereTheWritingNeedsOne) {
  Start({"我吃。你呢？"});
  for (size_t i = 0; i < 2; ++i) {
    RequestResult result;
    Hypothesis& hypothesis = result.hypotheses.emplace_back();
    for (const char c : std::string("Ja.")) {
      hypothesis.ids.push_back(PuppetTokenizer::kFirst + c);
    }
    hypothesis.logprobs.resize(hypothesis.ids.size());
    batcher_.Wait(i).observer->OnDone(std::move(result));
  }
  transport_.WaitForFinish();
  const auto response = transport_.Response<v1::TranslateResponse>(0);
  EXPECT_EQ(response.results(0).hypotheses(0).text(), "Ja. Ja.");
}

TEST_F(SplitTest, WhatIsOfOneSentenceIsRefusedForSeveral) {
  request_.add_inputs()->set_text("One. Two.");
  options()->mutable_cross_attention();
  EXPECT_THAT(Refused(), ErrorAt("options.cross_attention"));
}

TEST_F(SplitTest, PrefixesAreOfOneSentence) {
  request_.add_inputs()->set_text("One. Two.");
  request_.mutable_inputs(0)->set_target_prefix("E");
  EXPECT_THAT(Refused(), ErrorAt("inputs[0].target_prefix"));
}

TEST_F(SplitTest, TracesAreOfOneSentence) {
  request_.add_inputs()->set_text(std::string(100, 'x'));
  options()->mutable_decoding()->set_beam_size(2);
  options()->mutable_decoding()->set_trace(true);
  EXPECT_THAT(Refused(), ErrorAt("options.decoding.trace"));
}

TEST_F(SplitTest, OptionsThatWouldBeIgnoredAreErrors) {
  request_.add_inputs()->mutable_ids()->add_ids(5);
  options()->set_split(v1::SPLIT_SENTENCES);
  EXPECT_THAT(Refused(), ErrorAt("options.split"));
}

TEST_F(SplitTest, PlacesNeedASplit) {
  request_.add_inputs()->set_text("a");
  options()->set_split(v1::SPLIT_NONE);
  options()->set_sentences(true);
  EXPECT_THAT(Refused(), ErrorAt("options.sentences"));
}

TEST_F(SplitTest, ValuesThatAreNone) {
  request_.add_inputs()->set_text("a");
  options()->set_split(static_cast<v1::Split>(7));
  EXPECT_THAT(Refused(), ErrorAt("options.split"));
}

TEST_F(SplitTest, SentencesAreBoundedAsInputsAre) {
  environment_.limits.max_inputs = 3;
  request_.add_inputs()->set_text("A.\nB.\nC.\nD.");
  EXPECT_THAT(Refused(), ErrorAt("inputs[0].text"));
  EXPECT_EQ(batcher_.count(), 0);
}

TEST_F(SplitTest, SentencesOfACallAreBoundedAsInputsAre) {
  environment_.limits.max_inputs = 3;
  request_.add_inputs()->set_text("A.\nB.");
  request_.add_inputs()->set_text("C.\nD.");
  EXPECT_THAT(Refused(), ErrorAt("inputs[1].text"));
  EXPECT_EQ(batcher_.count(), 0);
}

TEST_F(SplitTest, PartsOfALongSentenceAreBoundedToo) {
  environment_.limits.max_inputs = 3;
  request_.add_inputs()->set_text(std::string(1000, 'x'));
  EXPECT_THAT(Refused(), ErrorAt("inputs[0].text"));
  EXPECT_EQ(batcher_.count(), 0);
}

// Of 60 KB, with commas here and there and nothing else to cut at.
class LongSentenceTest : public SplitTest {
 protected:
  LongSentenceTest() {
    auto owned = std::make_unique<PuppetModel>();
    owned->mutable_tokenizer().heard = [this](std::string_view text) {
      heard_ += text.size();
    };
    const ModelHandle served = ServedPuppet("listener", std::move(owned));
    metrics_.AddModel(*served);
    environment_.models.Add(served).IgnoreError();
    request_.set_model("listener");
    for (size_t i = 1000; i < text_.size(); i += 1700) {
      text_.replace(i, 2, ", ");
    }
  }

  std::string text_ = std::string(60'000, 'x');
  size_t heard_ = 0;  // bytes that were tokenized
};

TEST_F(LongSentenceTest, IsTokenizedAFewTimes) {
  environment_.limits.max_inputs = 4096;
  Start({text_});
  WaitFor(&tokenizing_);
  const size_t parts = batcher_.count();
  EXPECT_GE(parts, text_.size() / 64);
  EXPECT_EQ(Answered(parts).results(0).hypotheses(0).text(), text_);
  EXPECT_LE(heard_, 4 * text_.size());
}

TEST_F(LongSentenceTest, WithTooManyPartsIsNotTokenizedToItsEnd) {
  environment_.limits.max_inputs = 100;
  request_.add_inputs()->set_text(text_);
  EXPECT_THAT(Refused(), ErrorAt("inputs[0].text"));
  // Once it is heard whole, as the puppet does not stop at what is enough.
  EXPECT_LE(heard_, text_.size() + 20'000);
}

}  // namespace
}  // namespace trivium
