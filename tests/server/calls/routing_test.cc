// Which models translate: where the source's language is detected, where no
// model is named, and by way of a pivot language.
#include <gmock/gmock.h>

#include <cctype>
#include <map>

#include "server/errors/status.h"
#include "tests/server/calls/handlers_fixture.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kEnglish[] = "The cat sat on the mat.";
constexpr char kGerman[] = "Die Katze sitzt auf der Matte.";
constexpr char kFrench[] = "Le chat est assis sur le tapis.";
constexpr char kRussian[] = "Кошка сидит на ковре.";

// The first model, "translator", translates English to German.
class RoutingTest : public HandlersTest {
 protected:
  void Add(const std::string& name, const std::vector<std::string>& sources,
           const std::vector<std::string>& targets) {
    auto model = std::make_unique<PuppetModel>();
    model->set_languages(sources, targets);
    const ModelHandle served = ServedPuppet(name, std::move(model));
    metrics_.AddModel(*served);
    ASSERT_TRUE(environment_.models.Add(served).ok());
  }
  void Start(const std::vector<std::string>& texts, const char* source,
             const char* target) {
    request_.clear_inputs();
    for (const std::string& text : texts) request_.add_inputs()->set_text(text);
    if (source != nullptr) options()->set_source_language(source);
    if (target != nullptr) options()->set_target_language(target);
    transport_.Bring(request_);
    handler_ = NewTranslate(environment_, context_, &transport_);
    handler_->Start();
  }
  std::string Refused(const std::vector<std::string>& texts, const char* source,
                      const char* target) {
    Start(texts, source, target);
    const Ending ending = transport_.WaitForFinish();
    EXPECT_TRUE(absl::IsInvalidArgument(ending.status)) << ending.status;
    return MessageOf(ending);
  }
  // The model that was asked request i, and what.
  std::string Asked(size_t i) {
    const Request& request = batcher_.Wait(i);
    return request.model->name + ": " +
           PuppetTokenizer().Decode(request.source.ids);
  }
  // Where it is asked for, letters look at the same ones of the source, large
  // or small.
  void AnswerWith(size_t i, const std::string& text) {
    const Request& request = batcher_.Wait(i);
    RequestResult result;
    result.source_tokens = static_cast<int>(request.source.ids.size());
    if (request.cross_attention) {
      AttentionMap& map = result.cross_attention.emplace_back();
      map.layers = map.heads = 1;
      map.queries = static_cast<int>(text.size()) + 1;
      map.keys = result.source_tokens;
      for (const char c : text + '\0') {
        for (const int32_t id : request.source.ids) {
          const int key = id - PuppetTokenizer::kFirst;
          map.weights.push_back(std::tolower(static_cast<unsigned char>(c)) ==
                                        std::tolower(key)
                                    ? 0.5f
                                    : 0.01f);
        }
      }
    }
    Hypothesis& hypothesis = result.hypotheses.emplace_back();
    for (const char c : text) {
      hypothesis.ids.push_back(PuppetTokenizer::kFirst +
                               static_cast<unsigned char>(c));
    }
    hypothesis.ids.push_back(PuppetTokenizer::kEnd);
    hypothesis.logprobs.resize(hypothesis.ids.size());
    hypothesis.reason = FinishReason::kEnd;
    request.observer->OnDone(std::move(result));
  }
  v1::TranslateResponse Response() {
    const Ending ending = transport_.WaitForFinish();
    EXPECT_TRUE(ending.status.ok()) << ending.status;
    return transport_.Response<v1::TranslateResponse>(0);
  }
  v1::TranslateResponse Answered(size_t requests) {
    for (size_t i = 0; i < requests; ++i) batcher_.Answer(i);
    EXPECT_EQ(batcher_.count(), requests);
    return Response();
  }
  v1::TranslateOptions* options() { return request_.mutable_options(); }

  v1::TranslateRequest request_;
  CallContext context_;
};

// "fr-en fr-en, en-de en-de"
std::string RouteOf(const v1::TranslateResult& result) {
  std::string route;
  for (const v1::TranslationStep& step : result.route()) {
    route += (route.empty() ? "" : ", ") + step.model().name() + " " +
             step.source_language() + "-" + step.target_language();
  }
  return route;
}

