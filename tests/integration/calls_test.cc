// Tests every call of the API against a real server with the embedded model.

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/server_process.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class CallsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new ServerProcess(); }
  static void TearDownTestSuite() {
    EXPECT_TRUE(server_->running()) << "the server died";
    delete server_;
  }

  std::string Translate(const std::string& text) {
    v1::TranslateRequest request;
    request.add_inputs()->set_text(text);
    const auto response = client_->Translate(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->results(0).hypotheses(0).text() : "";
  }

  static ServerProcess* server_;
  const std::unique_ptr<Client> client_ = server_->NewClient();
};

ServerProcess* CallsTest::server_ = nullptr;

TEST_F(CallsTest, TranslatesIntoGerman) {
  EXPECT_THAT(Translate("I ate an apple."), HasSubstr("Apfel"));
  EXPECT_THAT(Translate("The house is big."), HasSubstr("Haus"));
}

TEST_F(CallsTest, TranslatesIntoEnglishOnRequest) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text("Guten Morgen!");
  request.mutable_options()->set_target_language("en");
  const auto english = client_->Translate(request);
  ASSERT_TRUE(english.ok()) << english.status();
  EXPECT_THAT(english->results(0).hypotheses(0).text(),
              HasSubstr("ood morning"));
}

TEST_F(CallsTest, KeepsProtectedSpans) {
  const struct {
    const char* target;
    std::string text;
    std::vector<std::string> spans;
  } cases[] = {
      {"de",
       "Could not copy %1$s to %2$s. Please write to help@example.com!\n"
       "{{user}} has {n, plural, one {# file} other {# files. All}} left.",
       {"%1$s", "%2$s", "help@example.com", "{{user}}",
        "{n, plural, one {# file} other {# files. All}}"}},
      {"de",
       "Only 3.5 GB are free; see https://example.com/a?b=c. Bye, %s!",
       {"3.5 GB", "https://example.com/a?b=c", "%s"}},
      {"en",
       "Die Datei /etc/trivium/server.conf (12 kB) fehlt auf %(host)s.",
       {"/etc/trivium/server.conf", "12 kB", "%(host)s"}},
      {"en",
       "%s %s %s %s, und %s kamen mit %s, %s, %s, %s und %s nach %s.",
       {}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.text);
    v1::TranslateRequest request;
    request.add_inputs()->set_text(one.text);
    request.mutable_options()->set_target_language(one.target);
    for (int kind = v1::PROTECTED_KIND_PRINTF;
         kind <= v1::PROTECTED_KIND_NUMBER_WITH_UNIT; ++kind) {
      request.mutable_options()->mutable_protect()->add_kinds(
          static_cast<v1::ProtectedKind>(kind));
    }
    const auto response = client_->Translate(request);
    ASSERT_TRUE(response.ok()) << response.status();
    const v1::TranslateResult& result = response->results(0);
    const std::string& text = result.hypotheses(0).text();
    EXPECT_EQ(result.unkept_size(), 0) << result.unkept(0).ShortDebugString();
    EXPECT_NE(text, one.text);
    for (const std::string& span : one.spans) {
      const size_t at = text.find(span);
      ASSERT_NE(at, std::string::npos) << span << " in " << text;
      EXPECT_EQ(text.find(span, at + 1), std::string::npos) << text;
    }
    EXPECT_EQ(std::count(text.begin(), text.end(), '%'),
              std::count(one.text.begin(), one.text.end(), '%'))
        << text;
  }
}

TEST_F(CallsTest, AnswersOddTexts) {
  EXPECT_EQ(Translate(""), "");
  for (const std::string& text :
       {std::string(" \t\n "), std::string("\xF0\x9F\x8D\x8E\xF0\x9F\x8D\x8E"),
        std::string("\xE4\xBD\xA0\xE5\xA5\xBD"),
        std::string("WHY ARE YOU LOUD"), std::string("a\0b", 3)}) {
    Translate(text);
  }
}

