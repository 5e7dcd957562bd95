// Streams of responses without gRPC: they follow the client's pace, tell
// stalls, and end.
#include <gmock/gmock.h>

#include "server/limits/byte_account.h"
#include "tests/server/calls/handlers_fixture.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

class GenerateHandlerTest : public HandlersTest {
 protected:
  void Start(uint32_t top_logprobs = 0) {
    v1::GenerateRequest request;
    request.mutable_input()->set_text("abcd");
    if (top_logprobs > 0) {
      request.mutable_decoding()->set_top_logprobs(top_logprobs);
    }
    transport_.Bring(request);
    CallContext context;
    context.held = held_;
    handler_ = NewGenerate(environment_, std::move(context), &transport_);
    handler_->Start();
  }
  void Say(const std::string& text) {
    for (const char c : text) {
      const int32_t id = PuppetTokenizer::kFirst + c;
      const float logprob = -1;
      batcher_.Wait(0).observer->OnTokens(0, std::span(&id, 1),
                                          std::span(&logprob, 1), {});
    }
  }
  std::string Text(size_t i) {
    return transport_.Response<v1::GenerateResponse>(i).piece().text();
  }

  ByteAccount account_;
  const std::shared_ptr<CallBytes> held_ =
      std::make_shared<CallBytes>(&account_);
};

TEST_F(GenerateHandlerTest, SlowClientsGetFewerLongerPieces) {
  Start();
  Say("a");
  EXPECT_EQ(Text(0), "a");
  Say("b");
  Say("c");
  WaitForDelivery();
  EXPECT_EQ(transport_.written(), 1);
  handler_->OnWritten(true);
  EXPECT_EQ(Text(1), "bc");
  batcher_.Answer(0);  // "abcd"
  WaitForDelivery();
  EXPECT_EQ(transport_.written(), 2);
  handler_->OnWritten(true);
  EXPECT_EQ(Text(2), "d");
  EXPECT_FALSE(transport_.finished());
  handler_->OnWritten(true);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_TRUE(transport_.Response<v1::GenerateResponse>(3).has_done());
}

TEST_F(GenerateHandlerTest, TokensWithAlternativesComeAsTheyAreMade) {
  Start(/*top_logprobs=*/1);
  EXPECT_TRUE(batcher_.Wait(0).stream);
  const int32_t id = PuppetTokenizer::kFirst + 'a';
  const float logprob = -1;
  const RequestObserver::TopLogprobs top = {{id, -1}};
  batcher_.Wait(0).observer->OnTokens(
      0, std::span(&id, 1), std::span(&logprob, 1), std::span(&top, 1));
  const auto first = transport_.Response<v1::GenerateResponse>(0);
  EXPECT_EQ(first.piece().text(), "a");
  ASSERT_EQ(first.piece().logprobs_size(), 1);
  EXPECT_EQ(first.piece().logprobs(0).token().logprob(), -1);
  EXPECT_EQ(first.piece().logprobs(0).alternatives_size(), 1);
  batcher_.Answer(0);
  handler_->OnWritten(true);
  WaitForDelivery();
  while (!transport_.finished()) {
    handler_->OnWritten(true);
    WaitForDelivery();
  }
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(GenerateHandlerTest, CountsTheBytesThatWaitForTheClient) {
  Start();
  Say("a");
  EXPECT_EQ(Text(0), "a");
  EXPECT_EQ(account_.total(), 0);
  batcher_.Answer(0);  // "abcd"
  WaitForDelivery();
  EXPECT_GT(account_.bytes(Held::kResults), 0);
  handler_->OnWritten(true);
  EXPECT_EQ(Text(1), "bcd");
  EXPECT_EQ(account_.bytes(Held::kResults), 0);
  // The last message waits for the write before it.
  EXPECT_GT(account_.bytes(Held::kOutbox), 0);
  handler_->OnWritten(true);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(account_.total(), 0);
}

TEST_F(GenerateHandlerTest, CallsOfStalledClientsAreBrokenOff) {
  Start();
  Say("a");
  EXPECT_EQ(Text(0), "a");
  Tick(environment_.limits.stall_timeout - absl::Milliseconds(20));
  Tick();
  transport_.WaitForBreakOff();
  EXPECT_TRUE(batcher_.Wait(0).cancellation->cancelled());
  handler_->OnWritten(false);
  Say("b");
  EXPECT_FALSE(transport_.finished());
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("cancelled"));
  EXPECT_THAT(transport_.WaitForFinish().status,
              IsError(absl::StatusCode::kCancelled, "30s"));
  EXPECT_EQ(transport_.written(), 1);
}

