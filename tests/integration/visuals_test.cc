// Tests attention maps and beam traces of a real server with the embedded
// model, and the programs that draw them: they show what the model computed.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/server_process.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kSentence[] =
    "The animal didn't cross the street because it was too tired.";

class VisualsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new ServerProcess({"--precision", "f32"});
  }
  static void TearDownTestSuite() {
    EXPECT_TRUE(server_->running()) << "the server died";
    delete server_;
  }

  v1::TranslateResult Translate(const v1::TranslateOptions& options) {
    v1::TranslateRequest request;
    request.add_inputs()->set_text(kSentence);
    *request.mutable_options() = options;
    const auto response = client_->Translate(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->results(0) : v1::TranslateResult();
  }

  ProcessResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRIVIUM_PROGRAM);
    arguments.insert(arguments.begin() + 2, {"--address", server_->address()});
    return RunProgram(arguments);
  }

  static ServerProcess* server_;
  const std::unique_ptr<Client> client_ = server_->NewClient();
};

ServerProcess* VisualsTest::server_ = nullptr;

TEST_F(VisualsTest, ShowsOnlyEarlierTokensInADecodersAttention) {
  v1::TranslateOptions options;
  options.set_tokens(true);
  options.mutable_decoding()->set_beam_size(3);
  options.mutable_decoding()->set_num_hypotheses(2);
  options.mutable_decoder_attention();
  const v1::TranslateResult result = Translate(options);
  ASSERT_EQ(result.hypotheses_size(), 2);
  EXPECT_EQ(result.prefix_pieces_size(), 1);
  for (const v1::Hypothesis& hypothesis : result.hypotheses()) {
    EXPECT_FALSE(hypothesis.has_cross_attention());
    const v1::Attention& map = hypothesis.decoder_attention();
    ASSERT_EQ(map.query_count(), hypothesis.token_count());
    ASSERT_EQ(map.key_count(), hypothesis.token_count());
    const float* weight = map.weights().data();
    for (uint32_t plane = 0; plane < map.layer_count() * map.head_count();
         ++plane) {
      for (uint32_t q = 0; q < map.query_count(); ++q) {
        double sum = 0;
        for (uint32_t k = 0; k < map.key_count(); ++k, ++weight) {
          sum += *weight;
          if (k > q) {
            EXPECT_EQ(*weight, 0);
          }
        }
        EXPECT_NEAR(sum, 1, 1e-5);
      }
    }
  }
}

TEST_F(VisualsTest, ReturnsChosenRowsEqualToThoseOfTheWholeMap) {
  v1::EncodeRequest request;
  request.add_inputs()->set_text(kSentence);
  request.mutable_attention()->add_layers(2);
  const auto whole = client_->Encode(request);
  ASSERT_TRUE(whole.ok()) << whole.status();
  request.mutable_attention()->add_rows(9);
  request.mutable_attention()->add_rows(1);
  const auto some = client_->Encode(request);
  ASSERT_TRUE(some.ok()) << some.status();
  const v1::Attention& all = whole->results(0).attention();
  const v1::Attention& two = some->results(0).attention();
  ASSERT_EQ(two.query_count(), 2u);
  const int keys = all.key_count(), queries = all.query_count();
  for (int head = 0; head < static_cast<int>(all.head_count()); ++head) {
    for (int k = 0; k < keys; ++k) {
      EXPECT_EQ(two.weights(2 * head * keys + k),
                all.weights((head * queries + 1) * keys + k));
      EXPECT_EQ(two.weights((2 * head + 1) * keys + k),
                all.weights((head * queries + 9) * keys + k));
    }
  }
  request.mutable_attention()->add_rows(100);
  EXPECT_THAT(client_->Encode(request),
              IsError(absl::StatusCode::kInvalidArgument, "attention.rows"));
  // Rows beyond a translation's end are left out, since its length is not known
  // beforehand.
  v1::TranslateOptions options;
  options.mutable_cross_attention()->add_rows(0);
  options.mutable_cross_attention()->add_rows(1000);
  EXPECT_EQ(Translate(options).hypotheses(0).cross_attention().query_count(),
            1u);
}