TEST_F(RoutingTest, EachTextGoesToTheModelOfItsLanguage) {
  Add("fr-de", {"fr"}, {"de"});
  Add("en-fr", {"en"}, {"fr"});
  Start({kFrench, kEnglish, " ", kFrench}, "auto", "de");
  EXPECT_EQ(Asked(0), std::string("fr-de: ") + kFrench);
  EXPECT_EQ(Asked(1), std::string("translator: ") + kEnglish);
  EXPECT_EQ(Asked(2), std::string("fr-de: ") + kFrench);
  const v1::TranslateResponse response = Answered(3);
  EXPECT_EQ(response.model().name(), "fr-de");
  EXPECT_EQ(RouteOf(response.results(0)), "fr-de fr-de");
  EXPECT_EQ(RouteOf(response.results(1)), "translator en-de");
  const v1::DetectedLanguage& found = response.results(1).detected_languages(0);
  EXPECT_EQ(found.language(), "en");
  EXPECT_GT(found.confidence(), 0.9);
  EXPECT_TRUE(found.reliable());
  EXPECT_EQ(response.results(1).hypotheses(0).text(), kEnglish);
  // Blank.
  EXPECT_EQ(response.results(2).hypotheses(0).text(), " ");
  EXPECT_THAT(response.results(2).detected_languages(), IsEmpty());
}

TEST_F(RoutingTest, ANamedModelDetectsAmongItsOwnLanguages) {
  Add("many", {"en", "fr", "ru"}, {"en", "de"});
  Add("de-en", {"de"}, {"en"});
  request_.set_model("many");
  Start({kRussian, kFrench}, "auto", "en");
  EXPECT_EQ(batcher_.Wait(0).model->name, "many");
  EXPECT_EQ(batcher_.Wait(1).model->name, "many");
  const v1::TranslateResponse response = Answered(2);
  EXPECT_EQ(RouteOf(response.results(0)), "many ru-en");
  EXPECT_EQ(RouteOf(response.results(1)), "many fr-en");
}

TEST_F(RoutingTest, ATextInALanguageThatNobodyTranslatesIsRefusedByName) {
  Add("fr-de", {"fr"}, {"de"});
  EXPECT_THAT(Refused({kEnglish, kRussian}, "auto", "de"),
              testing::AllOf(ErrorAt("options.source_language"),
                             ErrorAt("inputs[1].text"), ErrorAt("fr-de")));
}

TEST_F(RoutingTest, ATextInTheTargetLanguageComesBackAsItIs) {
  Add("fr-de", {"fr"}, {"de"});
  Start({kGerman}, "auto", "de");
  const v1::TranslateResponse response = Answered(0);
  EXPECT_EQ(response.results(0).hypotheses(0).text(), kGerman);
  EXPECT_EQ(response.results(0).detected_languages(0).language(), "de");
  EXPECT_THAT(response.results(0).route(), IsEmpty());
}

TEST_F(RoutingTest, WhatTellsNoLanguageIsEnglishOrTheFirstThatThereIs) {
  Add("fr-de", {"fr"}, {"de"});
  Add("fr-en", {"fr"}, {"en"});
  // Else no model would read it.
  options()->set_text_stages(v1::TEXT_STAGES_OFF);
  Start({"12345"}, "auto", "de");
  v1::TranslateResponse response = Answered(1);
  EXPECT_EQ(RouteOf(response.results(0)), "translator en-de");
  EXPECT_EQ(response.results(0).detected_languages(0).language(), "en");
  EXPECT_EQ(response.results(0).detected_languages(0).confidence(), 0);
}

TEST_F(RoutingTest, OfMarkupItsTextIsDetected) {
  Add("fr-de", {"fr"}, {"de"});
  options()->set_format(v1::TEXT_FORMAT_HTML);
  Start({"<p class=\"the red house in the garden with the trees\">Le chat est "
         "assis.</p>"},
        "auto", "de");
  EXPECT_EQ(batcher_.Wait(0).model->name, "fr-de");
  Answered(1);
}

