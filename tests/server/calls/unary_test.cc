// Calls with one response, without gRPC.
#include "server/errors/status.h"
#include "server/limits/early_refusal.h"
#include "tests/server/calls/handlers_fixture.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using testing::HasSubstr;

class UnaryTest : public HandlersTest {
 protected:
  void Start(const std::vector<std::string>& texts, CallContext context = {}) {
    v1::TranslateRequest request;
    for (const std::string& text : texts) request.add_inputs()->set_text(text);
    Start(&NewTranslate, request, std::move(context));
  }
  void Start(NewHandler* make, const google::protobuf::Message& request,
             CallContext context = {}) {
    transport_.Bring(request);
    handler_ = make(environment_, std::move(context), &transport_);
    handler_->Start();
  }
};

TEST_F(UnaryTest, RespondsOnceAllResultsAreThere) {
  Start({"one", " ", "two"}, {.request_id = "mine"});
  batcher_.Answer(1);
  WaitForDelivery();
  EXPECT_FALSE(transport_.finished());
  batcher_.Answer(0);
  const Ending ending = transport_.WaitForFinish();
  EXPECT_TRUE(ending.status.ok()) << ending.status;
  EXPECT_EQ(ending.request_id, "mine");
  const auto response = transport_.Response<v1::TranslateResponse>(0);
  ASSERT_EQ(response.results_size(), 3);
  EXPECT_EQ(response.results(0).hypotheses(0).text(), "one");
  EXPECT_EQ(response.results(1).hypotheses(0).text(), " ");
  EXPECT_EQ(response.results(2).hypotheses(0).text(), "two");
  EXPECT_EQ(response.model().name(), "translator");
  EXPECT_THAT(metrics_.Text(), HasSubstr("rpc=\"Translate\"} 1\n"));
}

TEST_F(UnaryTest, CallsWithoutAGoodRequestIdGetOne) {
  Start({" "}, {.request_id = "with a blank"});
  EXPECT_EQ(transport_.WaitForFinish().request_id.size(), 32);
}