TEST_F(VisualsTest, ReturnsATraceThatLeadsToTheResults) {
  v1::TranslateOptions options;
  options.set_tokens(true);
  options.mutable_decoding()->set_beam_size(4);
  options.mutable_decoding()->set_num_hypotheses(4);
  EXPECT_FALSE(Translate(options).has_beam_trace());
  options.mutable_decoding()->set_trace(true);
  const v1::TranslateResult result = Translate(options);
  const v1::BeamTrace& trace = result.beam_trace();
  EXPECT_FALSE(trace.truncated());
  int found = 0;
  for (int s = 0; s < trace.steps_size(); ++s) {
    for (const auto& end : trace.steps(s).candidates()) {
      if (!end.has_hypothesis()) continue;
      ++found;
      const v1::Hypothesis& hypothesis = result.hypotheses(end.hypothesis());
      ASSERT_EQ(hypothesis.ids_size(), s + 1);
      const auto* one = &end;
      for (int i = s; i >= 0; --i) {
        EXPECT_EQ(one->id(), hypothesis.ids(i));
        EXPECT_EQ(one->piece(), hypothesis.pieces(i));
        if (i > 0) one = &trace.steps(i - 1).candidates(one->parent());
      }
      EXPECT_EQ(end.score(), hypothesis.score());
      EXPECT_EQ(end.total_logprob(), hypothesis.total_logprob());
    }
  }
  EXPECT_EQ(found, 4);
}

TEST_F(VisualsTest, RefusesATraceWithoutABeamSearch) {
  v1::TranslateRequest request;
  request.add_inputs()->set_text(kSentence);
  request.mutable_options()->mutable_decoding()->set_trace(true);
  request.mutable_options()->mutable_decoding()->set_beam_size(1);
  EXPECT_THAT(
      client_->Translate(request),
      IsError(absl::StatusCode::kInvalidArgument, "options.decoding.trace"));
}

TEST_F(VisualsTest, ShowsAllThreeKindsInTheProgram) {
  const std::string page = testing::TempDir() + "/visuals_test.html";
  const ProcessResult run =
      Run({"attention", "--html", page, "--json", kSentence});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json data = json::parse(run.out);
  ASSERT_EQ(data["attention"].size(), 3u);
  EXPECT_EQ(data["texts"].size(), 2u);
  for (const json& map : data["attention"]) {
    for (const json& layer : map["weights"]) {
      for (const json& head : layer) {
        for (const json& row : head) {
          double sum = 0;
          for (const json& weight : row) sum += weight.get<double>();
          EXPECT_NEAR(sum, 1, 1e-5);
        }
      }
    }
  }
  std::stringstream text;
  text << std::ifstream(page).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("</html>"));
}

// The weights of a traced head are those of its attention map, bit for bit.
TEST_F(VisualsTest, TracesTheHeadThatTheMapsShow) {
  v1::EncodeRequest encode;
  encode.add_inputs()->set_text(kSentence);
  encode.mutable_attention()->add_layers(2);
  encode.mutable_attention()->add_heads(1);
  encode.mutable_head_trace()->set_layer(2);
  encode.mutable_head_trace()->set_head(1);
  const auto encoded = client_->Encode(encode);
  ASSERT_TRUE(encoded.ok()) << encoded.status();
  const v1::HeadTrace& head = encoded->results(0).head_trace();
  EXPECT_TRUE(std::ranges::equal(head.weights().values(),
                                 encoded->results(0).attention().weights()));
  EXPECT_EQ(head.positions(), v1::TRACE_POSITIONS_SINUSOIDAL);
  EXPECT_EQ(head.queries(9).piece(), "▁it");

  v1::GenerateRequest generate;
  generate.mutable_input()->set_text(kSentence);
  generate.mutable_decoding()->set_max_new_tokens(20);
  generate.mutable_decoding()->set_top_logprobs(10);
  generate.mutable_decoder_attention()->add_layers(1);
  generate.mutable_decoder_attention()->add_heads(3);
  generate.mutable_head_trace()->set_layer(1);
  generate.mutable_head_trace()->set_head(3);
  v1::GenerateResponse::Done done;
  int tokens = 0;
  const auto read = [&](const v1::GenerateResponse& event) {
    tokens += event.piece().logprobs_size();
    if (event.has_done()) done = event.done();
    return absl::OkStatus();
  };
  ASSERT_EQ(client_->Generate(generate, read), absl::OkStatus());
  EXPECT_TRUE(std::ranges::equal(done.head_trace().weights().values(),
                                 done.decoder_attention().weights()));
  EXPECT_EQ(done.head_trace().queries_size(), tokens);
  EXPECT_EQ(done.head_trace().keys(1).piece(), "▁Das");
  generate.clear_decoder_attention();
  generate.mutable_head_trace()->set_cross(true);
  ASSERT_EQ(client_->Generate(generate, read), absl::OkStatus());
  const auto pieces = [](const auto& tokens) {
    std::vector<std::string> texts;
    for (const auto& token : tokens) texts.push_back(token.piece());
    return texts;
  };
  // Generate's text begins with the token of its target language.
  std::vector<std::string> keys = pieces(done.head_trace().keys());
  ASSERT_FALSE(keys.empty());
  keys.erase(keys.begin());
  EXPECT_EQ(keys, pieces(head.keys()));
}