TEST_F(RoutingTest, ACallIsForeseenOnceItsModelIsKnown) {
  auto model = std::make_unique<PuppetModel>();
  model->set_languages({"fr"}, {"de"});
  bool read = false;
  model->mutable_tokenizer().heard = [&read](std::string_view) { read = true; };
  const ModelHandle served = ServedPuppet("fr-de", std::move(model));
  metrics_.AddModel(*served);
  ASSERT_TRUE(environment_.models.Add(served).ok());
  batcher_.RefuseBeforehand(absl::ResourceExhaustedError("too much to do"));
  Start({kGerman, kFrench}, "auto", "de");
  const Ending ending = transport_.WaitForFinish();
  EXPECT_TRUE(absl::IsResourceExhausted(ending.status)) << ending.status;
  EXPECT_GE(*RetryDelay(ending.status), absl::Milliseconds(200));
  EXPECT_THAT(batcher_.foreseen(), ElementsAre("fr-de"));
  EXPECT_FALSE(read);
}

TEST_F(RoutingTest, WhatNeedsNoModelIsNotForeseen) {
  batcher_.RefuseBeforehand(absl::ResourceExhaustedError("too much to do"));
  Start({kGerman}, "auto", "de");
  EXPECT_EQ(Response().results(0).hypotheses(0).text(), kGerman);
}

TEST_F(RoutingTest, OnlyTextsHaveALanguage) {
  request_.add_inputs()->mutable_ids()->add_ids(5);
  options()->set_source_language("auto");
  transport_.Bring(request_);
  handler_ = NewTranslate(environment_, {}, &transport_);
  handler_->Start();
  EXPECT_THAT(MessageOf(transport_.WaitForFinish()), ErrorAt("inputs[0]"));
}

TEST_F(RoutingTest, ATextInTheTargetsLanguageComesBackAsItIs) {
  Add("both", {"de", "en"}, {"de", "en"});
  const std::pair<const char*, const char*> pairs[] = {{"en", "en"},
                                                       {"de", "de"},
                                                       {"en-US", "en-GB"},
                                                       {"fr", "fra"},
                                                       {"sr-Cyrl", "sr"}};
  for (const auto& [source, target] : pairs) {
    SCOPED_TRACE(source);
    v1::TranslateRequest request;
    request.add_inputs()->set_text("The  meeting <b>is</b> moved.");
    request.add_inputs()->set_text(kGerman);
    request.mutable_options()->set_source_language(source);
    request.mutable_options()->set_target_language(target);
    FakeTransport transport;
    transport.Bring(request);
    const auto handler = NewTranslate(environment_, context_, &transport);
    handler->Start();
    const Ending ending = transport.WaitForFinish();
    ASSERT_TRUE(ending.status.ok()) << ending.status;
    const auto response = transport.Response<v1::TranslateResponse>(0);
    EXPECT_EQ(response.results(0).hypotheses(0).text(),
              "The  meeting <b>is</b> moved.");
    EXPECT_EQ(response.results(1).hypotheses(0).text(), kGerman);
  }
  EXPECT_EQ(batcher_.count(), 0u);
}

TEST_F(RoutingTest, OneLanguageGoesThroughTheModelWhereOnlyItCanAnswer) {
  Add("both", {"de", "en"}, {"de", "en"});
  options()->mutable_cross_attention();
  Start({"a"}, "de", "de");
  EXPECT_EQ(Asked(0), "both: a");
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("done"));
  transport_.WaitForFinish();
}

TEST_F(RoutingTest,
       OneLanguageThatNoModelHasIsRefusedWhereOnlyAModelCanAnswer) {
  options()->set_tokens(true);
  EXPECT_THAT(Refused({"a"}, "fr", "fr"), ErrorAt("options.target_language"));
}

TEST_F(RoutingTest, OneLanguageInTwoScriptsIsTranslated) {
  Add("scripts", {"zh-Hans"}, {"zh-Hant"});
  Start({"a"}, "zh-Hans", "zh-Hant");
  EXPECT_EQ(Asked(0), "scripts: a");
  Answered(1);
}