TEST_F(UnaryTest, RequestsHaveThePriorityOfTheirCall) {
  Start({"one"}, {.priority = "batch"});
  EXPECT_EQ(batcher_.Wait(0).priority, Priority::kBackground);
  batcher_.Answer(0);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(UnaryTest, AnUnknownPriorityIsRefused) {
  Start(&NewListModels, v1::ListModelsRequest(), {.priority = "urgent"});
  EXPECT_THAT(transport_.WaitForFinish().status,
              IsError(absl::StatusCode::kInvalidArgument,
                      "trivium-priority: 'urgent'"));
  EXPECT_EQ(transport_.taken(), 0);
}

TEST_F(UnaryTest, OneModelIsToldWithoutABatcher) {
  Start(&NewGetModel, v1::GetModelRequest());
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(transport_.Response<v1::Model>(0).name(), "translator");
}

TEST_F(UnaryTest, ARequestThatTheTransportCannotReadEndsTheCall) {
  transport_.Bring(v1::EncodeRequest(), InvalidField("inputs", "is torn"));
  handler_ = NewEncode(environment_, {}, &transport_);
  handler_->Start();
  EXPECT_EQ(transport_.WaitForFinish().status,
            InvalidField("inputs", "is torn"));
  EXPECT_EQ(transport_.written(), 0);
  EXPECT_THAT(metrics_.Text(), HasSubstr("INVALID_ARGUMENT"));
}

TEST_F(UnaryTest, NothingIsReadWhileTheServerStops) {
  calls_.Drain(absl::ZeroDuration());
  Start({"a"});
  EXPECT_TRUE(absl::IsUnavailable(transport_.WaitForFinish().status));
  EXPECT_EQ(transport_.taken(), 0);
}

TEST_F(UnaryTest, RefusalsNameTheInputByItsNumber) {
  batcher_.Refuse({absl::InvalidArgumentError("needs too many blocks"), 1});
  Start({" ", "a", "b"});
  EXPECT_THAT(transport_.WaitForFinish().status,
              IsError(absl::StatusCode::kInvalidArgument, "inputs[2]"));
}

TEST_F(UnaryTest, AFullQueueSaysWhenToRetry) {
  batcher_.Refuse(absl::ResourceExhaustedError("full"));
  Start({"a"});
  const Ending ending = transport_.WaitForFinish();
  EXPECT_TRUE(absl::IsResourceExhausted(ending.status));
  EXPECT_GE(*RetryDelay(ending.status), absl::Milliseconds(200));
}

TEST_F(UnaryTest, ACallThatWouldBeLateIsRefusedBeforeItIsTokenized) {
  batcher_.RefuseBeforehand(absl::ResourceExhaustedError("too much to do"));
  // The text is so long that the pool would tokenize it.
  Start({std::string(5000, 'x')});
  ASSERT_TRUE(transport_.finished());
  const Ending ending = transport_.WaitForFinish();
  EXPECT_TRUE(absl::IsResourceExhausted(ending.status));
  EXPECT_GE(*RetryDelay(ending.status), absl::Milliseconds(200));
  EXPECT_EQ(batcher_.count(), 0);
}

TEST_F(UnaryTest, ACallPastItsDeadlineIsRefusedEarly) {
  const auto refused = [this](absl::Duration left) {
    return CheckEarly(environment_.batcher, environment_.limits,
                      Rpc::kTranslate, {.deadline = clock_.Now() + left},
                      clock_.Now());
  };
  EXPECT_EQ(refused(absl::Milliseconds(1)), absl::OkStatus());
  EXPECT_TRUE(absl::IsDeadlineExceeded(refused(absl::ZeroDuration())));
}

TEST_F(UnaryTest, CallsThatNeedNoBatcherAreNotRefused) {
  batcher_.RefuseBeforehand(absl::ResourceExhaustedError("too much to do"));
  v1::TokenizeRequest request;
  request.add_texts("a");
  Start(&NewTokenize, request);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(UnaryTest, ClientsAreToldApartByAddressOrKey) {
  const CallContext contexts[] = {
      {.peer = "ipv4:10.0.0.1:5000"},
      {.peer = "ipv4:10.0.0.1:5001"},
      {.peer = "ipv4:10.0.0.2:5000"},
      {.peer = "ipv6:[::1]:5000"},
      {.peer = "ipv6:[::1]:5001"},
      {.peer = "unix:/one"},
      {.peer = "unix:"},
      {},
      {.peer = "ipv4:10.0.0.1:5000", .client_key = "a"},
      {.peer = "ipv4:10.0.0.2:5000", .client_key = "a"},
      {.peer = "ipv4:10.0.0.1:5000", .client_key = "b"},
      {.peer = "unix:", .client_key = "ipv4:10.0.0.1"},
  };
  const int same_as[] = {0, 0, 2, 3, 3, 5, 5, 7, 8, 8, 10, 11};
  std::vector<ClientId> clients;
  for (const CallContext& context : contexts) {
    FakeTransport transport;
    v1::TranslateRequest request;
    request.add_inputs()->set_text("a");
    transport.Bring(request);
    const auto call = NewTranslate(environment_, context, &transport);
    call->Start();
    clients.push_back(batcher_.Wait(clients.size()).client);
    batcher_.Answer(clients.size() - 1);
    transport.WaitForFinish();
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    for (size_t j = 0; j < clients.size(); ++j) {
      EXPECT_EQ(clients[i] == clients[j], same_as[i] == same_as[j])
          << i << " " << j;
    }
  }
}

TEST_F(UnaryTest, AClientThatGivesUpAtItsDeadlineHasMissedIt) {
  Start({"a"}, {.deadline = clock_.Now() + absl::Seconds(1)});
  clock_.Advance(absl::Milliseconds(995));
  handler_->OnCancel();
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("cancelled"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(transport_.WaitForFinish().status));
  EXPECT_THAT(metrics_.Text(), HasSubstr("code=\"DEADLINE_EXCEEDED\""));
}

TEST_F(UnaryTest, AnAnswerAfterTheDeadlineIsNotSent) {
  Start({"a"}, {.deadline = clock_.Now() + absl::Seconds(1)});
  clock_.Advance(absl::Seconds(1));
  batcher_.Answer(0);
  EXPECT_TRUE(absl::IsDeadlineExceeded(transport_.WaitForFinish().status));
}

TEST_F(UnaryTest, AClientThatCancelsLongBeforeItsDeadlineHasNotMissedIt) {
  Start({"a"}, {.deadline = clock_.Now() + absl::Seconds(1)});
  clock_.Advance(absl::Milliseconds(900));
  handler_->OnCancel();
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("cancelled"));
  EXPECT_TRUE(absl::IsCancelled(transport_.WaitForFinish().status));
}

TEST_F(UnaryTest, OneFailedRequestFailsTheCall) {
  Start({"a", "b"});
  batcher_.Wait(0).observer->OnDone(absl::InternalError("the engine failed"));
  EXPECT_TRUE(batcher_.Wait(1).cancellation->cancelled());
  EXPECT_FALSE(transport_.finished());
  batcher_.Wait(1).observer->OnDone(absl::CancelledError("cancelled"));
  EXPECT_EQ(transport_.WaitForFinish().status,
            absl::InternalError("the engine failed"));
}

TEST_F(UnaryTest, CancellationReachesTheBatcher) {
  Start({"a"});
  EXPECT_FALSE(batcher_.Wait(0).cancellation->cancelled());
  handler_->OnCancel();
  EXPECT_TRUE(batcher_.Wait(0).cancellation->cancelled());
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("cancelled"));
  EXPECT_TRUE(absl::IsCancelled(transport_.WaitForFinish().status));
}

