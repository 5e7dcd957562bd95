#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

class TranslateTest : public RpcTest {
 protected:
  // The field that a request with these decoding options is refused for.
  std::string Refused(const std::function<void(v1::DecodingOptions*)>& set) {
    v1::TranslateRequest request = TextsRequest({"ab"});
    set(request.mutable_options()->mutable_decoding());
    v1::TranslateResponse response;
    const grpc::Status status = Translate(request, &response);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT)
        << status.error_message();
    return BadField(status);
  }
};

TEST_F(TranslateTest, AnswersEachInputInOrder) {
  v1::TranslateResponse response;
  const grpc::Status status = Translate(
      TextsRequest({"one", "", "café", " \n\xE3\x80\x80"}), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.results_size(), 4);
  EXPECT_EQ(response.results(0).hypotheses(0).text(), "one");
  EXPECT_EQ(response.results(0).hypotheses(0).token_count(), 4);
  EXPECT_EQ(response.results(0).source_token_count(), 4);
  EXPECT_EQ(response.results(1).hypotheses(0).text(), "");
  EXPECT_EQ(response.results(2).hypotheses(0).text(), "café");
  EXPECT_EQ(response.results(3).hypotheses(0).text(), " \n\xE3\x80\x80");
  EXPECT_EQ(response.results(3).hypotheses(0).finish_reason(),
            v1::FINISH_REASON_END);
  EXPECT_EQ(response.model().name(), "translator");
  EXPECT_EQ(response.model().revision(), "r1");
  EXPECT_GT(response.timings().total().nanos(), 0);
  // Blank texts never reach the model.
  EXPECT_EQ(batcher_->submitted().size(), 2);
}

TEST_F(TranslateTest, AMetadataKeyTellsClientsApart) {
  options_.limits.client_key_header = "x-api-key";
  StartServer();
  for (const char* key : {"a", "b", "a", ""}) {
    const auto context = Context();
    if (*key != 0) context->AddMetadata("x-api-key", key);
    v1::TranslateResponse response;
    ASSERT_TRUE(
        stub_->Translate(context.get(), TextsRequest({"one"}), &response).ok());
  }
  const auto submitted = batcher_->submitted();
  EXPECT_EQ(submitted[0].client, submitted[2].client);
  EXPECT_NE(submitted[0].client, submitted[1].client);
  EXPECT_NE(submitted[0].client, submitted[3].client);  // its address
}

TEST_F(TranslateTest, AMetadataKeySetsThePriority) {
  for (const char* priority : {"", "interactive", "batch", "Batch"}) {
    const auto context = Context();
    if (*priority != 0) context->AddMetadata("trivium-priority", priority);
    v1::TranslateResponse response;
    const grpc::Status status =
        stub_->Translate(context.get(), TextsRequest({"one"}), &response);
    EXPECT_EQ(status.error_code(), std::string(priority) == "Batch"
                                       ? grpc::INVALID_ARGUMENT
                                       : grpc::OK)
        << priority;
  }
  const auto submitted = batcher_->submitted();
  ASSERT_EQ(submitted.size(), 3u);
  EXPECT_EQ(submitted[0].priority, Priority::kInteractive);
  EXPECT_EQ(submitted[1].priority, Priority::kInteractive);
  EXPECT_EQ(submitted[2].priority, Priority::kBackground);
}

TEST_F(TranslateTest, OptionsOfTheRequestReplaceTheModelsDefaults) {
  v1::TranslateRequest request = TextsRequest({"abc"});
  v1::TranslateResponse response;
  ASSERT_TRUE(Translate(request, &response).ok());
  request.mutable_options()->mutable_decoding()->set_beam_size(5);
  request.mutable_options()->mutable_decoding()->set_max_new_tokens(9);
  ASSERT_TRUE(Translate(request, &response).ok());
  request = TextsRequest({std::string(60, 'x')});
  ASSERT_TRUE(Translate(request, &response).ok());
  const auto submitted = batcher_->submitted();
  EXPECT_EQ(submitted[0].decoding->beam_size, 2);
  EXPECT_EQ(submitted[0].decoding->max_new_tokens, 3 * 4 + 32);
  EXPECT_EQ(submitted[0].prefix, std::vector<int32_t>{1});
  EXPECT_EQ(submitted[1].decoding->beam_size, 5);
  EXPECT_EQ(submitted[1].decoding->max_new_tokens, 9);
  // No more than the model has left after its prefix.
  EXPECT_EQ(submitted[2].decoding->max_new_tokens, 127);
}