TEST_F(RoutingTest, TheFirstModelTranslatesWhatItCan) {
  Add("en-de-2", {"en"}, {"de"});
  Start({"a"}, "en", "de");
  const v1::TranslateResponse response = Answered(1);
  EXPECT_EQ(response.model().name(), "translator");
  EXPECT_THAT(response.results(0).route(), IsEmpty());
}

TEST_F(RoutingTest, AnotherModelTranslatesWhatTheFirstCannot) {
  Add("fr-en", {"fr"}, {"en"});
  Start({"a"}, "fr", "en");
  const v1::TranslateResponse response = Answered(1);
  EXPECT_EQ(response.model().name(), "fr-en");
  EXPECT_EQ(RouteOf(response.results(0)), "fr-en fr-en");
}

TEST_F(RoutingTest, ANamedModelIsTheOnlyOne) {
  Add("fr-en", {"fr"}, {"en"});
  request_.set_model("translator");
  const std::string message = Refused({"a"}, "fr", "en");
  EXPECT_THAT(message, ErrorAt("options.target_language"));
  // Once.
  EXPECT_THAT(message, Not(HasSubstr("target_language: target_language")));
}

TEST_F(RoutingTest, WhatIsLeftOutMustBeOneChoice) {
  Add("fr-en", {"fr"}, {"en"});
  Start({"a"}, nullptr, "en");
  EXPECT_EQ(RouteOf(Answered(1).results(0)), "fr-en fr-en");
}

TEST_F(RoutingTest, ModelsThatDifferInWhatIsLeftOutAreNoChoice) {
  Add("fr-en", {"fr"}, {"en"});
  Add("ru-en", {"ru"}, {"en"});
  const std::string message = Refused({"a"}, nullptr, "en");
  EXPECT_THAT(message, ErrorAt("options.source_language"));
  EXPECT_THAT(message, Not(HasSubstr("source_language: source_language")));
}

TEST_F(RoutingTest, AModelThatATokenDoesNotAllowIsNotThere) {
  Add("fr-en", {"fr"}, {"en"});
  Add("fr-en-2", {"fr"}, {"en"});
  context_.grant = std::make_shared<Grant>(
      Grant::Rules{.name = {}, .hash = {}, .models = {"fr-en-2"}});
  Start({"a"}, "fr", "en");
  EXPECT_EQ(Answered(1).model().name(), "fr-en-2");
}

class PivotTest : public RoutingTest {
 protected:
  PivotTest() {
    Add("fr-en", {"fr"}, {"en"});
    environment_.pivot_language = "en";
  }
};

TEST_F(PivotTest, SentencesAreSplitOnceAndTranslatedTwice) {
  options()->set_sentences(true);
  Start({" Un.\n Deux. "}, "fr", "de");
  EXPECT_EQ(Asked(0), "fr-en: Un.");
  EXPECT_EQ(Asked(1), "fr-en: Deux.");
  AnswerWith(0, "One. And one.");
  AnswerWith(1, "Two.");
  EXPECT_EQ(Asked(2), "translator: One. And one.");
  EXPECT_EQ(Asked(3), "translator: Two.");
  AnswerWith(2, "Eins. Und eins.");
  AnswerWith(3, "Zwei.");
  const v1::TranslateResponse response = Response();
  EXPECT_EQ(response.model().name(), "fr-en");
  const v1::TranslateResult& result = response.results(0);
  EXPECT_EQ(result.hypotheses(0).text(), " Eins. Und eins.\n Zwei. ");
  EXPECT_EQ(RouteOf(result), "fr-en fr-en, translator en-de");
  EXPECT_EQ(result.sentence_count(), 2);
  EXPECT_EQ(result.source_token_count(), 4 + 6);
  ASSERT_EQ(result.sentences_size(), 2);
  EXPECT_EQ(result.sentences(1).source().byte_begin(), 6);
  EXPECT_EQ(result.sentences(1).targets(0).byte_begin(), 18);
}

TEST_F(PivotTest, DetectedTextsGoByThePivotToo) {
  Start({kFrench, kEnglish}, "auto", "de");
  batcher_.Answer(0);
  batcher_.Answer(1);
  batcher_.Answer(2);
  const v1::TranslateResponse response = Response();
  EXPECT_EQ(RouteOf(response.results(0)), "fr-en fr-en, translator en-de");
  EXPECT_EQ(RouteOf(response.results(1)), "translator en-de");
}