TEST_F(CallsTest, TranslatesEachSentenceOfATextAsIfAlone) {
  const std::string first = "I ate an apple.", second = "Dr. Smith came.";
  EXPECT_EQ(Translate(" " + first + "\r\n\n\t" + second + "  "),
            " " + Translate(first) + "\r\n\n\t" + Translate(second) + "  ");
  v1::TranslateRequest request;
  request.add_inputs()->set_text(first + " " + second);
  request.mutable_options()->set_sentences(true);
  const auto response = client_->Translate(request);
  ASSERT_TRUE(response.ok()) << response.status();
  const v1::TranslateResult& result = response->results(0);
  ASSERT_EQ(result.sentences_size(), 2);
  const auto& span = result.sentences(1).targets(0);
  EXPECT_EQ(result.hypotheses(0).text().substr(
                span.byte_begin(), span.byte_end() - span.byte_begin()),
            Translate(second));
}

TEST_F(CallsTest, ReturnsEverythingThatTranslateCanReturn) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text("I ate an apple.");
  request.add_inputs()->set_text("Good morning.");
  v1::TranslateOptions* options = request.mutable_options();
  options->set_tokens(true);
  options->mutable_cross_attention()->add_layers(0);
  options->mutable_decoding()->set_beam_size(4);
  options->mutable_decoding()->set_num_hypotheses(3);
  const auto response = client_->Translate(request);
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->results_size(), 2);
  for (const v1::TranslateResult& result : response->results()) {
    ASSERT_EQ(result.hypotheses_size(), 3);
    EXPECT_EQ(result.source_pieces_size(),
              static_cast<int>(result.source_token_count()));
    float last = INFINITY;
    for (const v1::Hypothesis& hypothesis : result.hypotheses()) {
      EXPECT_LE(hypothesis.score(), last);
      last = hypothesis.score();
      EXPECT_GT(hypothesis.ids_size(), 0);
      const v1::Attention& attention = hypothesis.cross_attention();
      EXPECT_EQ(attention.layer_count(), 1u);
      EXPECT_EQ(attention.key_count(), result.source_token_count());
      ASSERT_EQ(
          attention.weights_size(),
          static_cast<int>(attention.head_count() * attention.query_count() *
                           attention.key_count()));
      float sum = 0;
      for (uint32_t k = 0; k < attention.key_count(); ++k) {
        sum += attention.weights(static_cast<int>(k));
      }
      EXPECT_NEAR(sum, 1, 1e-3);
    }
  }
  EXPECT_EQ(response->model().name(), "en-de");
  EXPECT_TRUE(response->timings().has_total());
}

TEST_F(CallsTest, EndsTheTextBeforeAStopId) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text("The house is big.");
  request.mutable_options()->set_tokens(true);
  v1::DecodingOptions* decoding = request.mutable_options()->mutable_decoding();
  const auto translate = [&] {
    const auto response = client_->Translate(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->results(0).hypotheses(0)
                         : v1::Hypothesis();
  };
  for (const uint32_t beam_size : {1u, 4u}) {
    decoding->set_beam_size(beam_size);
    decoding->clear_stop_ids();
    const v1::Hypothesis whole = translate();
    ASSERT_GT(whole.ids_size(), 3);
    decoding->add_stop_ids(whole.ids(2));
    const v1::Hypothesis stopped = translate();
    EXPECT_EQ(stopped.finish_reason(), v1::FINISH_REASON_STOP);
    EXPECT_EQ(stopped.ids(stopped.ids_size() - 1), whole.ids(2));
    // Other beams may reach the token in another way.
    EXPECT_LT(stopped.text().size(), whole.text().size());
    if (beam_size > 1) continue;
    EXPECT_EQ(stopped.ids_size(), 3);
    EXPECT_TRUE(whole.text().starts_with(stopped.text()));

    v1::GenerateRequest generate;
    *generate.mutable_input() = request.inputs(0);
    *generate.mutable_decoding() = *decoding;
    std::string text;
    EXPECT_TRUE(client_
                    ->Generate(generate,
                               [&](const v1::GenerateResponse& message) {
                                 text += message.piece().text();
                                 if (message.has_done()) {
                                   EXPECT_EQ(message.done().finish_reason(),
                                             v1::FINISH_REASON_STOP);
                                   EXPECT_EQ(message.done().token_count(), 3u);
                                 }
                                 return absl::OkStatus();
                               })
                    .ok());
    EXPECT_EQ(text, stopped.text());
  }
}

