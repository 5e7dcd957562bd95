// Tests the server's answers to mistakes of clients.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/server_process.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::AllOf;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class ErrorsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new ServerProcess(); }
  static void TearDownTestSuite() {
    EXPECT_TRUE(server_->running()) << "the server died";
    delete server_;
  }

  void ExpectRefused(const v1::TranslateRequest& request,
                     const std::string& field,
                     absl::StatusCode code = kInvalid) {
    EXPECT_THAT(client_->Translate(request), IsError(code, field))
        << request.ShortDebugString();
  }

  static v1::TranslateRequest Sound() {
    v1::TranslateRequest request;
    request.add_inputs()->set_text("Hello.");
    return request;
  }

  static ServerProcess* server_;
  const std::unique_ptr<Client> client_ = server_->NewClient();
};

ServerProcess* ErrorsTest::server_ = nullptr;

TEST_F(ErrorsTest, NamesAbsurdDecodingOptions) {
  const std::vector<
      std::pair<std::string, std::function<void(v1::DecodingOptions*)>>>
      cases = {
          {"beam_size", [](auto* d) { d->set_beam_size(0); }},
          {"beam_size", [](auto* d) { d->set_beam_size(17); }},
          {"beam_size", [](auto* d) { d->set_beam_size(UINT32_MAX); }},
          {"num_hypotheses", [](auto* d) { d->set_num_hypotheses(0); }},
          {"num_hypotheses",
           [](auto* d) {
             d->set_beam_size(2);
             d->set_num_hypotheses(3);
           }},
          {"length_penalty", [](auto* d) { d->set_length_penalty(NAN); }},
          {"length_penalty", [](auto* d) { d->set_length_penalty(INFINITY); }},
          {"max_new_tokens",
           [](auto* d) { d->set_max_new_tokens(UINT32_MAX); }},
          {"min_new_tokens",
           [](auto* d) { d->set_min_new_tokens(UINT32_MAX); }},
          {"temperature",
           [](auto* d) {
             d->set_sample(false);
             d->set_temperature(0.5f);
           }},
          {"length_penalty", [](auto* d) { d->set_length_penalty(10.5f); }},
          // Options that would be ignored.
          {"top_k", [](auto* d) { d->set_top_k(5); }},
          {"top_p", [](auto* d) { d->set_top_p(0.5f); }},
          {"seed", [](auto* d) { d->set_seed(5); }},
          {"early_stopping",
           [](auto* d) { d->set_early_stopping(v1::EARLY_STOPPING_NEVER); }},
          {"temperature", [](auto* d) { d->set_temperature(-INFINITY); }},
          {"top_p", [](auto* d) { d->set_top_p(1.5f); }},
          {"top_p", [](auto* d) { d->set_top_p(NAN); }},
          {"repetition_penalty", [](auto* d) { d->set_repetition_penalty(0); }},
          {"min_p", [](auto* d) { d->set_min_p(0.1f); }},
          {"typical_p", [](auto* d) { d->set_typical_p(0.5f); }},
          {"min_p",
           [](auto* d) {
             d->set_sample(true);
             d->set_min_p(1.5f);
           }},
          {"typical_p",
           [](auto* d) {
             d->set_sample(true);
             d->set_typical_p(0);
           }},
          {"frequency_penalty", [](auto* d) { d->set_frequency_penalty(3); }},
          {"presence_penalty", [](auto* d) { d->set_presence_penalty(NAN); }},
          {"logit_bias[7]",
           [](auto* d) { (*d->mutable_logit_bias())[7] = 101; }},
          {"logit_bias[4294967295]",
           [](auto* d) { (*d->mutable_logit_bias())[UINT32_MAX] = 1; }},
          {"logit_bias",
           [](auto* d) {
             for (uint32_t id = 0; id < 1025; ++id) {
               (*d->mutable_logit_bias())[id] = 1;
             }
           }},
          {"stop_ids", [](auto* d) { d->add_stop_ids(UINT32_MAX); }},
          {"stop_ids",
           [](auto* d) {
             for (int i = 0; i < 17; ++i) d->add_stop_ids(i);
           }},
          {"stop", [](auto* d) { d->add_stop(""); }},
          {"stop", [](auto* d) { d->add_stop(std::string(257, 'x')); }},
          {"stop",
           [](auto* d) {
             for (int i = 0; i < 17; ++i) d->add_stop("x");
           }},
          {"banned", [](auto* d) { d->add_banned(); }},
          {"banned", [](auto* d) { d->add_banned()->add_ids(UINT32_MAX); }},
          {"forced_first_id",
           [](auto* d) { d->set_forced_first_id(UINT32_MAX); }},
          {"forced_last_id",
           [](auto* d) { d->set_forced_last_id(UINT32_MAX); }},
          {"top_logprobs", [](auto* d) { d->set_top_logprobs(21); }},
          {"early_stopping",
           [](auto* d) {
             d->set_early_stopping(static_cast<v1::EarlyStopping>(99));
           }},
      };
  for (const auto& [field, change] : cases) {
    v1::TranslateRequest request = Sound();
    request.mutable_options()->mutable_decoding()->set_beam_size(1);
    change(request.mutable_options()->mutable_decoding());
    ExpectRefused(request, "options.decoding." + field);
    v1::GenerateRequest generate;
    generate.mutable_input()->set_text("Hello.");
    *generate.mutable_decoding() = request.options().decoding();
    const absl::Status status = client_->Generate(
        generate, [](const v1::GenerateResponse&) { return absl::OkStatus(); });
    EXPECT_THAT(status, IsError(kInvalid, "decoding." + field))
        << generate.ShortDebugString();
  }
}

