#include <gmock/gmock.h>

#include <map>
#include <thread>

#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using Stream = grpc::ClientReaderWriter<v1::TranslateStreamRequest,
                                        v1::TranslateStreamResponse>;

class TranslateStreamTest : public RpcTest {
 protected:
  void Open(const v1::TranslateStreamRequest::Start& start = {}) {
    context_ = Context();
    stream_ = stub_->TranslateStream(context_.get());
    v1::TranslateStreamRequest message;
    *message.mutable_start() = start;
    stream_->Write(message);
  }

  bool Send(uint64_t id, const std::string& text) {
    v1::TranslateStreamRequest message;
    message.mutable_item()->set_id(std::to_string(id));
    message.mutable_item()->mutable_input()->set_text(text);
    return stream_->Write(message);
  }

  // Reads `count` results, or all.
  void Read(size_t count = SIZE_MAX) {
    v1::TranslateStreamResponse message;
    while (count-- > 0 && stream_->Read(&message)) {
      EXPECT_FALSE(heard_.contains(std::stoull(message.id())))
          << "answered twice";
      heard_[std::stoull(message.id())] = message;
    }
  }

  std::string Text(uint64_t id) {
    return heard_[id].result().hypotheses(0).text();
  }

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<Stream> stream_;
  std::map<uint64_t, v1::TranslateStreamResponse> heard_;
};

TEST_F(TranslateStreamTest, AnswersEveryItemThenEnds) {
  Open();
  for (int i = 0; i < 200; ++i) Send(i + 1000, "text " + std::to_string(i));
  Send(5, "");
  stream_->WritesDone();
  Read();
  EXPECT_TRUE(stream_->Finish().ok());
  ASSERT_EQ(heard_.size(), 201);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(Text(i + 1000), "text " + std::to_string(i));
  }
  EXPECT_EQ(Text(5), "");
  EXPECT_EQ(Trailer(*context_, "x-request-id").size(), 32);
}

TEST_F(TranslateStreamTest, AnswersBeforeTheClientHasSaidAll) {
  Open();
  Send(1, "one");
  Read(1);
  EXPECT_EQ(Text(1), "one");
  Send(2, "two");
  stream_->WritesDone();
  Read();
  EXPECT_EQ(Text(2), "two");
  EXPECT_TRUE(stream_->Finish().ok());
}