TEST_F(TranslateTest, TargetPrefixFollowsTheStartToken) {
  v1::TranslateRequest request = TextsRequest({"abc"});
  request.mutable_inputs(0)->set_target_prefix("Z");
  v1::TranslateResponse response;
  ASSERT_TRUE(Translate(request, &response).ok());
  EXPECT_EQ(batcher_->submitted()[0].prefix,
            (std::vector<int32_t>{1, 'Z' + PuppetTokenizer::kFirst}));
}

TEST_F(TranslateTest, SamplingReturnsTheSeedItPicked) {
  v1::TranslateRequest request = TextsRequest({"abc"});
  auto* decoding = request.mutable_options()->mutable_decoding();
  decoding->set_sample(true);
  decoding->set_num_hypotheses(3);
  v1::TranslateResponse response;
  ASSERT_TRUE(Translate(request, &response).ok());
  EXPECT_EQ(response.results(0).hypotheses_size(), 3);
  const Request submitted = batcher_->submitted()[0];
  EXPECT_EQ(submitted.decoding->beam_size, 1);
  ASSERT_TRUE(response.results(0).has_seed());
  EXPECT_EQ(response.results(0).seed(), submitted.decoding->seed);
}

TEST_F(TranslateTest, CutsAtStopStrings) {
  v1::TranslateRequest request = TextsRequest({"one. two. three"});
  request.mutable_options()->set_split(v1::SPLIT_NONE);
  request.mutable_options()->mutable_decoding()->add_stop(" tw");
  v1::TranslateResponse response;
  ASSERT_TRUE(Translate(request, &response).ok());
  EXPECT_EQ(response.results(0).hypotheses(0).text(), "one.");
  EXPECT_EQ(response.results(0).hypotheses(0).finish_reason(),
            v1::FINISH_REASON_STOP);
}

TEST_F(TranslateTest, NamesTheDecodingOptionThatIsWrong) {
  using D = v1::DecodingOptions;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::string path = "options.decoding.";
  EXPECT_EQ(Refused([&](D* d) { d->set_temperature(nan); }),
            path + "temperature");
  EXPECT_EQ(Refused([&](D* d) { d->set_temperature(-0.5f); }),
            path + "temperature");
  EXPECT_EQ(Refused([&](D* d) {
              d->set_temperature(0.5f);
              d->set_sample(false);
            }),
            path + "temperature");
  EXPECT_EQ(Refused([&](D* d) { d->set_top_k(3); }), path + "top_k");
  EXPECT_EQ(Refused([&](D* d) { d->set_top_p(0.5f); }), path + "top_p");
  EXPECT_EQ(Refused([&](D* d) { d->set_seed(3); }), path + "seed");
  EXPECT_EQ(Refused([&](D* d) {
              d->set_beam_size(1);
              d->set_early_stopping(v1::EARLY_STOPPING_AT_ONCE);
            }),
            path + "early_stopping");
  EXPECT_EQ(Refused([&](D* d) { d->set_length_penalty(infinity); }),
            path + "length_penalty");
  EXPECT_EQ(Refused([&](D* d) { d->set_length_penalty(-10.5f); }),
            path + "length_penalty");
  EXPECT_EQ(Refused([&](D* d) { d->set_top_p(1.5f); }), path + "top_p");
  EXPECT_EQ(Refused([&](D* d) { d->set_repetition_penalty(-1); }),
            path + "repetition_penalty");
  EXPECT_EQ(Refused([&](D* d) { d->set_beam_size(17); }), path + "beam_size");
  EXPECT_EQ(Refused([&](D* d) { d->set_beam_size(0); }), path + "beam_size");
  EXPECT_EQ(Refused([&](D* d) { d->set_beam_size(UINT32_MAX); }),
            path + "beam_size");
  EXPECT_EQ(Refused([&](D* d) { d->set_num_hypotheses(3); }),
            path + "num_hypotheses");
  // Searches with one beam, and samples, have no tree to trace.
  EXPECT_EQ(Refused([&](D* d) {
              d->set_trace(true);
              d->set_beam_size(1);
            }),
            path + "trace");
  EXPECT_EQ(Refused([&](D* d) {
              d->set_trace(true);
              d->set_sample(true);
            }),
            path + "trace");
  EXPECT_EQ(Refused([&](D* d) {
              d->set_sample(true);
              d->set_beam_size(4);
            }),
            path + "beam_size");
  EXPECT_EQ(Refused([&](D* d) { d->set_max_new_tokens(0); }),
            path + "max_new_tokens");
  EXPECT_EQ(Refused([&](D* d) { d->set_max_new_tokens(1 << 30); }),
            path + "max_new_tokens");
  EXPECT_EQ(Refused([&](D* d) {
              d->set_max_new_tokens(5);
              d->set_min_new_tokens(6);
            }),
            path + "min_new_tokens");
  EXPECT_EQ(Refused([&](D* d) { d->set_top_logprobs(21); }),
            path + "top_logprobs");
  EXPECT_EQ(Refused([&](D* d) { d->set_forced_first_id(260); }),
            path + "forced_first_id");
  EXPECT_EQ(Refused([&](D* d) { d->add_banned()->add_ids(999); }),
            path + "banned[0].ids[0]");
  EXPECT_EQ(Refused([&](D* d) { d->add_banned(); }), path + "banned[0]");
  EXPECT_EQ(Refused([&](D* d) { d->add_stop(""); }), path + "stop[0]");
  EXPECT_EQ(Refused([&](D* d) { d->add_stop(std::string(257, 'x')); }),
            path + "stop[0]");
  EXPECT_EQ(Refused([&](D* d) {
              for (int i = 0; i < 17; ++i) d->add_stop("x");
            }),
            path + "stop");
  EXPECT_EQ(Refused([&](D* d) {
              d->set_early_stopping(static_cast<v1::EarlyStopping>(9));
            }),
            path + "early_stopping");
  EXPECT_TRUE(batcher_->submitted().empty());
}

