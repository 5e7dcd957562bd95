// A decoder's attention to a prompt and its answer, as Generate returns it.
#include "server/limits/byte_account.h"
#include "tests/server/calls/handlers_fixture.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using testing::AllOf;
using testing::ElementsAre;

class DecoderAttentionTest : public HandlersTest {
 protected:
  // Serves "decoder", which has 2 layers of 4 heads.
  DecoderAttentionTest() {
    auto model = std::make_unique<PuppetModel>(Design::kDecoder);
    model->mutable_info().max_target_tokens = 4096;
    model->mutable_decoding().max_new_tokens = 4095;
    model->mutable_decoding().beam_size = 1;
    Serve("decoder", std::move(model));
  }

  void Serve(const std::string& name, std::unique_ptr<PuppetModel> model) {
    const ModelHandle served = ServedPuppet(name, std::move(model));
    metrics_.AddModel(*served);
    ASSERT_TRUE(environment_.models.Add(served).ok());
  }

  // Asks for the maps of a prompt of four tokens and its answer.
  static v1::GenerateRequest Ask(uint32_t new_tokens) {
    v1::GenerateRequest request;
    request.set_model("decoder");
    request.mutable_input()->set_text("abc");
    request.mutable_decoding()->set_max_new_tokens(new_tokens);
    request.mutable_decoder_attention();
    return request;
  }

  void Start(const v1::GenerateRequest& request, CallContext context = {}) {
    transport_.Bring(request);
    handler_ = NewGenerate(environment_, std::move(context), &transport_);
    handler_->Start();
    WaitFor(&tokenizing_);
  }

  // A result with these tokens in each hypothesis. A map's weights count up
  // from 0, so that a weight tells its place.
  static RequestResult Answer(const std::vector<std::vector<int32_t>>& draws,
                              int layers, int heads) {
    RequestResult result;
    for (const std::vector<int32_t>& ids : draws) {
      Hypothesis& hypothesis = result.hypotheses.emplace_back();
      hypothesis.ids = ids;
      hypothesis.logprobs.resize(ids.size());
      hypothesis.reason = FinishReason::kEnd;
      const int read = 4 + static_cast<int>(ids.size()) - 1;
      AttentionMap& map = result.decoder_attention.emplace_back();
      map.layers = layers;
      map.heads = heads;
      map.queries = map.keys = read;
      for (int i = 0; i < layers * heads * read * read; ++i) {
        map.weights.push_back(static_cast<float>(i));
      }
    }
    return result;
  }

  // The last message of each hypothesis. Lets the stream write to its end.
  std::vector<v1::GenerateResponse::Done> Dones() {
    std::vector<v1::GenerateResponse::Done> dones;
    for (size_t i = 0;; ++i) {
      const auto response = transport_.Response<v1::GenerateResponse>(i);
      if (response.has_done()) dones.push_back(response.done());
      WaitForDelivery();
      if (!transport_.finished()) {
        handler_->OnWritten(true);
      } else if (i + 1 == transport_.written()) {
        return dones;
      }
    }
  }

  // The status of a call that ends before its request is at the batcher.
  absl::Status Refusal(const v1::GenerateRequest& request) {
    FakeTransport transport;
    transport.Bring(request);
    const auto handler = NewGenerate(environment_, {}, &transport);
    handler->Start();
    WaitFor(&tokenizing_);
    if (!transport.finished()) {
      ADD_FAILURE() << "was not refused";
      return absl::OkStatus();
    }
    return transport.WaitForFinish().status;
  }
};

TEST_F(DecoderAttentionTest, TheLastMessageOfEachDrawHasItsMaps) {
  v1::GenerateRequest ask = Ask(2);
  ask.mutable_decoding()->set_num_hypotheses(2);
  ask.mutable_decoding()->set_sample(true);
  ask.mutable_decoder_attention()->add_layers(1);
  ask.mutable_decoder_attention()->add_rows(4);
  ask.mutable_decoder_attention()->add_rows(0);
  Start(ask);
  const Request& request = batcher_.Wait(0);
  ASSERT_TRUE(request.decoder_attention);
  EXPECT_THAT(request.decoder_attention->layers, ElementsAre(1));
  EXPECT_TRUE(request.prefix_attention);
  EXPECT_FALSE(request.cross_attention);
  const int32_t a = PuppetTokenizer::kFirst + 'a';
  request.observer->OnDone(
      Answer({{a, PuppetTokenizer::kEnd}, {PuppetTokenizer::kEnd}}, 1, 2));
  const auto dones = Dones();
  ASSERT_EQ(dones.size(), 2u);
  // Five tokens were read: row 0 and row 4 of both heads.
  const v1::Attention& first = dones[0].decoder_attention();
  EXPECT_EQ(first.layer_count(), 1u);
  EXPECT_EQ(first.head_count(), 2u);
  EXPECT_EQ(first.query_count(), 2u);
  EXPECT_EQ(first.key_count(), 5u);
  EXPECT_THAT(first.weights(),
              ElementsAre(0, 1, 2, 3, 4, 20, 21, 22, 23, 24,  //
                          25, 26, 27, 28, 29, 45, 46, 47, 48, 49));
  // The other answer ended at once, so it has no row 4.
  EXPECT_EQ(dones[1].decoder_attention().query_count(), 1u);
  EXPECT_EQ(dones[1].decoder_attention().key_count(), 4u);
}

