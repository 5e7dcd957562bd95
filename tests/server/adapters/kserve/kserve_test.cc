// KServe's calls over gRPC; a puppet answers for the models.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kserve/open_inference.grpc.pb.h"
#include "server/adapters/kserve/tensors.h"
#include "tests/server/transports/grpc/rpc_fixture.h"

namespace trivium {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using testing::ElementsAre;
using testing::HasSubstr;

// The raw form of BYTES.
std::string Raw(const std::vector<std::string>& texts) {
  return JoinElements(texts);
}

class KserveTest : public RpcTest {
 protected:
  void SetUp() override {
    RpcTest::SetUp();
    kserve_ = inference::GRPCInferenceService::NewStub(channel_);
  }

  void AddParts(Server::Parts* parts) override {
    auto classifier = std::make_unique<PuppetModel>(Design::kEncoder);
    classifier->mutable_info().head = {
        HeadKind::kClassify, HeadInfo::Scores::kSoftmax, {"no", "yes"}};
    parts->models.push_back(ServedPuppet("classifier", std::move(classifier)));
    parts->models.push_back(ServedPuppet(
        "writer", std::make_unique<PuppetModel>(Design::kDecoder)));
  }

  static ModelInferRequest Ask(const std::string& model,
                               const std::vector<std::string>& texts,
                               bool raw = false) {
    ModelInferRequest request;
    request.set_model_name(model);
    auto* const input = request.add_inputs();
    input->set_name("text");
    input->set_datatype("BYTES");
    input->add_shape(static_cast<int64_t>(texts.size()));
    if (raw) {
      request.add_raw_input_contents(Raw(texts));
    } else {
      for (const std::string& text : texts) {
        input->mutable_contents()->add_bytes_contents(text);
      }
    }
    return request;
  }

  grpc::Status Infer(const ModelInferRequest& request) {
    response_.Clear();
    return kserve_->ModelInfer(Context().get(), request, &response_);
  }
  // The field that is wrong.
  std::string Wrong(const ModelInferRequest& request) {
    const grpc::Status status = Infer(request);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    return BadField(status);
  }

  std::unique_ptr<inference::GRPCInferenceService::Stub> kserve_;
  ModelInferResponse response_;
};

TEST_F(KserveTest, TranslatesContentsAndRaw) {
  ModelInferRequest request = Ask("translator", {"ab", "", "c\xc3\xa4"});
  request.set_id("mine");
  request.set_model_version("1");
  grpc::Status status = Infer(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response_.model_name(), "translator");
  EXPECT_EQ(response_.model_version(), "1");
  EXPECT_EQ(response_.id(), "mine");
  ASSERT_EQ(response_.outputs_size(), 1);
  EXPECT_EQ(response_.outputs(0).name(), "text");
  EXPECT_EQ(response_.outputs(0).datatype(), "BYTES");
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(3));
  EXPECT_THAT(response_.outputs(0).contents().bytes_contents(),
              ElementsAre("ab", "", "c\xc3\xa4"));
  EXPECT_TRUE(response_.raw_output_contents().empty());

  request = Ask("translator", {"ab", "", "c"}, /*raw=*/true);
  request.mutable_inputs(0)->add_shape(1);  // [n, 1]
  status = Infer(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(response_.raw_output_contents(),
              ElementsAre(Raw({"ab", "", "c"})));
  EXPECT_FALSE(response_.outputs(0).has_contents());
  EXPECT_THAT(metrics_->Text(),
              HasSubstr("trivium_requests_total{code=\"OK\",model="
                        "\"translator\",rpc=\"Translate\"} 2"));
}

TEST_F(KserveTest, EncodesToVectors) {
  ModelInferRequest request = Ask("encoder", {"a", "bc"}, /*raw=*/true);
  (*request.mutable_parameters())["pooling"].set_string_param("POOLING_CLS");
  const grpc::Status status = Infer(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response_.outputs_size(), 1);
  EXPECT_EQ(response_.outputs(0).name(), "embedding");
  EXPECT_EQ(response_.outputs(0).datatype(), "FP32");
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(2, 2));

  v1::EncodeRequest ours;
  ours.set_model("encoder");
  ours.set_pooling(v1::POOLING_CLS);
  ours.add_inputs()->set_text("a");
  ours.add_inputs()->set_text("bc");
  v1::EncodeResponse expected;
  ASSERT_TRUE(stub_->Encode(Context().get(), ours, &expected).ok());
  std::vector<float> values(4);
  ASSERT_EQ(response_.raw_output_contents(0).size(), 4 * sizeof(float));
  std::memcpy(values.data(), response_.raw_output_contents(0).data(),
              4 * sizeof(float));
  EXPECT_THAT(values, ElementsAre(expected.results(0).embedding(0),
                                  expected.results(0).embedding(1),
                                  expected.results(1).embedding(0),
                                  expected.results(1).embedding(1)));
}