TEST_F(PivotTest, AnEmptyTranslationIsTheEnd) {
  Start({"Un."}, "fr", "de");
  AnswerWith(0, "");
  const v1::TranslateResponse response = Response();
  EXPECT_EQ(response.results(0).hypotheses(0).text(), "");
  EXPECT_EQ(batcher_.count(), 1);
}

TEST_F(PivotTest, TheFirstStepIsOneTranslationOfEachSentence) {
  options()->mutable_decoding()->set_beam_size(3);
  options()->mutable_decoding()->set_num_hypotheses(2);
  Start({"Un."}, "fr", "de");
  EXPECT_EQ(batcher_.Wait(0).decoding->hypotheses, 1);
  EXPECT_EQ(batcher_.Wait(0).decoding->beam_size, 3);
  AnswerWith(0, "One.");
  EXPECT_EQ(batcher_.Wait(1).decoding->hypotheses, 2);
  AnswerWith(1, "Eins.");
  Response();
}

TEST_F(PivotTest, WhatChecksFindOfEitherStepIsTold) {
  options()->mutable_checks()->add_kinds(v1::CHECK_REPETITION);
  Start({"Un."}, "fr", "de");
  AnswerWith(0, "one one one one one one");
  AnswerWith(1, "Eins.");
  const v1::TranslateResult result = Response().results(0);
  ASSERT_EQ(result.suspicions_size(), 1);
  EXPECT_EQ(result.suspicions(0).check(), v1::CHECK_REPETITION);
  EXPECT_EQ(result.suspicions(0).source().byte_end(), 3);
}

TEST_F(PivotTest, TagsGoWhereTheirWordsGoInBothSteps) {
  options()->set_format(v1::TEXT_FORMAT_HTML);
  options()->set_sentences(true);
  Start({"<p>U <b>o</b> <i>e</i>.</p>\n<hr><p>A <b>&amp;</b>.</p>"}, "fr",
        "de");
  EXPECT_EQ(Asked(0), "fr-en: U o e.");
  EXPECT_EQ(Asked(1), "fr-en: A &.");
  AnswerWith(0, "E O U.");
  AnswerWith(1, "& A.");
  EXPECT_EQ(Asked(2), "translator: E O U.");
  EXPECT_EQ(Asked(3), "translator: & A.");
  AnswerWith(2, "O u e.");
  AnswerWith(3, "a &.");
  const v1::TranslateResult result = Response().results(0);
  EXPECT_EQ(result.hypotheses(0).text(),
            "<p><b>O</b> u <i>e</i>.</p>\n<hr><p>a <b>&amp;</b>.</p>");
  ASSERT_EQ(result.sentences_size(), 2);
  EXPECT_EQ(result.sentences(0).source().byte_begin(), 3);
  EXPECT_EQ(result.sentences(0).source().byte_end(), 3 + 20);
  EXPECT_EQ(result.sentences(0).targets(0).byte_end(), 3 + 20);
}

TEST_F(PivotTest, TagsStayWhereNothingIsLeftOfASentence) {
  options()->set_format(v1::TEXT_FORMAT_HTML);
  Start({"<p>U <b>o</b>.</p>"}, "fr", "de");
  AnswerWith(0, "");
  EXPECT_EQ(Response().results(0).hypotheses(0).text(), "<p><b></b></p>");
}

TEST_F(PivotTest, SpansAreProtectedInBothSteps) {
  options()->set_format(v1::TEXT_FORMAT_HTML);
  options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_PRINTF);
  Start({"U %s <b>%d</b> <code>x</code>."}, "fr", "de");
  EXPECT_EQ(Asked(0), "fr-en: U <x1> <x2> <x3>.");
  AnswerWith(0, "<x3> <x2> U <x1>.");
  EXPECT_EQ(Asked(1), "translator: <x1> <x2> U <x3>.");
  AnswerWith(1, "<x3> U <x2> <x1>.");
  const v1::TranslateResult result = Response().results(0);
  EXPECT_EQ(result.hypotheses(0).text(), "%s U <b>%d</b> <code>x</code>.");
  EXPECT_EQ(result.unkept_size(), 0);
}