TEST_F(DecoderAttentionTest, MapsAreReturnedOnlyIfAskedFor) {
  v1::GenerateRequest ask = Ask(2);
  ask.clear_decoder_attention();
  Start(ask);
  EXPECT_FALSE(batcher_.Wait(0).decoder_attention);
  EXPECT_FALSE(batcher_.Wait(0).prefix_attention);
  RequestResult result = Answer({{PuppetTokenizer::kEnd}}, 0, 0);
  result.decoder_attention.clear();
  batcher_.Wait(0).observer->OnDone(std::move(result));
  const auto dones = Dones();
  ASSERT_EQ(dones.size(), 1u);
  EXPECT_FALSE(dones[0].has_decoder_attention());
}

// The largest size that the maps may have is checked before the model runs.
TEST_F(DecoderAttentionTest, RefusesMapsLargerThanTheServerSends) {
  // 2 layers of 4 heads, 4 + n - 1 tokens squared, 4 bytes each.
  environment_.limits.max_response_bytes = 2 * 4 * 20 * 20 * 4;
  EXPECT_THAT(Refusal(Ask(18)), AllOf(InvalidAt("14112"), InvalidAt("12800")));
  v1::GenerateRequest two = Ask(17);
  two.mutable_decoding()->set_num_hypotheses(2);
  two.mutable_decoding()->set_sample(true);
  EXPECT_THAT(Refusal(two), InvalidAt("25600"));
  // Without max_new_tokens the answer may be as long as the model's default.
  v1::GenerateRequest open = Ask(1);
  open.mutable_decoding()->clear_max_new_tokens();
  EXPECT_THAT(Refusal(open), InvalidAt("12800"));
  // Rows that are not sent count, too: they are computed.
  open.mutable_decoder_attention()->add_rows(0);
  EXPECT_THAT(Refusal(open), InvalidAt("12800"));
  EXPECT_EQ(batcher_.count(), 0u);
  Start(Ask(17));
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("enough"));
  transport_.WaitForFinish();
}

TEST_F(DecoderAttentionTest, MapsAreAccountedWhileTheyWait) {
  ByteAccount account;
  CallContext context;
  context.held = std::make_shared<CallBytes>(&account);
  Start(Ask(2), context);
  const int32_t a = PuppetTokenizer::kFirst + 'a';
  batcher_.Wait(0).observer->OnDone(Answer({{a, PuppetTokenizer::kEnd}}, 2, 4));
  WaitForDelivery();
  // The text is on its way, and the last message waits.
  EXPECT_EQ(account.bytes(Held::kResults), 0);
  EXPECT_GT(account.bytes(Held::kOutbox), 2 * 4 * 5 * 5 * 4);
  EXPECT_EQ(Dones().size(), 1u);
  EXPECT_EQ(account.bytes(Held::kOutbox), 0);
}

TEST_F(DecoderAttentionTest, RefusesMapsThatTheModelDoesNotHave) {
  v1::GenerateRequest ask = Ask(2);
  ask.mutable_decoder_attention()->add_layers(2);
  EXPECT_THAT(Refusal(ask), InvalidAt("decoder_attention.layers[0]"));
  ask = Ask(2);
  ask.mutable_decoder_attention()->add_heads(0);
  ask.mutable_decoder_attention()->add_heads(0);
  EXPECT_THAT(Refusal(ask), InvalidAt("decoder_attention.heads"));
  auto recurrent = std::make_unique<PuppetModel>();
  recurrent->mutable_info().recurrent_decoder = true;
  Serve("recurrent", std::move(recurrent));
  ask = Ask(2);
  ask.set_model("recurrent");
  EXPECT_THAT(Refusal(ask), InvalidAt("decoder_attention: "));
}

// In a model with an encoder, the target prefix is mapped as a prompt is.
TEST_F(DecoderAttentionTest, ATargetPrefixIsMappedToo) {
  v1::GenerateRequest ask = Ask(2);
  ask.set_model("translator");
  ask.mutable_input()->set_target_prefix("xy");
  Start(ask);
  const Request& request = batcher_.Wait(0);
  EXPECT_EQ(request.prefix.size(), 3u);
  EXPECT_TRUE(request.prefix_attention);
  request.observer->OnDone(absl::CancelledError("enough"));
  transport_.WaitForFinish();
}

}  // namespace
}  // namespace trivium