TEST_F(TranslateStreamTest, ABadItemFailsAlone) {
  v1::TranslateStreamRequest::Start start;
  start.mutable_options()->set_split(v1::SPLIT_NONE);
  Open(start);
  Send(1, std::string(100, 'x'));  // too long for the model
  Send(2, "fine");
  Send(3, std::string(5000, 'x'));  // tokenized on the pool
  Send(4, "fine, too");
  stream_->WritesDone();
  Read();
  EXPECT_TRUE(stream_->Finish().ok());
  EXPECT_EQ(heard_[1].error().code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(heard_[1].error().message(), ErrorAt("item.input"));
  EXPECT_EQ(heard_[3].error().code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(Text(2), "fine");
  EXPECT_EQ(Text(4), "fine, too");
}

TEST_F(TranslateStreamTest, AnItemTheBatcherFailsFailsAlone) {
  batcher_->Fail(absl::InternalError("the engine failed"));
  Open();
  Send(1, "ab");
  Read(1);
  EXPECT_EQ(heard_[1].error().code(), grpc::INTERNAL);
  batcher_->Fail(absl::OkStatus());
  Send(2, "cd");
  stream_->WritesDone();
  Read();
  EXPECT_EQ(Text(2), "cd");
  EXPECT_TRUE(stream_->Finish().ok());
}

TEST_F(TranslateStreamTest, AFullQueueOnlySlowsTheStream) {
  batcher_->set_free_tokens(0);
  Open();
  std::thread writer([this] {
    for (int i = 1; i <= 20; ++i) Send(i, "text");
    stream_->WritesDone();
  });
  // A ListModels that comes back shows that the server is alive meanwhile.
  v1::ListModelsResponse models;
  EXPECT_TRUE(models_->ListModels(Context().get(), {}, &models).ok());
  EXPECT_TRUE(batcher_->submitted().empty());
  batcher_->set_free_tokens(1 << 20);
  Read();
  writer.join();
  EXPECT_EQ(heard_.size(), 20);
  EXPECT_TRUE(stream_->Finish().ok());
}

TEST_F(TranslateStreamTest, ARefusedItemIsTriedAgain) {
  batcher_->Refuse(absl::ResourceExhaustedError("others were faster"));
  Open();
  Send(1, "text");
  stream_->WritesDone();
  while (batcher_->refused() < 2) std::this_thread::yield();
  batcher_->Refuse(absl::OkStatus());
  Read();
  EXPECT_EQ(Text(1), "text");
  EXPECT_TRUE(stream_->Finish().ok());
}

TEST_F(TranslateStreamTest, AnInvalidBeginningEndsTheStream) {
  v1::TranslateStreamRequest::Start start;
  start.set_model("nobody");
  Open(start);
  Read();
  EXPECT_EQ(stream_->Finish().error_code(), grpc::NOT_FOUND);

  start.Clear();
  start.mutable_options()->mutable_decoding()->set_beam_size(99);
  Open(start);
  Read();
  EXPECT_EQ(BadField(stream_->Finish()), "start.options.decoding.beam_size");

  context_ = Context();
  stream_ = stub_->TranslateStream(context_.get());
  Send(1, "an item first");
  Read();
  EXPECT_EQ(BadField(stream_->Finish()), "start");

  Open();
  stream_->Write(v1::TranslateStreamRequest());  // neither start nor item
  Read();
  EXPECT_EQ(BadField(stream_->Finish()), "message");
  EXPECT_TRUE(heard_.empty());
}

TEST_F(TranslateStreamTest, AnEmptyStreamEndsWithoutAnError) {
  context_ = Context();
  stream_ = stub_->TranslateStream(context_.get());
  stream_->WritesDone();
  Read();
  EXPECT_TRUE(stream_->Finish().ok());
}

TEST_F(TranslateStreamTest, CancellationDropsRunningItems) {
  batcher_->Hold();
  Open();
  for (int i = 0; i < 3; ++i) Send(i, "text");
  batcher_->WaitForSubmitted(3);
  context_->TryCancel();
  EXPECT_EQ(stream_->Finish().error_code(), grpc::CANCELLED);
  batcher_->WaitForDropped(3);
}

TEST_F(TranslateStreamTest, TheStreamEndsAtItsDeadline) {
  options_.limits.default_stream_deadline = absl::Milliseconds(50);
  StartServer();
  grpc::ClientContext context;
  auto stream = stub_->TranslateStream(&context);
  v1::TranslateStreamRequest message;
  message.mutable_start();
  stream->Write(message);
  v1::TranslateStreamResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::DEADLINE_EXCEEDED);
}

TEST_F(TranslateStreamTest, StalledReadersAreCancelled) {
  options_.limits.stall_timeout = absl::Milliseconds(50);
  StartServer();
  v1::TranslateStreamRequest::Start start;
  start.mutable_options()->set_tokens(true);
  start.mutable_options()->mutable_decoding()->set_num_hypotheses(2);
  Open(start);
  // Unread results, more than HTTP/2's window (which may grow) and gRPC's
  // buffers hold.
  constexpr int kMany = 200'000;
  for (int i = 0; i < kMany && Send(i, std::string(60, 'x')); ++i) {
  }
  Read();  // the status follows the messages in the client's buffers
  EXPECT_EQ(stream_->Finish().error_code(), grpc::CANCELLED);
  // The items that were read and not answered stay bounded meanwhile.
  EXPECT_LT(batcher_->submitted().size(), kMany);
}

TEST_F(TranslateStreamTest, DrainingAnswersRunningItemsAndEndsTheStream) {
  batcher_->Hold();
  Open();
  Send(1, "text");
  batcher_->WaitForSubmitted(1);
  std::thread drain([this] { EXPECT_TRUE(server_->Drain()); });
  // New calls are refused once the drain has begun.
  grpc::Status status;
  do {
    v1::ListModelsResponse models;
    status = models_->ListModels(Context().get(), {}, &models);
  } while (status.ok());
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE);
  batcher_->Release();
  Read();
  EXPECT_EQ(Text(1), "text");
  EXPECT_EQ(stream_->Finish().error_code(), grpc::UNAVAILABLE);
  drain.join();
}

}  // namespace
}  // namespace trivium