TEST_F(PivotTest, TheSecondStepMayBeInPieces) {
  options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_PRINTF);
  Start({"U %s e %d."}, "fr", "de");
  AnswerWith(0, "E <x2> u <x1>.");
  for (size_t i = 1; i < 4; ++i) AnswerWith(i, "none");
  EXPECT_EQ(Asked(4), "translator: E");
  EXPECT_EQ(Asked(5), "translator: u");
  AnswerWith(4, "A");
  AnswerWith(5, "B");
  const v1::TranslateResult result = Response().results(0);
  EXPECT_EQ(result.hypotheses(0).text(), "A %d B %s.");
  EXPECT_EQ(result.unkept_size(), 0);
}

TEST_F(PivotTest, WhatEitherStepLosesIsNamed) {
  options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_PRINTF);
  options()->mutable_protect()->set_pieces(false);
  Start({"%s %d %c a"}, "fr", "de");
  AnswerWith(0, "<x3> <x2> a");
  AnswerWith(1, "{3} a {2}");
  AnswerWith(2, "none");
  // The first of the best.
  EXPECT_EQ(Asked(3), "translator: <x1> <x2> a");
  for (size_t i = 3; i < 6; ++i) AnswerWith(i, i == 3 ? "<x1> a" : "none");
  const v1::TranslateResult result = Response().results(0);
  EXPECT_EQ(result.hypotheses(0).text(), "%c a");
  ASSERT_EQ(result.unkept_size(), 2);
  EXPECT_EQ(result.unkept(0).text(), "%d");
  EXPECT_EQ(result.unkept(0).source().byte_begin(), 3);
  EXPECT_EQ(result.unkept(1).text(), "%s");
  EXPECT_EQ(result.unkept(1).source().byte_begin(), 0);
}

TEST_F(PivotTest, TermsAreTheLastModelsWhereTheFirstHasPutTheirWords) {
  v1::GlossaryTerm* const term = options()->mutable_glossary()->add_terms();
  term->set_source("yz");
  term->set_target("Xylophon");
  options()->mutable_protect()->add_kinds(v1::PROTECTED_KIND_PRINTF);
  options()->set_format(v1::TEXT_FORMAT_HTML);
  Start({"<b>a</b> yz %s. Un. Yz."}, "fr", "de");
  // The first model is held to nothing, and only asked where words are.
  EXPECT_EQ(Asked(0), "fr-en: a yz <x1>.");
  EXPECT_TRUE(batcher_.Wait(0).decoding->required.empty());
  EXPECT_TRUE(batcher_.Wait(0).cross_attention.has_value());
  EXPECT_FALSE(batcher_.Wait(1).cross_attention.has_value());
  EXPECT_TRUE(batcher_.Wait(2).cross_attention.has_value());
  AnswerWith(0, "<x1> zy a.");
  AnswerWith(1, "One.");
  AnswerWith(2, "...");  // nothing of the term is in it
  EXPECT_EQ(Asked(3), "translator: <x1> zy a.");
  const Request& first = batcher_.Wait(3);
  ASSERT_EQ(first.decoding->required.size(), 1u);
  EXPECT_EQ(PuppetTokenizer().Decode(first.decoding->required[0].forms[0]),
            "Xylophon");
  EXPECT_THAT(first.decoding->required[0].source, ElementsAre(5, 6));
  EXPECT_TRUE(batcher_.Wait(4).decoding->required.empty());
  const Request& last = batcher_.Wait(5);
  ASSERT_EQ(last.decoding->required.size(), 1u);
  EXPECT_THAT(last.decoding->required[0].source, IsEmpty());
  AnswerWith(3, "a Xylophon <x1>.");
  AnswerWith(4, "Eins.");
  AnswerWith(5, "Nichts.");
  const v1::TranslateResult result = Response().results(0);
  EXPECT_EQ(result.hypotheses(0).text(), "<b>a</b> Xylophon %s. Eins. Nichts.");
  ASSERT_EQ(result.glossary_uses_size(), 2);
  EXPECT_EQ(result.glossary_uses(0).source().byte_begin(), 9);
  EXPECT_THAT(result.glossary_uses(0).missing(), IsEmpty());
  EXPECT_THAT(result.glossary_uses(1).missing(), ElementsAre(0));
}