TEST_F(KserveTest, ClassifiesAndReturnsTheOutputsAskedFor) {
  batcher_->set_logits([](const Request&) {
    return std::vector<float>{0, std::log(3.0f)};
  });
  ModelInferRequest request = Ask("classifier", {"a", "b"});
  ASSERT_TRUE(Infer(request).ok());
  ASSERT_EQ(response_.outputs_size(), 2);
  EXPECT_EQ(response_.outputs(0).name(), "label");
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(2, 2));
  EXPECT_THAT(response_.outputs(0).contents().bytes_contents(),
              ElementsAre("yes", "no", "yes", "no"));
  EXPECT_EQ(response_.outputs(1).name(), "score");
  EXPECT_FLOAT_EQ(response_.outputs(1).contents().fp32_contents(0), 0.75f);

  (*request.mutable_parameters())["top"].set_int64_param(1);
  request.add_outputs()->set_name("score");
  ASSERT_TRUE(Infer(request).ok());
  ASSERT_EQ(response_.outputs_size(), 1);
  EXPECT_EQ(response_.outputs(0).name(), "score");
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(2, 1));

  request.mutable_outputs(0)->set_name("text");
  EXPECT_EQ(Wrong(request), "outputs[0].name");
}

// Triton's clients send parameters of its queues with every request.
TEST_F(KserveTest, GeneratesOneText) {
  ModelInferRequest request = Ask("writer", {"abc"});
  (*request.mutable_parameters())["priority"].set_uint64_param(1);
  (*request.mutable_parameters())["timeout"].set_int64_param(1'000'000);
  (*request.mutable_parameters())["sequence_start"].set_bool_param(true);
  (*request.mutable_parameters())["max_new_tokens"].set_int64_param(100);
  (*request.mutable_parameters())["temperature"].set_double_param(0);
  (*request.mutable_parameters())["beam_size"].set_double_param(1);
  (*request.mutable_parameters())["top_p"].set_uint64_param(1);
  (*request.mutable_parameters())["stop"].set_string_param("c");
  const grpc::Status status = Infer(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response_.outputs(0).contents().bytes_contents_size(), 1);
  const std::vector<Request> asked = batcher_->submitted();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].decoding->max_new_tokens, 100);
  EXPECT_EQ(Wrong(Ask("writer", {"a", "b"})), "inputs[0].shape");
}

TEST_F(KserveTest, NamesTheWrongTensor) {
  ModelInferRequest request;
  request.set_model_name("translator");
  EXPECT_EQ(Wrong(request), "inputs");
  const ModelInferRequest good = Ask("translator", {"ab", "cd"});
  const ModelInferRequest raw = Ask("translator", {"ab", "cd"}, /*raw=*/true);

  (request = good).mutable_inputs(0)->set_name("input_ids");
  EXPECT_EQ(Wrong(request), "inputs");
  (request = good).mutable_inputs(0)->set_datatype("INT64");
  EXPECT_EQ(Wrong(request), "inputs[0].datatype");
  (request = good).mutable_inputs(0)->add_shape(2);
  EXPECT_EQ(Wrong(request), "inputs[0].shape");
  for (const int64_t size : {int64_t{0}, int64_t{-1}, INT64_MAX}) {
    (request = raw).mutable_inputs(0)->set_shape(0, size);
    EXPECT_EQ(Wrong(request), "inputs[0].shape");
  }
  (request = good).mutable_inputs(0)->set_shape(0, 3);
  EXPECT_EQ(Wrong(request), "inputs[0].contents.bytes_contents");
  (*(request = good).mutable_inputs(0)->mutable_parameters())["shared"];
  EXPECT_EQ(Wrong(request), "inputs[0].parameters");
  (request = raw).mutable_inputs(0)->mutable_contents();
  EXPECT_EQ(Wrong(request), "inputs[0].contents");
  (request = raw).add_raw_input_contents("");
  EXPECT_EQ(Wrong(request), "raw_input_contents");
  for (const std::string& bytes :
       {std::string(), std::string("\1\0\0", 3), Raw({"a"}),
        Raw({"a", "b", "c"}), Raw({"a", "b"}) + "x",
        Raw({"a"}) + std::string("\xff\xff\xff\xff"
                                 "b")}) {
    (request = raw).set_raw_input_contents(0, bytes);
    EXPECT_EQ(Wrong(request), "raw_input_contents[0]");
  }
  EXPECT_EQ(Wrong(Ask("translator", {"ab", "\xff"}, /*raw=*/true)),
            "inputs[0]");
  // An error of the call about its second input.
  const grpc::Status status =
      Infer(Ask("translator", {"ab", std::string((1 << 20) + 1, 'b')}));
  EXPECT_EQ(BadField(status), "inputs[0]");
  EXPECT_THAT(status.error_message(),
              HasSubstr("inputs[0]: element 1: has 1048577 bytes"));
}

