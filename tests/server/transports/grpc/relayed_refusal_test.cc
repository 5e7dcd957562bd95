#include "server/transports/grpc/relayed_refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::HasSubstr;

TEST(ParseTimeoutTest, ParsesGrpcsTimeouts) {
  EXPECT_EQ(ParseTimeout("200m"), absl::Milliseconds(200));
  EXPECT_EQ(ParseTimeout("99999999n"), absl::Nanoseconds(99999999));
  EXPECT_EQ(ParseTimeout("1S"), absl::Seconds(1));
  EXPECT_EQ(ParseTimeout("0u"), absl::ZeroDuration());
  EXPECT_EQ(ParseTimeout("2M"), absl::Minutes(2));
  EXPECT_EQ(ParseTimeout("99999999H"), absl::Hours(99999999));
  for (const char* none :
       {"", "S", "5", "-5S", "+5S", "1.5S", "5s", "5 S", "123456789m"}) {
    EXPECT_FALSE(ParseTimeout(none)) << none;
  }
}

constexpr char kMessage[] = "late: 100 % sure, f\xc3\xbcr \"alle\"";

class RelayedRefusalTest : public RpcTest {
 protected:
  // Makes a call that is answered, after which the relay may refuse others. All
  // later calls would be late.
  void RefuseFromNowOn() {
    Translated();
    RefuseAll();
  }
  void RefuseAll() {
    batcher_->RefuseBeforehand(absl::ResourceExhaustedError(kMessage));
  }
  void Translated() {
    v1::TranslateResponse response;
    const grpc::Status status =
        stub_->Translate(Context().get(), TextsRequest({"ab"}), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
};

TEST_F(RelayedRefusalTest, AnswersLikeTheHandlerWould) {
  RefuseFromNowOn();
  for (const bool early : {true, false}) {
    auto context = Context();
    context->AddMetadata("x-request-id", "seven");
    // gRPC gets the first call of a connection.
    if (!early) {
      StartServer();
      RefuseAll();
    }
    const int before = batcher_->asked_early();
    v1::TranslateResponse response;
    const grpc::Status status =
        stub_->Translate(context.get(), TextsRequest({"ab"}), &response);
    EXPECT_EQ(batcher_->asked_early() - before, early ? 1 : 0);
    EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.error_message(),
              std::string(kMessage) + " (request seven)");
    EXPECT_EQ(Trailer(*context, "x-request-id"), "seven");
    const int pushback = std::stoi(Trailer(*context, "grpc-retry-pushback-ms"));
    EXPECT_GE(pushback, 200);
    EXPECT_LE(pushback, 300);
    google::rpc::RetryInfo retry;
    ASSERT_EQ(Details(status).details_size(), 1);
    ASSERT_TRUE(Details(status).details(0).UnpackTo(&retry));
    EXPECT_EQ(retry.retry_delay().nanos() / 1'000'000, pushback);
    EXPECT_THAT(metrics_->Text(),
                HasSubstr("trivium_requests_in_flight{rpc=\"Translate\"} 0"));
  }
}

TEST_F(RelayedRefusalTest, AConnectionWorksAfterARefusal) {
  RefuseFromNowOn();
  // The calls exceed the windows of stream and connection. Their messages are
  // large and small, and the client puts their fields into its table.
  for (int i = 0; i < 40; ++i) {
    auto context = Context();
    context->AddMetadata("a-new-field-" + std::to_string(i / 2), "value");
    v1::TranslateResponse response;
    const grpc::Status status = stub_->Translate(
        context.get(), TextsRequest({std::string(i % 2 * 20000, 'a')}),
        &response);
    EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  }
  EXPECT_EQ(batcher_->asked_early(), 40);
  batcher_->RefuseBeforehand({});
  for (int i = 0; i < 20; ++i) {
    auto context = Context();
    context->AddMetadata("a-new-field-" + std::to_string(i), "value");
    v1::TranslateResponse response;
    const grpc::Status status =
        stub_->Translate(context.get(), TextsRequest({"ab"}), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

TEST_F(RelayedRefusalTest, DoesNotRefuseCallsThatNeedNoWorker) {
  RefuseFromNowOn();
  const int before = batcher_->asked_early();
  v1::TokenizeRequest request;
  request.add_texts("a");
  v1::TokenizeResponse response;
  EXPECT_TRUE(stub_->Tokenize(Context().get(), request, &response).ok());
  EXPECT_EQ(SendBytes("/trivium.v1.Inference/NoCall", "").error_code(),
            grpc::UNIMPLEMENTED);
  EXPECT_EQ(batcher_->asked_early(), before);
  EXPECT_EQ(batcher_->in_transit(), 0u);
}

TEST_F(RelayedRefusalTest, BoundsCallsWithoutAMessage) {
#ifdef TRIVIUM_SANITIZED
  GTEST_SKIP()
      << "skipped: calls bounded by memory, of which a sanitizer takes "
         "more than the limit";
#endif
  constexpr int kMost = 3072;
  options_.memory_bytes =
      kMost * OpenCalls::kBytesACall * OpenCalls::kPartOfMemory;  // 384 MiB
  options_.max_streams = 2 * kMost;
  StartServer();
  Translated();
  grpc::CompletionQueue queue;
  // A stream without messages stays open, or is refused at once.
  struct Stream {
    std::unique_ptr<grpc::ClientContext> context = Context();
    std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::TranslateStreamRequest,
                                                  v1::TranslateStreamResponse>>
        stream;
    v1::TranslateStreamResponse response;
    grpc::Status status;
  };
  std::vector<std::unique_ptr<Stream>> streams;
  void* tag = nullptr;
  bool ok = false;
  for (int i = 0; i < kMost; ++i) {
    auto& one = *streams.emplace_back(std::make_unique<Stream>());
    one.stream =
        stub_->AsyncTranslateStream(one.context.get(), &queue, nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
  }
  v1::TranslateResponse response;
  const grpc::Status refused = Translate(TextsRequest({"ab"}), &response);
  EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), ErrorAt("calls"));
  EXPECT_THAT(metrics_->Text(),
              HasSubstr("trivium_requests_in_flight{rpc=\"Translate\"} 0"));
  for (const auto& one : streams) {
    one->context->TryCancel();
    one->stream->Finish(&one->status, one.get());
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    ASSERT_TRUE(queue.Next(&tag, &ok));
  }
  Translated();
}

TEST_F(RelayedRefusalTest, CallsThatPassAreInTransitUntilTheyAreSubmitted) {
  batcher_->Hold();
  for (int i = 1; i <= 3; ++i) {
    auto context = Context();
    // A client's own field is ignored.
    context->AddMetadata(std::string(kInTransitField), "1");
    v1::TranslateResponse response;
    std::thread call([&] {
      stub_->Translate(context.get(), TextsRequest({"ab"}), &response);
    });
    batcher_->WaitForSubmitted(i);
    EXPECT_EQ(batcher_->arrived(), i);
    EXPECT_EQ(batcher_->in_transit(), 0u);
    context->TryCancel();
    call.join();
  }
}

TEST_F(RelayedRefusalTest, CallsThatAreNeverSubmittedAreForgotten) {
  Translated();
  EXPECT_EQ(batcher_->arrived(), 1);
  // A call without a message, without a text, without a known model, and one
  // that gives a model no work.
  EXPECT_EQ(
      SendBytes("/trivium.v1.Inference/Translate", "\x0f\xff").error_code(),
      grpc::INVALID_ARGUMENT);
  v1::TranslateRequest request;
  v1::TranslateResponse response;
  EXPECT_FALSE(Translate(request, &response).ok());
  request = TextsRequest({"ab"});
  request.set_model("none");
  EXPECT_EQ(Translate(request, &response).error_code(), grpc::NOT_FOUND);
  EXPECT_TRUE(Translate(TextsRequest({" "}), &response).ok());
  EXPECT_EQ(batcher_->arrived(), 1);
  EXPECT_EQ(batcher_->in_transit(), 0u);
}

}  // namespace
}  // namespace trivium