TEST_F(UnaryTest, ACallWithoutADeadlineGetsTheServers) {
  const absl::Time soon = clock_.Now() + absl::Seconds(1);
  Start({"a"}, {.deadline = soon});
  EXPECT_EQ(batcher_.Wait(0).deadline, soon);
  batcher_.Answer(0);
  transport_.WaitForFinish();

  FakeTransport other;
  v1::EncodeRequest request;
  request.add_inputs()->set_text("a");
  other.Bring(request);
  const auto encode = NewEncode(environment_, {}, &other);
  encode->Start();
  EXPECT_EQ(batcher_.Wait(1).deadline,
            clock_.Now() + environment_.limits.default_deadline);
  batcher_.Wait(1).observer->OnDone(absl::CancelledError("enough"));
  other.WaitForFinish();
}

TEST_F(UnaryTest, ACallPastItsDeadlineIsNotTokenized) {
  Start({"a"}, {.deadline = clock_.Now()});
  EXPECT_TRUE(absl::IsDeadlineExceeded(transport_.WaitForFinish().status));
  EXPECT_EQ(batcher_.count(), 0);
}

TEST_F(UnaryTest, TheTransportNeverWaitsForLongTexts) {
  std::promise<void> go;
  tokenizing_.Run({0, &go}, 0, [&go] { go.get_future().wait(); });
  v1::TokenizeRequest request;
  request.add_texts(std::string(5000, 'x'));
  Start(&NewTokenize, request);
  EXPECT_FALSE(transport_.finished());
  go.set_value();
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(
      transport_.Response<v1::TokenizeResponse>(0).results(0).tokens_size(),
      5001);
}

TEST_F(UnaryTest, ResponsesOverTheLimitAreNotSent) {
  environment_.limits.max_response_bytes = 30;
  Start({"a text"});
  batcher_.Answer(0);
  EXPECT_TRUE(absl::IsInvalidArgument(transport_.WaitForFinish().status));
  EXPECT_EQ(transport_.written(), 0);
}

TEST_F(UnaryTest, ACallKeepsItsModel) {
  Start({"a"});
  const ModelHandle model = *environment_.models.Remove("translator");
  batcher_.Answer(0);
  transport_.WaitForFinish();
  EXPECT_EQ(transport_.Response<v1::TranslateResponse>(0).model().name(),
            "translator");
}

TEST_F(UnaryTest, ARecurrentDecoderHasNoAttentionToItself) {
  auto owned = std::make_unique<PuppetModel>();
  owned->mutable_info().recurrent_decoder = true;
  const ModelHandle served = ServedPuppet("recurrent", std::move(owned));
  metrics_.AddModel(*served);
  ASSERT_TRUE(environment_.models.Add(served).ok());
  v1::TranslateRequest request;
  request.set_model("recurrent");
  request.add_inputs()->set_text("a");
  request.mutable_options()->mutable_decoder_attention();
  transport_.Bring(request);
  handler_ = NewTranslate(environment_, {}, &transport_);
  handler_->Start();
  EXPECT_THAT(
      transport_.WaitForFinish().status,
      IsError(absl::StatusCode::kInvalidArgument, "options.decoder_attention"));
}

}  // namespace
}  // namespace trivium