TEST_F(GenerateHandlerTest, TimeWithoutAWriteIsNoStall) {
  Start();
  Say("a");
  EXPECT_EQ(Text(0), "a");
  handler_->OnWritten(true);
  Tick(absl::Minutes(5));
  Tick();
  Say("b");
  EXPECT_EQ(Text(1), "b");
  handler_->OnWritten(true);
  EXPECT_FALSE(batcher_.Wait(0).cancellation->cancelled());
  batcher_.Wait(0).observer->OnDone(absl::InternalError("the engine failed"));
  EXPECT_EQ(transport_.WaitForFinish().status,
            absl::InternalError("the engine failed"));
}

TEST_F(GenerateHandlerTest, ACallWhoseClientDisconnectedIsCancelled) {
  Start();
  Say("a");
  EXPECT_EQ(Text(0), "a");
  handler_->OnWritten(false);
  EXPECT_TRUE(batcher_.Wait(0).cancellation->cancelled());
  batcher_.Answer(0);  // was faster than the cancellation
  EXPECT_TRUE(absl::IsCancelled(transport_.WaitForFinish().status));
  EXPECT_EQ(transport_.written(), 1);
}

class TranslateStreamHandlerTest : public HandlersTest {
 protected:
  void Start() {
    handler_ = NewTranslateStream(environment_, {}, &transport_);
    handler_->Start();
  }
  // Waits until the stream reads a message, and gives it this one.
  void Send(const v1::TranslateStreamRequest& message,
            absl::Status status = absl::OkStatus()) {
    transport_.WaitForReads(++sent_);
    transport_.Bring(message, std::move(status));
    handler_->OnRead(true);
  }
  void Open() {
    Start();
    v1::TranslateStreamRequest message;
    message.mutable_start();
    Send(message);
  }
  void SendItem(uint64_t id, const std::string& text) {
    v1::TranslateStreamRequest message;
    message.mutable_item()->set_id(std::to_string(id));
    message.mutable_item()->mutable_input()->set_text(text);
    Send(message);
  }
  void HalfClose() {
    transport_.WaitForReads(++sent_);
    handler_->OnRead(false);
  }
  v1::TranslateStreamResponse Response(size_t i) {
    return transport_.Response<v1::TranslateStreamResponse>(i);
  }

  int sent_ = 0;
};