TEST_F(PivotTest, APlainTextsTermsGoByThePivotToo) {
  v1::GlossaryTerm* const term = options()->mutable_glossary()->add_terms();
  term->set_source("yz");
  term->set_target("Xylophon");
  options()->set_split(v1::SPLIT_NONE);
  Start({"a yz."}, "fr", "de");
  EXPECT_TRUE(batcher_.Wait(0).cross_attention.has_value());
  AnswerWith(0, "yz a.");
  EXPECT_THAT(batcher_.Wait(1).decoding->required[0].source, ElementsAre(0, 1));
  AnswerWith(1, "Xylophon a.");
  EXPECT_EQ(Response().results(0).hypotheses(0).text(), "Xylophon a.");
}

TEST_F(PivotTest, WhatIsOfOneModelIsRefusedByName) {
  options()->set_words(true);
  EXPECT_THAT(Refused({"a"}, "fr", "de"), ErrorAt("options.words"));
}

TEST_F(PivotTest, OptionsOfDecodingOfOneModelAreRefused) {
  options()->mutable_decoding()->set_seed(1);
  EXPECT_THAT(Refused({"a"}, "fr", "de"), ErrorAt("options.decoding.seed"));
}

TEST_F(PivotTest, ThereMustBeAWay) {
  EXPECT_THAT(Refused({"a"}, "ru", "de"), ErrorAt("'ru'"));
}

TEST_F(PivotTest, TheDeadlineIsOfBothSteps) {
  Start({"Un."}, "fr", "de");
  batcher_.Wait(0);
  clock_.Advance(environment_.limits.default_deadline);
  AnswerWith(0, "One.");
  EXPECT_TRUE(absl::IsDeadlineExceeded(transport_.WaitForFinish().status));
  EXPECT_EQ(batcher_.count(), 1);
}

TEST_F(PivotTest, StreamsTakeEachItemsOwnWay) {
  handler_ = NewTranslateStream(environment_, {}, &transport_);
  handler_->Start();
  v1::TranslateStreamRequest message;
  message.mutable_start()->mutable_options()->set_source_language("auto");
  message.mutable_start()->mutable_options()->set_target_language("de");
  int reads = 0;
  const auto send = [&] {
    transport_.WaitForReads(++reads);
    transport_.Bring(message);
    handler_->OnRead(true);
  };
  send();
  for (const char* text : {kFrench, kEnglish, kRussian, kGerman}) {
    message.mutable_item()->set_id(text);
    message.mutable_item()->mutable_input()->set_text(text);
    send();
  }
  EXPECT_EQ(Asked(0), std::string("fr-en: ") + kFrench);
  EXPECT_EQ(Asked(1), std::string("translator: ") + kEnglish);
  AnswerWith(0, kEnglish);
  EXPECT_EQ(Asked(2), std::string("translator: ") + kEnglish);
  AnswerWith(2, kGerman);
  AnswerWith(1, kGerman);
  transport_.WaitForReads(++reads);
  handler_->OnRead(false);
  std::map<std::string, v1::TranslateStreamResponse> of;
  for (size_t i = 0; i < 4; ++i) {
    const auto response = transport_.Response<v1::TranslateStreamResponse>(i);
    of[response.id()] = response;
    handler_->OnWritten(true);
  }
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(RouteOf(of[kFrench].result()), "fr-en fr-en, translator en-de");
  EXPECT_EQ(of[kFrench].result().hypotheses(0).text(), kGerman);
  EXPECT_EQ(RouteOf(of[kEnglish].result()), "translator en-de");
  EXPECT_THAT(of[kRussian].error().message(), ErrorAt("'ru'"));
  EXPECT_EQ(of[kGerman].result().hypotheses(0).text(), kGerman);
}

}  // namespace
}  // namespace trivium