TEST_F(CallsTest, ContinuesAfterAnIgnoredEndToken) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text("The house is big.");
  v1::DecodingOptions* decoding = request.mutable_options()->mutable_decoding();
  decoding->set_max_new_tokens(20);
  for (const uint32_t beam_size : {1u, 4u}) {
    decoding->set_beam_size(beam_size);
    for (const bool ignore : {false, true}) {
      decoding->set_ignore_eos(ignore);
      const auto response = client_->Translate(request);
      ASSERT_TRUE(response.ok()) << response.status();
      const v1::Hypothesis& one = response->results(0).hypotheses(0);
      EXPECT_EQ(one.token_count() == 20, ignore);
      EXPECT_EQ(one.finish_reason(),
                ignore ? v1::FINISH_REASON_LENGTH : v1::FINISH_REASON_END);
    }
  }
}

TEST_F(CallsTest, ForcesOrForbidsATokenByItsBias) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text("The house is big.");
  request.mutable_options()->set_tokens(true);
  v1::DecodingOptions* decoding = request.mutable_options()->mutable_decoding();
  decoding->set_beam_size(1);
  const auto plain = client_->Translate(request);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const uint32_t first = plain->results(0).hypotheses(0).ids(0);
  (*decoding->mutable_logit_bias())[first] = -100;
  const auto without = client_->Translate(request);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_THAT(without->results(0).hypotheses(0).ids(), Not(Contains(first)));
  (*decoding->mutable_logit_bias())[first] = 100;
  decoding->set_max_new_tokens(5);
  const auto only = client_->Translate(request);
  ASSERT_TRUE(only.ok()) << only.status();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(only->results(0).hypotheses(0).ids(i), first);
  }
}

TEST_F(CallsTest, ScoresATranslationLikeItsSearch) {
  v1::TranslateRequest translate;
  translate.add_inputs()->set_text("The house is big.");
  translate.mutable_options()->set_tokens(true);
  translate.mutable_options()->mutable_decoding()->set_beam_size(4);
  const auto translated = client_->Translate(translate);
  ASSERT_TRUE(translated.ok()) << translated.status();
  const v1::Hypothesis& best = translated->results(0).hypotheses(0);

  v1::ScoreRequest request;
  v1::ScoreInput* input = request.add_inputs();
  input->set_text("The house is big.");
  *input->mutable_target_ids()->mutable_ids() = best.ids();
  input = request.add_inputs();
  input->set_text("The house is big.");
  input->set_target(best.text());
  input = request.add_inputs();
  input->set_text("The house is big.");
  input->set_target("Die Katze schläft.");
  const auto scored = client_->Score(request);
  ASSERT_TRUE(scored.ok()) << scored.status();
  ASSERT_EQ(scored->results_size(), 3);
  EXPECT_NEAR(scored->results(0).total_logprob(), best.total_logprob(), 1e-3);
  EXPECT_EQ(scored->results(0).token_count(), best.token_count());
  // The score of a translation includes its end token.
  EXPECT_EQ(scored->results(1).total_logprob(),
            scored->results(0).total_logprob());
  EXPECT_LT(scored->results(2).total_logprob(),
            scored->results(1).total_logprob() - 5);
  request.set_end_token(false);
  request.mutable_inputs()->DeleteSubrange(0, 1);
  const auto open = client_->Score(request);
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(open->results(0).token_count() + 1, best.token_count());
  request.mutable_inputs(0)->clear_context();
  EXPECT_TRUE(absl::IsInvalidArgument(client_->Score(request).status()));
}