TEST_F(TranslateStreamHandlerTest, AnItemOfSeveralSentencesIsOneResult) {
  Open();
  SendItem(10, "One.\n\nTwo. ");
  SendItem(20, " \n");
  EXPECT_EQ(Response(0).result().hypotheses(0).text(), " \n");
  handler_->OnWritten(true);
  HalfClose();
  batcher_.Answer(1);
  WaitForDelivery();
  EXPECT_EQ(transport_.written(), 1);
  batcher_.Answer(0);
  EXPECT_EQ(Response(1).id(), "10");
  EXPECT_EQ(Response(1).result().hypotheses(0).text(), "One.\n\nTwo. ");
  EXPECT_EQ(Response(1).result().sentence_count(), 2);
  handler_->OnWritten(true);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(TranslateStreamHandlerTest, AFailedSentenceFailsOnlyItsItem) {
  Open();
  SendItem(10, "One. Two.");
  HalfClose();
  batcher_.Wait(1).observer->OnDone(absl::InternalError("the engine failed"));
  WaitForDelivery();
  EXPECT_EQ(transport_.written(), 0);
  batcher_.Answer(0);
  EXPECT_EQ(Response(0).error().message(), "the engine failed");
  handler_->OnWritten(true);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(TranslateStreamHandlerTest, ResultsComeAsTheyFinishOneWriteAtATime) {
  Open();
  SendItem(10, "one");
  SendItem(20, "two");
  HalfClose();
  batcher_.Answer(1);
  EXPECT_EQ(Response(0).id(), "20");
  EXPECT_EQ(Response(0).result().hypotheses(0).text(), "two");
  batcher_.Answer(0);
  WaitForDelivery();
  EXPECT_EQ(transport_.written(), 1);
  handler_->OnWritten(true);
  EXPECT_EQ(Response(1).id(), "10");
  EXPECT_FALSE(transport_.finished());
  handler_->OnWritten(true);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(TranslateStreamHandlerTest, ReadsOnlyWhileThereIsRoom) {
  batcher_.set_free_tokens(0);
  Start();
  Tick();
  Tick();
  EXPECT_EQ(transport_.reads(), 0);
  batcher_.set_free_tokens(1 << 20);
  Tick();
  HalfClose();
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(TranslateStreamHandlerTest, ARefusedItemIsRetried) {
  Open();
  batcher_.Refuse(absl::ResourceExhaustedError("others were faster"));
  SendItem(1, "a");
  EXPECT_EQ(transport_.reads(), 2);  // it holds the item and reads no further
  batcher_.Refuse({});
  Tick();
  batcher_.Answer(0);
  EXPECT_EQ(Response(0).id(), "1");
  HalfClose();
  handler_->OnWritten(true);
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(TranslateStreamHandlerTest, ABadItemFailsAlone) {
  Open();
  v1::TranslateStreamRequest torn;
  torn.mutable_item()->set_id("7");
  Send(torn, absl::InvalidArgumentError("is torn"));
  EXPECT_EQ(Response(0).id(), "7");
  EXPECT_EQ(Response(0).error().message(), "is torn");
  handler_->OnWritten(true);
  Send(v1::TranslateStreamRequest(), absl::InvalidArgumentError("is noise"));
  EXPECT_EQ(transport_.WaitForFinish().status,
            absl::InvalidArgumentError("is noise"));
}

TEST_F(TranslateStreamHandlerTest, AnIdThatIsTooLongEndsTheStream) {
  Open();
  v1::TranslateStreamRequest message;
  message.mutable_item()->set_id(std::string(257, 'x'));
  Send(message);
  EXPECT_THAT(transport_.WaitForFinish().status,
              IsError(absl::StatusCode::kInvalidArgument, "item.id"));
}

TEST_F(TranslateStreamHandlerTest, ItemsThatWereReadAndNotAnsweredAreBounded) {
  Open();
  // A stream has at most 1024 items that are not answered.
  for (int i = 0; i < 1024; ++i) SendItem(i, "a");
  EXPECT_EQ(transport_.reads(), 1025);
  batcher_.Answer(0);
  EXPECT_EQ(Response(0).id(), "0");
  transport_.WaitForReads(1026);
  handler_->OnCancel();
  handler_->OnWritten(false);
  for (size_t i = 1; i < batcher_.count(); ++i) {
    EXPECT_FALSE(transport_.finished());
    batcher_.Wait(i).observer->OnDone(absl::CancelledError("cancelled"));
  }
  EXPECT_TRUE(absl::IsCancelled(transport_.WaitForFinish().status));
  EXPECT_EQ(transport_.written(), 1);
}

// The limit of bytes holds beside the limit of items, since an item keeps its
// text until it is answered.
TEST_F(TranslateStreamHandlerTest, TextsInFlightAreBoundedInBytes) {
  ByteAccount account;
  CallContext context;
  context.held = std::make_shared<CallBytes>(&account);
  handler_ = NewTranslateStream(environment_, std::move(context), &transport_);
  handler_->Start();
  v1::TranslateStreamRequest start;
  start.mutable_start()->mutable_options()->set_truncate(true);
  start.mutable_start()->mutable_options()->set_split(v1::SPLIT_NONE);
  Send(start);
  constexpr int64_t kBytes = 1'000'000;
  const std::string text(kBytes, 'a');
  for (int i = 0; i < 5; ++i) SendItem(i, text);
  batcher_.Wait(4);
  // The stream stops reading when it holds 4 MiB.
  EXPECT_EQ(transport_.reads(), 6);
  EXPECT_GT(account.bytes(Held::kRequests), 5 * kBytes);
  batcher_.Answer(0);
  EXPECT_EQ(Response(0).id(), "0");
  transport_.WaitForReads(7);
  EXPECT_LT(account.bytes(Held::kRequests), 4 * kBytes + 1000);
  handler_->OnWritten(true);
  for (int i = 1; i < 5; ++i) {
    batcher_.Answer(i);
    EXPECT_EQ(Response(i).id(), std::to_string(i));
    handler_->OnWritten(true);
  }
  EXPECT_LT(account.bytes(Held::kRequests), 100);
  HalfClose();
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
}

TEST_F(TranslateStreamHandlerTest, StreamsOfStalledClientsAreBrokenOff) {
  Open();
  SendItem(1, "a");
  batcher_.Answer(0);
  EXPECT_EQ(Response(0).id(), "1");
  Tick(environment_.limits.stall_timeout);
  Tick();
  transport_.WaitForBreakOff();
  EXPECT_FALSE(transport_.finished());
  handler_->OnWritten(false);
  EXPECT_THAT(transport_.WaitForFinish().status,
              IsError(absl::StatusCode::kCancelled, "30s"));
}

TEST_F(TranslateStreamHandlerTest, EndsAtItsDeadline) {
  Open();
  Tick(environment_.limits.default_stream_deadline);
  Tick();
  EXPECT_TRUE(absl::IsDeadlineExceeded(transport_.WaitForFinish().status));
}

TEST_F(TranslateStreamHandlerTest, DrainingAnswersWhatWasRead) {
  Open();
  SendItem(1, "a");
  calls_.Drain(absl::ZeroDuration());
  EXPECT_FALSE(transport_.finished());
  batcher_.Answer(0);
  EXPECT_EQ(Response(0).result().hypotheses(0).text(), "a");
  handler_->OnWritten(true);
  EXPECT_TRUE(absl::IsUnavailable(transport_.WaitForFinish().status));
}

}  // namespace
}  // namespace trivium
