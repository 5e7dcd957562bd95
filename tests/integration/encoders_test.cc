// Tests encoders with a real server. Inputs are ids, since the goldens' models
// have no tokenizers.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/golden_values.h"
#include "tests/integration/server_process.h"

namespace trivium {
namespace {

class EncodersTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> flags = {"--precision", "f32"};
    for (const char* name : {"bert.base", "bert.classify", "bert.tag",
                             "electra.discriminate", "deberta-v2.base"}) {
      flags.insert(flags.end(),
                   {"--model", std::string(name) + "=" + kGoldens + name});
    }
    server_ = new ServerProcess(flags);
  }
  static void TearDownTestSuite() {
    EXPECT_TRUE(server_->running()) << "the server died";
    delete server_;
  }

  template <typename Values>
  static void ExpectNear(const Values& actual,
                         const std::vector<float>& expected) {
    ASSERT_EQ(static_cast<size_t>(actual.size()), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual[static_cast<int>(i)], expected[i], 5e-4) << i;
    }
  }

  static ServerProcess* server_;
  const std::unique_ptr<Client> client_ = server_->NewClient();
};

ServerProcess* EncodersTest::server_ = nullptr;

TEST_F(EncodersTest, EncodesToStatesAndThePoolersOutput) {
  v1::EncodeRequest request;
  request.set_model("bert.base");
  for (int i = 0; i < 4; ++i)
    *request.add_inputs() = GoldenInput("bert.base", i);
  request.set_pooling(v1::POOLING_POOLER);
  request.set_token_vectors(true);
  request.mutable_attention();
  const auto response = client_->Encode(request);
  ASSERT_TRUE(response.ok()) << response.status();
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    const std::string run = std::to_string(i);
    ExpectNear(response->results(i).token_vectors(),
               GoldenTensor("bert.base", run + ".last_hidden_state"));
    ExpectNear(response->results(i).embedding(),
               GoldenTensor("bert.base", run + ".pooler_output"));
  }
  std::vector<float> maps = GoldenTensor("bert.base", "0.attentions.0");
  const std::vector<float> second = GoldenTensor("bert.base", "0.attentions.1");
  maps.insert(maps.end(), second.begin(), second.end());
  ExpectNear(response->results(0).attention().weights(), maps);
}

TEST_F(EncodersTest, EncodesWithDeberta) {
  v1::EncodeRequest request;
  request.set_model("deberta-v2.base");
  *request.add_inputs() = GoldenInput("deberta-v2.base", 2);
  request.set_token_vectors(true);
  const auto response = client_->Encode(request);
  ASSERT_TRUE(response.ok()) << response.status();
  ExpectNear(response->results(0).token_vectors(),
             GoldenTensor("deberta-v2.base", "2.last_hidden_state"));
}

// The hidden states of the last layer are token_vectors, whatever else is
// requested. Streams and other inputs in the batch change no bit.
TEST_F(EncodersTest, ReturnsHiddenStatesWithTheSameBitsAloneAndTogether) {
  v1::EncodeRequest request;
  request.set_model("deberta-v2.base");
  request.set_pooling(v1::POOLING_CLS);
  for (const int layer : {1, -1, 0}) request.add_hidden_layers(layer);
  std::vector<v1::EncodeResult> alone;
  for (int i = 0; i < 4; ++i) {
    request.clear_inputs();
    *request.add_inputs() = GoldenInput("deberta-v2.base", i);
    const auto response = client_->Encode(request);
    ASSERT_TRUE(response.ok()) << response.status();
    alone.push_back(response->results(0));
    ASSERT_EQ(alone.back().hidden_states_size(), 3);
    ExpectNear(alone.back().hidden_states(1).values(),
               GoldenTensor("deberta-v2.base",
                            std::to_string(i) + ".last_hidden_state"));
  }
  request.clear_inputs();
  for (int i = 0; i < 4; ++i) {
    *request.add_inputs() = GoldenInput("deberta-v2.base", i);
  }
  const auto together = client_->Encode(request);
  ASSERT_TRUE(together.ok()) << together.status();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(together->results(i).SerializeAsString(),
              alone[i].SerializeAsString());
  }
}

TEST_F(EncodersTest, ClassifiesByTheHeadsLogits) {
  v1::ClassifyRequest request;
  request.set_model("bert.classify");
  *request.add_inputs() = GoldenInput("bert.classify", 2);
  const auto response = client_->Classify(request);
  ASSERT_TRUE(response.ok()) << response.status();
  std::vector<float> logits(3);
  float sum = 0;
  for (const v1::Label& label : response->results(0).labels()) {
    logits[label.index()] = label.logit();
    sum += label.score();
  }
  ExpectNear(logits, GoldenTensor("bert.classify", "2.logits"));
  EXPECT_NEAR(sum, 1, 1e-5);
  request.set_model("bert.tag");
  EXPECT_EQ(client_->Classify(request).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(EncodersTest, LabelsEveryTokenInClassifyTokens) {
  v1::ClassifyTokensRequest request;
  request.set_model("bert.tag");
  *request.add_inputs() = GoldenInput("bert.tag", 2);
  request.set_aggregation(v1::AGGREGATION_NONE);
  const auto response = client_->ClassifyTokens(request);
  ASSERT_TRUE(response.ok()) << response.status();
  const std::vector<float> logits = GoldenTensor("bert.tag", "2.logits");
  const auto model = client_->GetModel("bert.tag");
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(response->results(0).spans_size(), 23);
  for (int i = 0; i < 23; ++i) {
    const float* row = &logits[3 * i];
    EXPECT_EQ(
        response->results(0).spans(i).label(),
        model->labels(static_cast<int>(std::max_element(row, row + 3) - row)));
  }
  request.set_model("electra.discriminate");
  *request.mutable_inputs(0) = GoldenInput("electra.discriminate", 1);
  EXPECT_TRUE(client_->ClassifyTokens(request).ok());
}

}  // namespace
}  // namespace trivium
