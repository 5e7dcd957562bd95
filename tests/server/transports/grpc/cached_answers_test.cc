#include "tests/server/transports/grpc/rpc_fixture.h"

namespace trivium {
namespace {

// The calls over a batcher with a result cache.
class RpcResultCacheTest : public RpcTest {
 protected:
  RpcResultCacheTest() { result_cache_bytes_ = 1 << 20; }
};

TEST_F(RpcResultCacheTest, TranslateAsksTheModelOnce) {
  v1::TranslateRequest request = TextsRequest({"one", "two", "", "one"});
  v1::TranslateResponse first, second;
  ASSERT_TRUE(Translate(request, &first).ok());
  const size_t asked = batcher_->submitted().size();
  EXPECT_EQ(asked, 3u);
  ASSERT_TRUE(Translate(request, &second).ok());
  EXPECT_EQ(batcher_->submitted().size(), asked);
  ASSERT_EQ(second.results_size(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(second.results(i).SerializeAsString(),
              first.results(i).SerializeAsString());
  }
  // A part of a call may be cached.
  request = TextsRequest({"one", "three"});
  ASSERT_TRUE(Translate(request, &second).ok());
  EXPECT_EQ(second.results(0).hypotheses(0).text(), "one");
  EXPECT_EQ(second.results(1).hypotheses(0).text(), "three");
  EXPECT_EQ(batcher_->submitted().size(), asked + 1);
  // Another option needs another answer.
  request.mutable_options()->mutable_decoding()->set_beam_size(3);
  ASSERT_TRUE(Translate(request, &second).ok());
  EXPECT_EQ(batcher_->submitted().size(), asked + 3);
  const std::string text = metrics_->Text();
  for (const char* line :
       {"trivium_result_cache_hits_total{model=\"translator\"} 4\n",
        "trivium_result_cache_misses_total{model=\"translator\"} 6\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST_F(RpcResultCacheTest, StreamsAnswerWhatIsKnown) {
  for (int round = 0; round < 2; ++round) {
    const auto context = Context();
    const auto stream = stub_->TranslateStream(context.get());
    v1::TranslateStreamRequest message;
    message.mutable_start();
    stream->Write(message);
    for (int i = 0; i < 50; ++i) {
      // Text without letters is not asked.
      const std::string text = "text " + std::to_string(i);
      message.mutable_item()->set_id(text);
      message.mutable_item()->mutable_input()->set_text(text);
      stream->Write(message);
    }
    stream->WritesDone();
    int heard = 0;
    v1::TranslateStreamResponse answer;
    while (stream->Read(&answer)) {
      ++heard;
      EXPECT_EQ(answer.result().hypotheses(0).text(), answer.id());
    }
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_EQ(heard, 50);
    EXPECT_EQ(batcher_->submitted().size(), 50u);
  }
}

TEST_F(RpcResultCacheTest, GenerateGivesTheSamePiecesJoined) {
  v1::GenerateRequest request;
  request.mutable_input()->set_text("Grüße — 你好");
  for (int round = 0; round < 2; ++round) {
    const auto context = Context();
    const auto reader = stub_->Generate(context.get(), request);
    std::string text;
    int done = 0;
    v1::GenerateResponse message;
    while (reader->Read(&message)) {
      text += message.piece().text();
      done += message.has_done();
    }
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_EQ(text, "Grüße — 你好");
    EXPECT_EQ(done, 1);
    EXPECT_EQ(batcher_->submitted().size(), 1u);
  }
}

TEST_F(RpcResultCacheTest, GetModelTellsItsSize) {
  v1::Model model;
  ASSERT_TRUE(models_->GetModel(Context().get(), {}, &model).ok());
  EXPECT_EQ(model.result_cache_bytes(), 1u << 20);
  result_cache_bytes_ = 0;
  StartServer();
  ASSERT_TRUE(models_->GetModel(Context().get(), {}, &model).ok());
  EXPECT_EQ(model.result_cache_bytes(), 0u);
}

}  // namespace
}  // namespace trivium