// The model's folder forces an end token when max_new_tokens cuts a text.
TEST_F(CallsTest, ReportsACutByMaxNewTokens) {
  for (const uint32_t beam_size : {1u, 4u}) {
    for (const auto& [tokens, reason] :
         {std::pair(5u, v1::FINISH_REASON_LENGTH),
          std::pair(100u, v1::FINISH_REASON_END)}) {
      v1::Input input;
      input.set_text("I ate an apple and then we went to the market.");
      v1::DecodingOptions decoding;
      decoding.set_beam_size(beam_size);
      decoding.set_num_hypotheses(beam_size);
      decoding.set_max_new_tokens(tokens);

      v1::TranslateRequest translate;
      *translate.add_inputs() = input;
      *translate.mutable_options()->mutable_decoding() = decoding;
      const auto response = client_->Translate(translate);
      ASSERT_TRUE(response.ok()) << response.status();
      for (const v1::Hypothesis& one : response->results(0).hypotheses()) {
        EXPECT_EQ(one.finish_reason(), reason);
        EXPECT_EQ(one.token_count() == tokens,
                  reason == v1::FINISH_REASON_LENGTH);
      }

      v1::GenerateRequest generate;
      *generate.mutable_input() = input;
      *generate.mutable_decoding() = decoding;
      EXPECT_TRUE(client_
                      ->Generate(generate,
                                 [&](const v1::GenerateResponse& message) {
                                   if (message.has_done()) {
                                     EXPECT_EQ(message.done().finish_reason(),
                                               reason);
                                   }
                                   return absl::OkStatus();
                                 })
                      .ok());
    }
  }
}

// The model is not asked what it would choose where an end is forced. So a text
// that would end there is reported as a cut, too; with one token more it is not
// (common.proto).
TEST_F(CallsTest, ReportsAForcedEndAsACutEvenIfTheTextEndsThere) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text("I ate an apple.");
  auto* decoding = request.mutable_options()->mutable_decoding();
  decoding->set_beam_size(1);
  decoding->set_max_new_tokens(100);
  const auto whole = client_->Translate(request);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const v1::Hypothesis& natural = whole->results(0).hypotheses(0);
  EXPECT_EQ(natural.finish_reason(), v1::FINISH_REASON_END);
  const uint32_t count = natural.token_count();
  for (const uint32_t most : {count - 1, count, count + 1}) {
    decoding->set_max_new_tokens(most);
    const auto response = client_->Translate(request);
    ASSERT_TRUE(response.ok()) << response.status();
    const v1::Hypothesis& one = response->results(0).hypotheses(0);
    EXPECT_EQ(one.finish_reason(),
              most > count ? v1::FINISH_REASON_END : v1::FINISH_REASON_LENGTH)
        << most << " of " << count;
    EXPECT_EQ(one.text() == natural.text(), most >= count);
  }
}

TEST_F(CallsTest, DrawsWithATemperatureAndIsGreedyAtZero) {
  const auto translate = [&](auto change) {
    v1::TranslateRequest request;
    request.add_inputs()->set_text("I ate an apple and then we went home.");
    change(request.mutable_options()->mutable_decoding());
    auto response = client_->Translate(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response->results(0);
  };
  const v1::TranslateResult greedy =
      translate([](auto* d) { d->set_beam_size(1); });
  const v1::TranslateResult zero = translate([](auto* d) {
    d->set_beam_size(1);
    d->set_sample(true);
    d->set_temperature(0);
    d->set_top_p(0.5f);
    d->set_seed(1);
  });
  EXPECT_FALSE(zero.has_seed());
  EXPECT_EQ(zero.hypotheses(0).text(), greedy.hypotheses(0).text());
  const v1::TranslateResult drawn = translate([](auto* d) {
    d->set_temperature(3);
    d->set_top_k(0);
    d->set_seed(1);
  });
  EXPECT_EQ(drawn.seed(), 1u);
  EXPECT_NE(drawn.hypotheses(0).text(), greedy.hypotheses(0).text());
}

TEST_F(CallsTest, RefusesLanguagesThatTheModelLacks) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text("I ate an apple.");
  request.mutable_options()->set_source_language("fr");
  const absl::Status status = client_->Translate(request).status();
  EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument,
                              "options.source_language"));
  EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument, "'fr'"));
  request.mutable_options()->set_target_language("de");
  EXPECT_THAT(
      client_->Translate(request),
      IsError(absl::StatusCode::kInvalidArgument, "options.source_language"));
  request.mutable_options()->set_source_language("en");
  EXPECT_TRUE(client_->Translate(request).ok());
}