TEST_F(KserveTest, NamesTheWrongParameter) {
  const auto wrong = [this](const char* name, auto set) {
    ModelInferRequest request = Ask("translator", {"ab"});
    set((*request.mutable_parameters())[name]);
    return Wrong(request);
  };
  using P = inference::InferParameter;
  EXPECT_EQ(wrong("nothing", [](P& p) { p.set_int64_param(1); }),
            "parameters[\"nothing\"]");
  // Options that the answer has no place for.
  EXPECT_EQ(wrong("tokens", [](P& p) { p.set_bool_param(true); }),
            "parameters[\"tokens\"]");
  EXPECT_EQ(wrong("num_hypotheses", [](P& p) { p.set_int64_param(2); }),
            "parameters[\"num_hypotheses\"]");
  for (const int64_t number : {int64_t{-1}, int64_t{1} << 32}) {
    EXPECT_EQ(wrong("beam_size", [=](P& p) { p.set_int64_param(number); }),
              "parameters[\"beam_size\"]");
  }
  EXPECT_EQ(wrong("beam_size", [](P& p) { p.set_string_param("4"); }),
            "parameters[\"beam_size\"]");
  EXPECT_EQ(wrong("truncate", [](P& p) { p.set_int64_param(1); }),
            "parameters[\"truncate\"]");
  EXPECT_EQ(wrong("temperature", [](P& p) { p.set_bool_param(true); }),
            "parameters[\"temperature\"]");
  EXPECT_EQ(wrong("split", [](P& p) { p.set_string_param("NONE"); }),
            "parameters[\"split\"]");
  // What the call itself refuses.
  EXPECT_EQ(wrong("beam_size", [](P& p) { p.set_int64_param(0); }),
            "options.decoding.beam_size");
}