TEST_F(VisualsTest, RefusesTracesThatItCannotGive) {
  v1::EncodeRequest encode;
  encode.add_inputs()->set_text(kSentence);
  encode.mutable_head_trace()->set_layer(99);
  EXPECT_THAT(client_->Encode(encode),
              IsError(absl::StatusCode::kInvalidArgument, "head_trace"));
  encode.mutable_head_trace()->set_layer(0);
  encode.mutable_head_trace()->set_cross(true);
  EXPECT_THAT(client_->Encode(encode),
              IsError(absl::StatusCode::kInvalidArgument, "head_trace.cross"));
  encode.mutable_head_trace()->clear_cross();
  for (int i = 0; i < 5; ++i) {
    encode.mutable_inputs(0)->set_text(encode.inputs(0).text() + kSentence +
                                       kSentence);
  }
  EXPECT_THAT(client_->Encode(encode),
              IsError(absl::StatusCode::kInvalidArgument, "inputs[0]"));
  const auto ignore = [](const v1::GenerateResponse&) {
    return absl::OkStatus();
  };
  v1::GenerateRequest generate;
  generate.mutable_input()->set_text("It rains.");
  generate.mutable_head_trace();
  generate.mutable_decoding()->set_max_new_tokens(200);
  EXPECT_THAT(client_->Generate(generate, ignore),
              IsError(absl::StatusCode::kInvalidArgument, "input"));
  generate.mutable_decoding()->clear_max_new_tokens();
  EXPECT_EQ(client_->Generate(generate, ignore), absl::OkStatus());
  generate.mutable_decoding()->set_beam_size(2);
  generate.mutable_decoding()->set_num_hypotheses(2);
  EXPECT_THAT(client_->Generate(generate, ignore),
              IsError(absl::StatusCode::kInvalidArgument, "head_trace"));
}

TEST_F(VisualsTest, ExplainsAHeadInTheProgram) {
  const std::string page = testing::TempDir() + "/explain_test.html";
  for (const char* kind : {"encoder", "decoder", "cross"}) {
    const ProcessResult run = Run({"explain", "--kind", kind, "--layer", "1",
                                   "--html", page, "--json", kSentence});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json trace = json::parse(run.out);
    const size_t queries = trace["queries"].size();
    EXPECT_EQ(trace["scores"]["values"].size(), queries * trace["keys"].size());
    std::stringstream text;
    text << std::ifstream(page).rdbuf();
    EXPECT_THAT(text.str(), HasSubstr("</html>"));
    EXPECT_THAT(text.str(), HasSubstr(std::string("\"kind\":\"") + kind));
  }
}

TEST_F(VisualsTest, ExplainRefusesWhatItWouldIgnore) {
  const ProcessResult nowhere = Run({"explain", "--no-html", kSentence});
  EXPECT_NE(nowhere.exit_code, 0);
  EXPECT_THAT(nowhere.err, HasSubstr("--npz"));
  const ProcessResult limit =
      Run({"explain", "--kind", "encoder", "--max-new-tokens", "5", "--no-html",
           "--json", kSentence});
  EXPECT_NE(limit.exit_code, 0);
  EXPECT_THAT(limit.err, HasSubstr("--max-new-tokens"));
}

TEST_F(VisualsTest, DrawsABeamTreeInTheProgram) {
  const ProcessResult run = Run({"beams", "--beam-size", "3", kSentence});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(" pruned\n"));
  EXPECT_THAT(run.out, testing::StartsWith("result 1 -"));
}

}  // namespace
}  // namespace trivium
