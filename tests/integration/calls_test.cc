// Every call of the API against a real server with the embedded model.

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/server_process.h"

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

TEST_F(CallsTest, TranslatesIntoEnglishWhereToldTo) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text("Guten Morgen!");
  request.mutable_options()->set_target_language("en");
  const auto english = client_->Translate(request);
  ASSERT_TRUE(english.ok()) << english.status();
  EXPECT_THAT(english->results(0).hypotheses(0).text(),
              HasSubstr("ood morning"));
}

TEST_F(CallsTest, OddTextsGetAnswers) {
  EXPECT_EQ(Translate(""), "");
  for (const std::string& text :
       {std::string(" \t\n "), std::string("\xF0\x9F\x8D\x8E\xF0\x9F\x8D\x8E"),
        std::string("\xE4\xBD\xA0\xE5\xA5\xBD"),
        std::string("WHY ARE YOU LOUD"), std::string("a\0b", 3)}) {
    Translate(text);
  }
}

TEST_F(CallsTest, TranslateGivesEverythingAskedFor) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text("I ate an apple.");
  request.add_inputs()->set_text("Good morning.");
  v1::TranslateOptions* options = request.mutable_options();
  options->set_tokens(true);
  options->mutable_cross_attention()->add_layers(0);
  options->mutable_decoding()->set_beam_size(4);
  options->mutable_decoding()->set_hypotheses(3);
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
      EXPECT_EQ(attention.layers(), 1u);
      EXPECT_EQ(attention.keys(), result.source_token_count());
      ASSERT_EQ(attention.weights_size(),
                static_cast<int>(attention.heads() * attention.queries() *
                                 attention.keys()));
      float sum = 0;
      for (uint32_t k = 0; k < attention.keys(); ++k) {
        sum += attention.weights(static_cast<int>(k));
      }
      EXPECT_NEAR(sum, 1, 1e-3);
    }
  }
  EXPECT_EQ(response->model().name(), "en-de");
  EXPECT_TRUE(response->timings().has_total());
}

TEST_F(CallsTest, EncodeGivesVectorsOfLengthOne) {
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

TEST_F(CallsTest, PiecesJoinedAreTheTranslation) {
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
  EXPECT_GE(pieces, 1);  // a busy client gets several tokens in one
  EXPECT_EQ(done, 1);
  v1::TranslateRequest translate;
  translate.add_inputs()->set_text("The weather is very nice today.");
  translate.mutable_options()->mutable_decoding()->set_beam_size(1);
  EXPECT_EQ(client_->Translate(translate)->results(0).hypotheses(0).text(),
            text);
}

TEST_F(CallsTest, SeedsRepeatSamples) {
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

TEST_F(CallsTest, TokenizeGivesPlaces) {
  v1::TokenizeRequest request;
  request.add_texts("I ate an apple.");
  const auto response = client_->Tokenize(request);
  ASSERT_TRUE(response.ok()) << response.status();
  const v1::TokenizedText& result = response->results(0);
  ASSERT_GE(result.tokens_size(), 3);
  EXPECT_TRUE(result.tokens().rbegin()->special());
  EXPECT_LE(result.tokens(0).byte_begin(), result.tokens(0).byte_end());

  // The ids, used as they are, are the text.
  v1::TranslateRequest translate;
  for (const v1::Token& token : result.tokens()) {
    if (translate.inputs_size() == 0) translate.add_inputs();
    translate.mutable_inputs(0)->mutable_ids()->add_ids(token.id());
  }
  EXPECT_EQ(client_->Translate(translate)->results(0).hypotheses(0).text(),
            Translate("I ate an apple."));
}

TEST_F(CallsTest, ModelsAreDescribed) {
  const auto models = client_->ListModels();
  ASSERT_TRUE(models.ok()) << models.status();
  ASSERT_EQ(models->models_size(), 1);
  const auto model = client_->GetModel("");
  EXPECT_EQ(model->name(), "en-de");
  EXPECT_EQ(model->family(), "marian");
  EXPECT_EQ(model->design(), v1::DESIGN_ENCODER_DECODER);
  EXPECT_THAT(model->calls(), Contains("Translate"));
  EXPECT_GT(model->parameters(), 0u);
  EXPECT_GT(model->limits().max_inputs(), 0u);
  EXPECT_NE(model->precision(), v1::PRECISION_UNSPECIFIED);
  EXPECT_FALSE(model->vocabulary_shortlist());
}

TEST(ShortlistTest, IsOnWhereAskedForAndSaysSo) {
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

TEST(ShortlistTest, AFolderWithoutOneIsAnError) {
  const ProcessResult result = RunProgram(
      {TRIVIUM_SERVER_PROGRAM, "--listen", "127.0.0.1:0", "--metrics-listen",
       "off", "--model", "tiny=tests/golden/marian.translate,shortlist=on"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("tiny"),
                                         HasSubstr("shortlist.safetensors: no "
                                                   "such file")));
}

TEST_F(CallsTest, HealthKnowsEachService) {
  for (const char* service :
       {"", "trivium.v1.Inference", "trivium.v1.Models"}) {
    const auto health = client_->Health(service);
    ASSERT_TRUE(health.ok()) << health.status();
    EXPECT_EQ(health->status(), grpc::health::v1::HealthCheckResponse::SERVING);
  }
  EXPECT_EQ(client_->Health("fly").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(CallsTest, StreamsManyTextsAndABadOneFailsAlone) {
  const auto stream = client_->StartTranslateStream({});
  constexpr int kCount = 100;
  std::thread writer([&] {
    for (int i = 0; i < kCount; ++i) {
      v1::TranslateStreamRequest::Item item;
      item.set_id(1000 + i);
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
    const size_t i = response.id() - 1000;
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

TEST_F(CallsTest, ManyCallersAtOnceGetWhatEachGetsAlone) {
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
