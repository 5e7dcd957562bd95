#include <gmock/gmock.h>

#include <map>

#include "base/utf8.h"
#include "tests/server/transports/grpc/rpc_fixture.h"

namespace trivium {
namespace {

class GenerateTest : public RpcTest {
 protected:
  // The pieces and ends that came, by index.
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
  // The default is all that the model has left, not what a translation needs.
  EXPECT_EQ(batcher_->submitted()[0].decoding->max_new_tokens, 127);
}

TEST_F(GenerateTest, EveryDrawEndsWithItsOwnMessage) {
  v1::GenerateRequest request = TextRequest("draws");
  request.mutable_decoding()->set_sample(true);
  request.mutable_decoding()->set_num_hypotheses(3);
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

TEST_F(GenerateTest, NoPartOfAStopStringIsSent) {
  v1::GenerateRequest request = TextRequest("aab aabaac. rest");
  request.mutable_decoding()->add_stop("aabaac");
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(heard_[0].text, "aab ");
  EXPECT_EQ(heard_[0].done->finish_reason(), v1::FINISH_REASON_STOP);
  // Text that was held back and did not become a stop string is sent in the
  // end.
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

// Calls to a model without an encoder. The puppet answers with the prompt.
class PromptTest : public GenerateTest {
 protected:
  void AddParts(Server::Parts* parts) override {
    auto model = std::make_unique<PuppetModel>(Design::kDecoder);
    model->mutable_decoding().max_new_tokens = 20;
    model->mutable_decoding().beam_size = 1;
    parts->models.push_back(ServedPuppet("decoder", std::move(model)));
  }

  static v1::GenerateRequest Prompt(const std::string& text) {
    v1::GenerateRequest request = TextRequest(text);
    request.set_model("decoder");
    return request;
  }
};

TEST_F(PromptTest, TheInputIsThePrefix) {
  ASSERT_TRUE(Generate(Prompt("Grüße")).ok());
  EXPECT_EQ(heard_[0].text, "Grüße");
  ASSERT_TRUE(heard_[0].done);
  EXPECT_EQ(heard_[0].done->source_token_count(), 8);
  const Request request = batcher_->submitted()[0];
  EXPECT_TRUE(request.source.ids.empty());
  EXPECT_EQ(request.prefix.size(), 8);
  EXPECT_FALSE(request.cross_attention);

  v1::GenerateRequest ids;
  ids.set_model("decoder");
  ids.mutable_input()->mutable_ids()->add_ids(4 + 'x');
  ASSERT_TRUE(Generate(ids).ok());
  EXPECT_EQ(heard_[0].text, "x");
  // Blank text is a prompt like any other.
  ASSERT_TRUE(Generate(Prompt(" ")).ok());
  EXPECT_EQ(batcher_->submitted().size(), 3);
}

// The prompt may end inside a character that the first new token completes.
TEST_F(PromptTest, ACharacterMayBeginInThePrompt) {
  v1::GenerateRequest request;
  request.set_model("decoder");
  for (const int byte : {0xbc, 0x61, 0xc3}) {
    request.mutable_input()->mutable_ids()->add_ids(4 + byte);
  }
  request.mutable_decoding()->set_max_new_tokens(2);
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(heard_[0].text, "üa");
}

TEST_F(PromptTest, NewTokensAreBoundedByWhatThePromptLeaves) {
  v1::GenerateRequest request = Prompt(std::string(99, 'a'));
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(batcher_->submitted()[0].decoding->max_new_tokens, 20);
  request = Prompt(std::string(117, 'a'));
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(batcher_->submitted()[1].decoding->max_new_tokens, 10);
  // The default of the model's folder is not an upper bound.
  request = Prompt("a");
  request.mutable_decoding()->set_max_new_tokens(126);
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(batcher_->submitted()[2].decoding->max_new_tokens, 126);
  request.mutable_decoding()->set_max_new_tokens(127);
  EXPECT_EQ(BadField(Generate(request)), "input");
  EXPECT_EQ(BadField(Generate(Prompt(std::string(127, 'a')))), "input");
  request = Prompt(std::string(127, 'a'));
  request.set_truncate(true);
  ASSERT_TRUE(Generate(request).ok());
  EXPECT_EQ(heard_[0].done->truncated_tokens(), 1);
}

TEST_F(PromptTest, RefusesCallsAndOptionsThatNeedAnEncoder) {
  v1::GenerateRequest request = Prompt("a");
  request.mutable_input()->set_target_prefix("b");
  EXPECT_EQ(BadField(Generate(request)), "input.target_prefix");
  request.mutable_input()->mutable_target_prefix_ids()->add_ids(5);
  EXPECT_EQ(BadField(Generate(request)), "input.target_prefix_ids");
  request = Prompt("");
  request.mutable_input()->mutable_pair()->set_first("a");
  EXPECT_EQ(BadField(Generate(request)), "input.pair");
  request = Prompt("");
  request.mutable_input()->mutable_ids();
  EXPECT_EQ(BadField(Generate(request)), "input");
  EXPECT_TRUE(batcher_->submitted().empty());

  v1::TranslateRequest translate = TextsRequest({"ab"});
  translate.set_model("decoder");
  v1::TranslateResponse translated;
  EXPECT_EQ(Translate(translate, &translated).error_code(),
            grpc::FAILED_PRECONDITION);
  v1::EncodeRequest encode;
  encode.set_model("decoder");
  encode.add_inputs()->set_text("a");
  v1::EncodeResponse encoded;
  EXPECT_EQ(stub_->Encode(Context().get(), encode, &encoded).error_code(),
            grpc::FAILED_PRECONDITION);
  v1::GetModelRequest get;
  get.set_name("decoder");
  v1::Model model;
  ASSERT_TRUE(models_->GetModel(Context().get(), get, &model).ok());
  EXPECT_EQ(model.design(), v1::DESIGN_DECODER);
  EXPECT_THAT(model.calls(), testing::ElementsAre("Generate", "Score",
                                                  "Tokenize", "Detokenize"));
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

TEST_F(GenerateTest, CallsOfVanishedClientsAreDropped) {
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