TEST_F(TranslateTest, NamesTheInputThatIsWrong) {
  v1::TranslateResponse response;
  v1::TranslateRequest request = TextsRequest({"ab", "cd"});
  request.add_inputs();
  EXPECT_EQ(BadField(Translate(request, &response)), "inputs[2]");
  request.mutable_inputs(2)->mutable_ids()->add_ids(260);
  EXPECT_EQ(BadField(Translate(request, &response)), "inputs[2].ids.ids[0]");
  request.mutable_inputs(2)->mutable_ids()->set_ids(0, 5);
  request.mutable_inputs(1)->mutable_target_prefix_ids()->add_ids(UINT32_MAX);
  EXPECT_EQ(BadField(Translate(request, &response)),
            "inputs[1].target_prefix_ids.ids[0]");
  EXPECT_EQ(BadField(Translate(v1::TranslateRequest(), &response)), "inputs");
  EXPECT_EQ(BadField(Translate(
                TextsRequest(std::vector<std::string>(2049, "x")), &response)),
            "inputs");
  request = TextsRequest({"ab"});
  request.mutable_options()->set_target_language("fr");
  EXPECT_EQ(BadField(Translate(request, &response)), "options.target_language");
}

TEST_F(TranslateTest, TextsThatAreTooLongAreRefusedOrCut) {
  v1::TranslateRequest request = TextsRequest({std::string(100, 'x')});
  request.mutable_options()->set_split(v1::SPLIT_NONE);
  v1::TranslateResponse response;
  grpc::Status status = Translate(request, &response);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), ErrorAt("101"));
  request.mutable_options()->set_truncate(true);
  ASSERT_TRUE(Translate(request, &response).ok());
  EXPECT_EQ(response.results(0).truncated_tokens(), 37);
  EXPECT_EQ(response.results(0).source_token_count(), 64);

  options_.truncate = true;  // --truncate
  StartServer();
  EXPECT_TRUE(Translate(TextsRequest({std::string(100, 'x')}), &response).ok());
  request.mutable_options()->set_truncate(false);
  EXPECT_FALSE(Translate(request, &response).ok());
}

TEST_F(TranslateTest, RefusesModelsThatAreUnknownOrCannotTranslate) {
  v1::TranslateRequest request = TextsRequest({"ab"});
  v1::TranslateResponse response;
  request.set_model("nobody");
  grpc::Status status = Translate(request, &response);
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_THAT(status.error_message(), ErrorAt("translator, encoder, ids"));
  request.set_model("encoder");
  EXPECT_EQ(Translate(request, &response).error_code(),
            grpc::FAILED_PRECONDITION);
  request.set_model("ids");
  status = Translate(request, &response);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), ErrorAt("ids"));
  request.mutable_inputs(0)->mutable_ids()->add_ids(7);
  ASSERT_TRUE(Translate(request, &response).ok());
  EXPECT_THAT(response.results(0).hypotheses(0).ids(), testing::ElementsAre(7));
}

TEST_F(TranslateTest, RequestIdsComeBack) {
  v1::TranslateResponse response;
  auto context = Context();
  context->AddMetadata("x-request-id", "my-id");
  ASSERT_TRUE(
      stub_->Translate(context.get(), TextsRequest({"ab"}), &response).ok());
  EXPECT_EQ(Trailer(*context, "x-request-id"), "my-id");

  context = Context();
  context->AddMetadata("x-request-id", std::string(300, 'x'));
  const grpc::Status status =
      stub_->Translate(context.get(), v1::TranslateRequest(), &response);
  const std::string made = Trailer(*context, "x-request-id");
  EXPECT_EQ(made.size(), 32);
  EXPECT_THAT(status.error_message(), ErrorAt(made));
}