TEST_F(CallsTest, EncodesToVectorsOfLengthOne) {
  v1::EncodeRequest request;
  request.add_inputs()->set_text("A cat sat on the mat.");
  request.set_token_vectors(true);
  const auto response = client_->Encode(request);
  ASSERT_TRUE(response.ok()) << response.status();
  const v1::EncodeResult& result = response->results(0);
  double squares = 0;
  for (const float x : result.embedding()) squares += x * x;
  EXPECT_NEAR(squares, 1, 1e-4);
  EXPECT_EQ(result.token_vectors_size(),
            static_cast<int>(result.token_count()) * result.embedding_size());
}

TEST_F(CallsTest, GeneratesPiecesThatJoinToTheTranslation) {
  v1::GenerateRequest request;
  request.mutable_input()->set_text("The weather is very nice today.");
  request.mutable_decoding()->set_beam_size(1);
  std::string text;
  int pieces = 0, done = 0;
  const absl::Status status =
      client_->Generate(request, [&](const v1::GenerateResponse& response) {
        text += response.piece().text();
        pieces += response.has_piece();
        done += response.has_done();
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GE(pieces, 1);  // a busy client gets several tokens in one piece
  EXPECT_EQ(done, 1);
  v1::TranslateRequest translate;
  translate.add_inputs()->set_text("The weather is very nice today.");
  translate.mutable_options()->mutable_decoding()->set_beam_size(1);
  EXPECT_EQ(client_->Translate(translate)->results(0).hypotheses(0).text(),
            text);
}

TEST_F(CallsTest, RepeatsSamplesOfASeed) {
  const auto sample = [&](uint64_t seed) {
    v1::GenerateRequest request;
    request.mutable_input()->set_text("The weather is very nice today.");
    request.mutable_decoding()->set_beam_size(1);
    request.mutable_decoding()->set_sample(true);
    request.mutable_decoding()->set_temperature(1.5f);
    request.mutable_decoding()->set_seed(seed);
    std::string text;
    EXPECT_TRUE(client_
                    ->Generate(request,
                               [&](const v1::GenerateResponse& response) {
                                 text += response.piece().text();
                                 return absl::OkStatus();
                               })
                    .ok());
    return text;
  };
  const std::string first = sample(1);
  EXPECT_EQ(sample(1), first);
  bool different = false;
  for (uint64_t seed = 2; seed < 8; ++seed) different |= sample(seed) != first;
  EXPECT_TRUE(different);
}

TEST_F(CallsTest, ReturnsThePlacesOfTokens) {
  v1::TokenizeRequest request;
  request.add_texts("I ate an apple.");
  const auto response = client_->Tokenize(request);
  ASSERT_TRUE(response.ok()) << response.status();
  const v1::TokenizedText& result = response->results(0);
  ASSERT_GE(result.tokens_size(), 3);
  EXPECT_TRUE(result.tokens().rbegin()->special());
  EXPECT_LE(result.tokens(0).byte_begin(), result.tokens(0).byte_end());

  // The same ids as input give the same result as the text.
  v1::TranslateRequest translate;
  for (const v1::Token& token : result.tokens()) {
    if (translate.inputs_size() == 0) translate.add_inputs();
    translate.mutable_inputs(0)->mutable_ids()->add_ids(token.id());
  }
  EXPECT_EQ(client_->Translate(translate)->results(0).hypotheses(0).text(),
            Translate("I ate an apple."));
}

TEST_F(CallsTest, DescribesModels) {
  const auto models = client_->ListModels();
  ASSERT_TRUE(models.ok()) << models.status();
  ASSERT_EQ(models->models_size(), 1);
  const auto model = client_->GetModel("");
  EXPECT_EQ(model->name(), "en-de");
  EXPECT_EQ(model->family(), "marian");
  EXPECT_EQ(model->design(), v1::DESIGN_ENCODER_DECODER);
  EXPECT_THAT(model->calls(), Contains("Translate"));
  EXPECT_GT(model->parameter_count(), 0u);
  EXPECT_GT(model->limits().max_inputs(), 0u);
  EXPECT_NE(model->precision(), v1::PRECISION_UNSPECIFIED);
  EXPECT_FALSE(model->vocabulary_shortlist());
}

TEST(ShortlistTest, IsOnIfRequestedAndReported) {
  ServerProcess server({"--vocabulary-shortlist"});
  const auto client = server.NewClient();
  const auto model = client->GetModel("");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->vocabulary_shortlist());
  v1::TranslateRequest request;
  request.add_inputs()->set_text("I ate an apple.");
  const auto response = client->Translate(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->results(0).hypotheses(0).text(),
            "Ich habe einen Apfel gegessen.");
}

TEST(ShortlistTest, RefusesAFolderWithoutAShortlist) {
  const ProcessResult result = RunProgram(
      {TRIVIUM_SERVER_PROGRAM, "--listen", "127.0.0.1:0", "--metrics-listen",
       "off", "--model", "tiny=tests/golden/marian.translate,shortlist=on"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("tiny"),
                                         HasSubstr("shortlist.safetensors")));
}

TEST_F(CallsTest, ReportsTheHealthOfEachService) {
  for (const char* service :
       {"", "trivium.v1.Inference", "trivium.v1.Models"}) {
    const auto health = client_->Health(service);
    ASSERT_TRUE(health.ok()) << health.status();
    EXPECT_EQ(health->status(), grpc::health::v1::HealthCheckResponse::SERVING);
  }
  EXPECT_EQ(client_->Health("fly").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(CallsTest, StreamsManyTextsOfWhichABadOneFailsAlone) {
  const auto stream = client_->StartTranslateStream({});
  constexpr int kCount = 100;
  std::thread writer([&] {
    for (int i = 0; i < kCount; ++i) {
      v1::TranslateStreamRequest::Item item;
      item.set_id(std::to_string(1000 + i));
      if (i == 50) {
        item.mutable_input()->mutable_ids()->add_ids(1u << 31);
      } else {
        item.mutable_input()->set_text("Number " + std::to_string(i) + ".");
      }
      stream->Write(item);
    }
    stream->WritesDone();
  });
  std::vector<bool> seen(kCount);
  int errors = 0;
  v1::TranslateStreamResponse response;
  while (stream->Read(&response)) {
    const size_t i = std::stoul(response.id()) - 1000;
    ASSERT_LT(i, seen.size());
    EXPECT_FALSE(seen[i]);
    seen[i] = true;
    if (response.has_error()) {
      ++errors;
      EXPECT_EQ(i, 50u);
      EXPECT_EQ(response.error().code(), 3);
    }
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_THAT(seen, Not(Contains(false)));
  EXPECT_EQ(errors, 1);
}

TEST_F(CallsTest, AnswersConcurrentCallersAsIfAlone) {
  constexpr int kCallers = 32;
  std::vector<std::string> alone(kCallers), together(kCallers);
  const auto text = [](int i) {
    return "There are " + std::to_string(i * 7) + " apples in the basket.";
  };
  for (int i = 0; i < kCallers; ++i) alone[i] = Translate(text(i));
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] { together[i] = Translate(text(i)); });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(together, alone);
}

}  // namespace
}  // namespace trivium