TEST_F(KserveTest, IsRefusedAndCancelledLikeOurCalls) {
  ModelInferRequest request = Ask("none", {"a"});
  EXPECT_EQ(Infer(request).error_code(), grpc::NOT_FOUND);
  request.set_model_name("translator");
  request.set_model_version("2");
  EXPECT_EQ(Infer(request).error_code(), grpc::NOT_FOUND);
  EXPECT_THAT(metrics_->Text(), HasSubstr("rpc=\"ModelInfer\""));

  batcher_->Refuse({absl::ResourceExhaustedError("full")});
  const grpc::Status full = Infer(Ask("translator", {"ab"}));
  EXPECT_EQ(full.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_GT(Details(full).details_size(), 0);
  batcher_->Refuse({});

  batcher_->RefuseBeforehand({absl::ResourceExhaustedError("late")});
  EXPECT_EQ(Infer(Ask("translator", {"ab"})).error_code(),
            grpc::RESOURCE_EXHAUSTED);
  batcher_->RefuseBeforehand({});

  batcher_->Hold();
  const size_t before = batcher_->submitted().size();
  const auto context = Context();
  std::promise<grpc::Status> done;
  const ModelInferRequest waiting = Ask("translator", {"ab"});
  kserve_->async()->ModelInfer(
      context.get(), &waiting, &response_,
      [&done](grpc::Status status) { done.set_value(std::move(status)); });
  batcher_->WaitForSubmitted(before + 1);
  context->TryCancel();
  EXPECT_EQ(done.get_future().get().error_code(), grpc::CANCELLED);
  batcher_->WaitForDropped(1);
  batcher_->Release();
}

TEST_F(KserveTest, SaysThatBytesAreNotAMessage) {
  const grpc::Status status =
      SendBytes("/inference.GRPCInferenceService/ModelInfer", "\x07");
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(KserveTest, DescribesTheServerAndItsModels) {
  inference::ServerLiveResponse live;
  ASSERT_TRUE(kserve_->ServerLive(Context().get(), {}, &live).ok());
  EXPECT_TRUE(live.live());
  inference::ServerReadyResponse ready;
  ASSERT_TRUE(kserve_->ServerReady(Context().get(), {}, &ready).ok());
  EXPECT_TRUE(ready.ready());
  inference::ServerMetadataResponse server;
  ASSERT_TRUE(kserve_->ServerMetadata(Context().get(), {}, &server).ok());
  EXPECT_EQ(server.name(), "trivium");

  inference::ModelReadyRequest which;
  inference::ModelReadyResponse model_ready;
  which.set_name("encoder");
  ASSERT_TRUE(kserve_->ModelReady(Context().get(), which, &model_ready).ok());
  EXPECT_TRUE(model_ready.ready());
  which.set_name("none");
  ASSERT_TRUE(kserve_->ModelReady(Context().get(), which, &model_ready).ok());
  EXPECT_FALSE(model_ready.ready());

  inference::ModelMetadataRequest of;
  of.set_name("encoder");
  inference::ModelMetadataResponse metadata;
  ASSERT_TRUE(kserve_->ModelMetadata(Context().get(), of, &metadata).ok());
  EXPECT_EQ(metadata.platform(), "trivium_puppet");
  EXPECT_THAT(metadata.versions(), ElementsAre("1"));
  ASSERT_EQ(metadata.inputs_size(), 1);
  EXPECT_EQ(metadata.inputs(0).datatype(), "BYTES");
  ASSERT_EQ(metadata.outputs_size(), 1);
  EXPECT_EQ(metadata.outputs(0).name(), "embedding");
  EXPECT_THAT(metadata.outputs(0).shape(), ElementsAre(-1, -1));
}

TEST_F(KserveTest, CountsTheCallsOfAModel) {
  ASSERT_TRUE(Infer(Ask("translator", {"ab", "cd"})).ok());
  ModelInferRequest wrong = Ask("translator", {"ab"});
  (*wrong.mutable_parameters())["beam_size"].set_int64_param(0);
  EXPECT_EQ(Wrong(wrong), "options.decoding.beam_size");
  inference::ModelStatisticsRequest request;
  inference::ModelStatisticsResponse response;
  ASSERT_TRUE(
      kserve_->ModelStatistics(Context().get(), request, &response).ok());
  EXPECT_EQ(response.model_stats_size(), 5);
  request.set_name("translator");
  ASSERT_TRUE(
      kserve_->ModelStatistics(Context().get(), request, &response).ok());
  ASSERT_EQ(response.model_stats_size(), 1);
  const inference::ModelStatistics& stats = response.model_stats(0);
  EXPECT_EQ(stats.inference_count(), 2u);
  EXPECT_EQ(stats.inference_stats().success().count(), 1u);
  EXPECT_GT(stats.inference_stats().success().ns(), 0u);
  EXPECT_EQ(stats.inference_stats().fail().count(), 1u);
  request.set_name("none");
  EXPECT_EQ(kserve_->ModelStatistics(Context().get(), request, &response)
                .error_code(),
            grpc::NOT_FOUND);
}

TEST_F(KserveTest, ListsModelsAndOrdersThem) {
  inference::RepositoryIndexResponse index;
  ASSERT_TRUE(kserve_->RepositoryIndex(Context().get(), {}, &index).ok());
  ASSERT_EQ(index.models_size(), 5);
  EXPECT_EQ(index.models(0).name(), "translator");
  EXPECT_EQ(index.models(0).state(), "READY");

  // This server has no --model-root.
  inference::RepositoryModelLoadRequest load;
  inference::RepositoryModelLoadResponse loaded;
  EXPECT_EQ(
      BadField(kserve_->RepositoryModelLoad(Context().get(), load, &loaded)),
      "model_name");
  for (const char* name : {"translator", "new"}) {
    load.set_model_name(name);
    EXPECT_EQ(kserve_->RepositoryModelLoad(Context().get(), load, &loaded)
                  .error_code(),
              grpc::FAILED_PRECONDITION);
  }
  (*load.mutable_parameters())["config"].set_string_param("{}");
  EXPECT_EQ(
      BadField(kserve_->RepositoryModelLoad(Context().get(), load, &loaded)),
      "parameters[\"config\"]");
  inference::RepositoryModelUnloadRequest unload;
  inference::RepositoryModelUnloadResponse unloaded;
  unload.set_model_name("translator");
  (*unload.mutable_parameters())["unload_dependents"].set_bool_param(false);
  EXPECT_EQ(kserve_->RepositoryModelUnload(Context().get(), unload, &unloaded)
                .error_code(),
            grpc::FAILED_PRECONDITION);
  unload.set_repository_name("other");
  EXPECT_EQ(BadField(kserve_->RepositoryModelUnload(Context().get(), unload,
                                                    &unloaded)),
            "repository_name");
}

}  // namespace
}  // namespace trivium
