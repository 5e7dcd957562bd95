#include <gmock/gmock.h>

#include <map>

#include "base/utf8.h"
#include "tests/server/rpc/rpc_fixture.h"

namespace trivium {
namespace {

using testing::HasSubstr;

class GenerateTest : public RpcTest {
 protected:
  // What came, by index.
  struct Heard {
    std::string text;
    std::vector<uint32_t> ids;
    int pieces = 0;
    int logprobs = 0;
    std::optional<v1::GenerateResponse::Done> done;
  };

  static v1::GenerateRequest TextRequest(const std::string& text) {
    v1::GenerateRequest request;
    request.mutable_input()->set_text(text);
    return request;
  }

  grpc::Status Generate(const v1::GenerateRequest& request) {
    heard_.clear();
    const auto context = Context();
    auto reader = stub_->Generate(context.get(), request);
    v1::GenerateResponse message;
    while (reader->Read(&message)) {
      Heard& heard = heard_[message.index()];
      EXPECT_FALSE(heard.done) << "something came after Done";
      if (message.has_done()) heard.done = message.done();
      if (!message.has_piece()) continue;
      EXPECT_TRUE(IsUtf8(message.piece().text()));
      heard.text += message.piece().text();
      heard.ids.insert(heard.ids.end(), message.piece().ids().begin(),
                       message.piece().ids().end());
      heard.logprobs += message.piece().logprobs_size();
      ++heard.pieces;
    }
    return reader->Finish();
  }

  std::map<uint32_t, Heard> heard_;
};

TEST_F(GenerateTest, PiecesJoinedAreTheText) {
  const std::string text = "Grüße — 你好 👋";
  ASSERT_TRUE(Generate(TextRequest(text)).ok());
  ASSERT_EQ(heard_.size(), 1);
  EXPECT_EQ(heard_[0].text, text);
  EXPECT_TRUE(heard_[0].ids.empty());
  ASSERT_TRUE(heard_[0].done);
  EXPECT_EQ(heard_[0].done->finish_reason(), v1::FINISH_REASON_END);
  EXPECT_EQ(heard_[0].done->token_count(), text.size() + 1);
  EXPECT_EQ(heard_[0].done->source_token_count(), text.size() + 1);
  EXPECT_EQ(heard_[0].done->model().name(), "translator");
  EXPECT_FALSE(heard_[0].done->has_seed());
  // All that the model has left, not what a translation would need.
  EXPECT_EQ(batcher_->submitted()[0].decoding->max_new_tokens, 127);
}

TEST_F(GenerateTest, EveryDrawIsDone) {
  v1::GenerateRequest request = TextRequest("draws");
  request.mutable_decoding()->set_sample(true);
  request.mutable_decoding()->set_hypotheses(3);
  request.mutable_decoding()->set_seed(42);
  request.set_tokens(true);
  ASSERT_TRUE(Generate(request).ok());
  ASSERT_EQ(heard_.size(), 3);
  for (const auto& [index, heard] : heard_) {
    EXPECT_EQ(heard.text, "draws");
    EXPECT_EQ(heard.ids.size(), 6);
    ASSERT_TRUE(heard.done);
    EXPECT_EQ(heard.done->seed(), 42);
  }
}

TEST_F(GenerateTest, NothingOfAStopStringIsEverSaid) {
  v1::GenerateRequest request = TextRequest("aab aabaac. rest");
  request.mutable_decoding()->add_stop("aabaac");
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(heard_[0].text, "aab ");
  EXPECT_EQ(heard_[0].done->finish_reason(), v1::FINISH_REASON_STOP);
  // What was held back and did not become one is said in the end.
  request = TextRequest("xxaaba");
  request.mutable_decoding()->add_stop("aabaac");
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(heard_[0].text, "xxaaba");
  EXPECT_EQ(heard_[0].done->finish_reason(), v1::FINISH_REASON_END);
}

TEST_F(GenerateTest, LogprobsComeForEveryToken) {
  v1::GenerateRequest request = TextRequest("abc");
  request.mutable_decoding()->set_top_logprobs(1);
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(heard_[0].text, "abc");
  EXPECT_EQ(heard_[0].logprobs, 4);
}

TEST_F(GenerateTest, BlankTextIsDoneAtOnce) {
  ASSERT_TRUE(Generate(TextRequest("  ")).ok());
  EXPECT_EQ(heard_[0].pieces, 0);
  ASSERT_TRUE(heard_[0].done);
  EXPECT_TRUE(batcher_->submitted().empty());
  // With a prefix there is something to continue.
  v1::GenerateRequest request = TextRequest("  ");
  request.mutable_input()->set_target_prefix("a");
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(batcher_->submitted().size(), 1);
}

TEST_F(GenerateTest, WithoutTokenizerIdsAreTheAnswer) {
  v1::GenerateRequest request;
  request.set_model("ids");
  request.mutable_input()->mutable_ids()->add_ids(9);
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(heard_[0].text, "");
  EXPECT_THAT(heard_[0].ids, testing::ElementsAre(9));
  request.mutable_decoding()->add_stop("x");
  EXPECT_EQ(Generate(request).error_code(), grpc::FAILED_PRECONDITION);
}

TEST_F(GenerateTest, ErrorsNameTheField) {
  v1::GenerateRequest request = TextRequest("a");
  request.mutable_decoding()->set_temperature(-1);
  EXPECT_EQ(BadField(Generate(request)), "decoding.temperature");
  request.mutable_decoding()->Clear();
  request.mutable_decoding()->set_beam_size(2);
  request.mutable_decoding()->set_trace(true);
  EXPECT_EQ(BadField(Generate(request)), "decoding.trace");
  EXPECT_EQ(BadField(Generate(v1::GenerateRequest())), "input");
  request = TextRequest("a");
  request.set_source_language("fr");
  EXPECT_EQ(BadField(Generate(request)), "source_language");
  request = TextRequest("a");
  request.set_model("encoder");
  EXPECT_EQ(Generate(request).error_code(), grpc::FAILED_PRECONDITION);
  batcher_->Refuse(absl::ResourceExhaustedError("full"));
  EXPECT_EQ(Generate(TextRequest("a")).error_code(), grpc::RESOURCE_EXHAUSTED);
}

TEST_F(GenerateTest, FailuresEndTheStream) {
  batcher_->Fail(absl::DeadlineExceededError("too late"));
  EXPECT_EQ(Generate(TextRequest("a")).error_code(), grpc::DEADLINE_EXCEEDED);
}

TEST_F(GenerateTest, CancellationReachesTheBatcher) {
  batcher_->Hold();
  auto context = Context();
  auto reader = stub_->Generate(context.get(), TextRequest("abc"));
  batcher_->WaitForSubmitted(1);
  context->TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::CANCELLED);
  batcher_->WaitForDropped(1);
}

TEST_F(GenerateTest, VanishedClientsAreForgotten) {
  batcher_->Hold();
  auto context = Context();
  auto reader = stub_->Generate(context.get(), TextRequest("abc"));
  batcher_->WaitForSubmitted(1);
  context->TryCancel();
  reader.reset();
  context.reset();
  batcher_->WaitForDropped(1);
}

}  // namespace
}  // namespace trivium