TEST_F(ErrorsTest, NamesBadInputs) {
  v1::TranslateRequest request;
  ExpectRefused(request, "inputs");
  request = Sound();
  request.add_inputs();
  ExpectRefused(request, "inputs[1]");
  request = Sound();
  request.add_inputs()->mutable_ids()->add_ids(UINT32_MAX);
  ExpectRefused(request, "inputs[1].ids");
  request = Sound();
  for (int i = 0; i < 2048; ++i) *request.add_inputs() = request.inputs(0);
  ExpectRefused(request, "inputs");
  request = Sound();
  request.mutable_inputs(0)->set_text(std::string((1 << 20) + 1, 'a'));
  ExpectRefused(request, "inputs[0].text");
  request = Sound();
  request.mutable_inputs(0)->mutable_target_prefix_ids()->add_ids(UINT32_MAX);
  ExpectRefused(request, "inputs[0].target_prefix_ids");
}

TEST_F(ErrorsTest, RefusesOrCutsLongTexts) {
  v1::TranslateRequest request;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "apple ";
  request.add_inputs()->set_text(text);
  request.mutable_options()->set_truncate(false);
  request.mutable_options()->set_split(v1::SPLIT_NONE);
  ExpectRefused(request, "inputs[0]");
  request.mutable_options()->set_truncate(true);
  request.mutable_options()->mutable_decoding()->set_max_new_tokens(1);
  const auto response = client_->Translate(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_GT(response->results(0).truncated_tokens(), 0u);
}

TEST_F(ErrorsTest, NamesUnknownModelsAndLanguages) {
  v1::TranslateRequest request = Sound();
  request.set_model("no-such-model");
  ExpectRefused(request, "no-such-model", absl::StatusCode::kNotFound);
  EXPECT_EQ(client_->GetModel("no-such-model").status().code(),
            absl::StatusCode::kNotFound);
  request = Sound();
  request.mutable_options()->set_target_language("tlh");
  ExpectRefused(request, "target_language");
  request = Sound();
  request.mutable_options()->mutable_cross_attention()->add_layers(99);
  ExpectRefused(request, "cross_attention");
}

TEST_F(ErrorsTest, IncludesTheRequestIdInMessages) {
  EXPECT_THAT(client_->GetModel("no-such-model"),
              IsError(absl::StatusCode::kNotFound, "request"));
}

// The limit in the message is exact, to the byte.
TEST_F(ErrorsTest, NamesTheLimitToOversizedMessages) {
  const auto sent = [&](size_t bytes) {
    v1::TranslateRequest request;
    while (request.ByteSizeLong() + 1'000'000 < bytes) {
      request.add_inputs()->set_text(std::string(900'000, 'a'));
    }
    std::string* last = request.add_inputs()->mutable_text();
    *last = std::string(500'000, 'a');
    last->resize(last->size() + bytes - request.ByteSizeLong(), 'a');
    EXPECT_EQ(request.ByteSizeLong(), bytes);
    return client_->Translate(request).status();
  };
  EXPECT_THAT(sent(4'194'304),
              AllOf(IsError(kInvalid, ""), Not(IsError(kInvalid, "4194304"))));
  for (const size_t bytes : {4'194'305, 15'000'000}) {
    EXPECT_THAT(sent(bytes), AllOf(IsError(kInvalid, std::to_string(bytes)),
                                   IsError(kInvalid, "4194304")));
  }
}

TEST_F(ErrorsTest, MissesShortDeadlinesCleanly) {
  v1::TranslateRequest request;
  for (int i = 0; i < 32; ++i) {
    request.add_inputs()->set_text(
        "The committee met in the morning and talked about many things that "
        "nobody remembers today, " +
        std::to_string(i) + " of them twice.");
  }
  request.mutable_options()->mutable_decoding()->set_beam_size(8);
  const absl::Status status =
      server_->NewClient(absl::Milliseconds(5))->Translate(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_TRUE(client_->Translate(Sound()).ok());
}

TEST_F(ErrorsTest, LetsClientsLeaveGenerateInTheMiddle) {
  for (int i = 0; i < 20; ++i) {
    v1::GenerateRequest request;
    request.mutable_input()->set_text("The weather is very nice today.");
    request.mutable_decoding()->set_beam_size(1);
    request.mutable_decoding()->set_min_new_tokens(60);
    request.mutable_decoding()->set_max_new_tokens(60);
    const absl::Status status =
        client_->Generate(request, [](const v1::GenerateResponse&) {
          return absl::AbortedError("enough");
        });
    EXPECT_EQ(status, absl::AbortedError("enough"));
  }
  EXPECT_TRUE(client_->Translate(Sound()).ok());
}

TEST_F(ErrorsTest, FreesTheWorkOfClientsThatVanish) {
  for (int i = 0; i < 20; ++i) {
    const auto client = server_->NewClient();
    const auto stream = client->StartTranslateStream({});
    v1::TranslateStreamRequest::Item item;
    item.mutable_input()->set_text("The weather is very nice today.");
    for (int k = 0; k < 10; ++k) stream->Write(item);
    stream->Cancel();
  }
  EXPECT_TRUE(client_->Translate(Sound()).ok());
}

TEST_F(ErrorsTest, EndsAStreamForAnUnknownModel) {
  v1::TranslateStreamRequest::Start start;
  start.set_model("no-such-model");
  const auto stream = client_->StartTranslateStream(start);
  v1::TranslateStreamResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace trivium