TEST_F(TranslateTest, AFullQueueTellsWhenToRetry) {
  batcher_->Refuse(absl::ResourceExhaustedError("full"));
  auto context = Context();
  v1::TranslateResponse response;
  const grpc::Status status =
      stub_->Translate(context.get(), TextsRequest({"ab"}), &response);
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  const int pushback = std::stoi(Trailer(*context, "grpc-retry-pushback-ms"));
  EXPECT_GE(pushback, 200);
  EXPECT_LE(pushback, 300);
  google::rpc::RetryInfo retry;
  ASSERT_EQ(Details(status).details_size(), 1);
  ASSERT_TRUE(Details(status).details(0).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().nanos() / 1'000'000, pushback);
}

TEST_F(TranslateTest, RefusalsNameTheInput) {
  batcher_->Refuse({absl::InvalidArgumentError("needs too many blocks"), 1});
  v1::TranslateResponse response;
  // The first input is blank and makes no request, so index 1 is the third.
  const grpc::Status status =
      Translate(TextsRequest({" ", "ab", "cd"}), &response);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(BadField(status), "inputs[2]");
}

TEST_F(TranslateTest, OneFailedInputFailsTheCall) {
  batcher_->Fail(absl::InternalError("the engine failed"));
  v1::TranslateResponse response;
  EXPECT_EQ(Translate(TextsRequest({"ab", "cd"}), &response).error_code(),
            grpc::INTERNAL);
}

TEST_F(TranslateTest, CancellationReachesTheBatcher) {
  batcher_->Hold();
  auto context = Context();
  grpc::Status status;
  std::thread client([&] {
    v1::TranslateResponse response;
    status = stub_->Translate(context.get(), TextsRequest({"ab"}), &response);
  });
  batcher_->WaitForSubmitted(1);
  context->TryCancel();
  client.join();
  EXPECT_EQ(status.error_code(), grpc::CANCELLED);
  batcher_->WaitForDropped(1);
}

TEST_F(TranslateTest, CallsWithoutDeadlineGetTheServers) {
  options_.limits.default_deadline = absl::Milliseconds(30);
  StartServer();
  batcher_->Hold();
  grpc::ClientContext context;
  v1::TranslateResponse response;
  EXPECT_EQ(
      stub_->Translate(&context, TextsRequest({"ab"}), &response).error_code(),
      grpc::DEADLINE_EXCEEDED);
}

TEST_F(TranslateTest, LongTextsAreTruncatedByTheirTokens) {
  v1::TranslateRequest request = TextsRequest({std::string(10000, 'x')});
  request.mutable_options()->set_truncate(true);
  v1::TranslateResponse response;
  ASSERT_TRUE(Translate(request, &response).ok());
  EXPECT_EQ(response.results(0).truncated_tokens(), 10001 - 64);
}

TEST_F(TranslateTest, HugeResponsesAreRefusedBeforeWork) {
  v1::TranslateRequest request =
      TextsRequest(std::vector<std::string>(32, std::string(60, 'x')));
  auto* decoding = request.mutable_options()->mutable_decoding();
  decoding->set_beam_size(16);
  decoding->set_num_hypotheses(16);
  request.mutable_options()->mutable_cross_attention();
  v1::TranslateResponse response;
  const grpc::Status status = Translate(request, &response);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  // 7932928 bytes are two inputs x 16 hypotheses x 127 tokens x 61 x 2 layers x
  // 4 heads x 4 bytes. The other inputs are not counted.
  EXPECT_THAT(status.error_message(), ErrorAt("7932928"));
  EXPECT_TRUE(batcher_->submitted().empty());
}

TEST_F(TranslateTest, CompressedMessagesAreNotRead) {
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    const auto context = Context();
    context->set_compression_algorithm(algorithm);
    v1::TranslateResponse response;
    const grpc::Status status = stub_->Translate(
        context.get(), TextsRequest({std::string(100'000, 'a')}), &response);
    EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED)
        << status.error_message();
  }
}

TEST_F(TranslateTest, RefusesBytesThatAreNotARequest) {
  const std::string method = "/trivium.v1.Inference/Translate";
  EXPECT_EQ(SendBytes(method, "\xff\xff").error_code(), grpc::INVALID_ARGUMENT);
  std::string bytes = TextsRequest({"ab", "QQQQ"}).SerializeAsString();
  bytes.replace(bytes.find("QQQQ"), 2, "\xff\xfe");
  const grpc::Status status = SendBytes(method, bytes);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(BadField(status), "inputs[1].text");
  EXPECT_EQ(SendBytes(method, std::string((4 << 20) + 1, 'x')).error_code(),
            grpc::INVALID_ARGUMENT);
  EXPECT_EQ(SendBytes(method, std::string(16 << 20, 'x')).error_code(),
            grpc::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace trivium
