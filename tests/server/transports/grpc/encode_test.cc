#include <gmock/gmock.h>

#include <climits>
#include <cmath>
#include <map>

#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

// The puppet's state of a token is (id, 1): 'a' is 101, the end is 0.
class EncodeTest : public RpcTest {
 protected:
  v1::EncodeRequest Texts(const std::vector<std::string>& texts) {
    v1::EncodeRequest request;
    for (const std::string& text : texts) request.add_inputs()->set_text(text);
    return request;
  }
  grpc::Status Encode(const v1::EncodeRequest& request) {
    return stub_->Encode(Context().get(), request, &response_);
  }
  const v1::EncodeResult& result(int i = 0) { return response_.results(i); }

  v1::EncodeResponse response_;
};

TEST_F(EncodeTest, PoolsAsAsked) {
  v1::EncodeRequest request = Texts({"ac"});
  request.set_normalize(false);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_THAT(result().embedding(),
              ElementsAre(FloatEq((101 + 103) / 3.0f), FloatEq(1)));
  EXPECT_EQ(result().token_count(), 3);
  request.set_pooling(v1::POOLING_CLS);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_THAT(result().embedding(), ElementsAre(101, 1));
  request.set_token_vectors(true);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_THAT(result().embedding(), ElementsAre(101, 1));
  EXPECT_THAT(result().token_vectors(), ElementsAre(101, 1, 103, 1, 0, 1));
  request.set_token_vectors(false);
  request.set_pooling(v1::POOLING_LAST);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_THAT(result().embedding(), ElementsAre(0, 1));
  request.set_pooling(v1::POOLING_NONE);
  request.set_token_vectors(true);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_TRUE(result().embedding().empty());
  EXPECT_THAT(result().token_vectors(), ElementsAre(101, 1, 103, 1, 0, 1));
}

TEST_F(EncodeTest, NormalizesByDefault) {
  ASSERT_TRUE(Encode(Texts({"ac", ""})).ok());
  for (const v1::EncodeResult& one : response_.results()) {
    EXPECT_NEAR(std::hypot(one.embedding(0), one.embedding(1)), 1, 1e-6);
  }
}

TEST_F(EncodeTest, ReturnsPiecesAndCounts) {
  v1::EncodeRequest request = Texts({std::string(100, 'a')});
  request.set_model("encoder");
  request.set_truncate(true);
  request.set_tokens(true);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_EQ(result().pieces_size(), 64);
  EXPECT_EQ(result().pieces(0), "byte97");
  EXPECT_EQ(result().ids_size(), 64);
  EXPECT_EQ(result().ids(63), 0u);
  EXPECT_EQ(result().truncated_tokens(), 37);
}

TEST_F(EncodeTest, RefusesInvalidInputsAndSelections) {
  v1::EncodeRequest request = Texts({"a"});
  request.mutable_attention()->add_layers(3);
  grpc::Status status = Encode(request);
  EXPECT_EQ(BadField(status), "attention.layers[0]");
  request.mutable_attention()->Clear();
  request.mutable_attention()->add_heads(1);
  request.mutable_attention()->add_heads(1);
  EXPECT_EQ(BadField(Encode(request)), "attention.heads");
  request.mutable_attention()->Clear();
  request.mutable_attention()->add_rows(1);
  request.mutable_attention()->add_rows(2);  // "a" and the end token
  status = Encode(request);
  EXPECT_EQ(BadField(status), "attention.rows");
  EXPECT_THAT(status.error_message(), ErrorAt("inputs[0]"));
  request = Texts({"a"});
  request.set_pooling(static_cast<v1::Pooling>(77));
  EXPECT_EQ(BadField(Encode(request)), "pooling");
  request = Texts({"a"});
  request.mutable_inputs(0)->set_target_prefix("x");
  EXPECT_EQ(BadField(Encode(request)), "inputs[0]");
  request = v1::EncodeRequest();
  request.add_inputs()->mutable_ids();
  status = Encode(request);
  EXPECT_EQ(BadField(status), "inputs[0]");
  EXPECT_THAT(status.error_message(), ErrorAt("tokens"));
}

// The puppet has three layers.
TEST_F(EncodeTest, HiddenStatesComeAsTheLayersAreAskedFor) {
  v1::EncodeRequest request = Texts({"a", "b"});
  for (const int layer : {-1, 0, 2}) request.add_hidden_layers(layer);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_EQ(result().embedding_size(), 2);
  ASSERT_EQ(result().hidden_states_size(), 3);
  EXPECT_EQ(result().hidden_states(0).layer(), 3u);
  EXPECT_THAT(result().hidden_states(0).values(), ElementsAre(101, 3, 0, 3));
  EXPECT_EQ(result().hidden_states(1).layer(), 0u);
  EXPECT_THAT(result().hidden_states(1).values(), ElementsAre(101, 0, 0, 0));
  EXPECT_THAT(result(1).hidden_states(2).values(), ElementsAre(102, 2, 0, 2));
  // -4 is 0, too.
  request.add_hidden_layers(-4);
  EXPECT_EQ(BadField(Encode(request)), "hidden_layers[3]");
  for (const int bad : {4, -5, INT_MIN, INT_MAX}) {
    request = Texts({"a"});
    request.add_hidden_layers(bad);
    const grpc::Status status = Encode(request);
    EXPECT_EQ(BadField(status), "hidden_layers[0]");
    EXPECT_THAT(status.error_message(), ErrorAt("0 .. 3"));
  }
}

TEST_F(EncodeTest, HiddenStatesOfManyInputsAreRefusedBeforeTheModelIsAsked) {
  options_.limits.max_response_bytes = 3000;
  StartServer();
  v1::EncodeRequest request = Texts({std::string(59, 'a')});
  // 4 x 60 tokens x 2 x 4 bytes, and the embedding.
  for (int layer = 0; layer <= 3; ++layer) request.add_hidden_layers(layer);
  const grpc::Status one = Encode(request);
  ASSERT_TRUE(one.ok()) << one.error_message();
  const size_t asked = batcher_->submitted().size();
  *request.add_inputs() = request.inputs(0);
  const grpc::Status status = Encode(request);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), ErrorAt("3856"));
  EXPECT_EQ(batcher_->submitted().size(), asked);
}

TEST_F(EncodeTest, TextsAreCutOnTheSideThatIsAskedFor) {
  v1::EncodeRequest request = Texts({"b" + std::string(98, 'a') + "c"});
  request.set_model("encoder");
  request.set_tokens(true);
  request.set_truncation_direction(v1::TRUNCATION_DIRECTION_LEFT);
  // Without truncation the direction would be ignored.
  EXPECT_EQ(BadField(Encode(request)), "truncation_direction");
  request.set_truncate(true);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_EQ(result().pieces_size(), 64);
  EXPECT_EQ(result().pieces(0), "byte97");
  EXPECT_EQ(result().pieces(62), "byte99");
  EXPECT_EQ(result().truncated_tokens(), 37);
  EXPECT_THAT(metrics_->Text(),
              HasSubstr("trivium_truncated_texts_total{model=\"encoder\"} 1"));
  request.set_truncation_direction(v1::TRUNCATION_DIRECTION_RIGHT);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_EQ(result().pieces(0), "byte98");
  EXPECT_EQ(result().pieces(62), "byte97");
  request.set_truncation_direction(static_cast<v1::TruncationDirection>(9));
  EXPECT_EQ(BadField(Encode(request)), "truncation_direction");
  // The server's flag cuts, too.
  options_.truncate = true;
  StartServer();
  request.clear_truncate();
  request.set_truncation_direction(v1::TRUNCATION_DIRECTION_LEFT);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_EQ(result().pieces(62), "byte99");
}

TEST_F(EncodeTest, MapsOfManyInputsAreRefusedWithTheirSize) {
  options_.limits.max_response_bytes = 100'000;
  StartServer();
  v1::EncodeRequest request = Texts({std::string(63, 'a')});
  request.mutable_attention()->add_heads(0);
  // 3 layers x 64 x 64 x 4 bytes, and the embedding.
  ASSERT_TRUE(Encode(request).ok());
  *request.add_inputs() = request.inputs(0);
  *request.add_inputs() = request.inputs(0);
  const grpc::Status status = Encode(request);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), ErrorAt("147480"));
}

TEST_F(EncodeTest, DimensionsAreTheFirstOnesNormalized) {
  v1::EncodeRequest request = Texts({"ac"});
  request.set_dimensions(1);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_THAT(result().embedding(), ElementsAre(1));
  request.set_normalize(false);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_THAT(result().embedding(), ElementsAre(FloatEq((101 + 103) / 3.0f)));
  request.set_dimensions(2);
  EXPECT_TRUE(Encode(request).ok());
  for (const uint32_t bad : {0u, 3u, UINT32_MAX}) {
    request.set_dimensions(bad);
    EXPECT_EQ(BadField(Encode(request)), "dimensions");
  }
}

TEST_F(EncodeTest, BytesStandForTheEmbedding) {
  v1::EncodeRequest request = Texts({"ac"});
  request.set_normalize(false);
  request.set_embedding_format(v1::EMBEDDING_FORMAT_INT8);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_TRUE(result().embedding().empty());
  // The embedding is 68 and 1.
  EXPECT_EQ(result().embedding_bytes(), std::string("\x7f\x02"));
  EXPECT_FLOAT_EQ(result().embedding_scale(), 68.0f / 127);
  request.set_embedding_format(v1::EMBEDDING_FORMAT_BINARY);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_EQ(result().embedding_bytes(), "\xc0");
  EXPECT_FLOAT_EQ(result().embedding_scale(), 34.5f);
  request.set_embedding_format(static_cast<v1::EmbeddingFormat>(9));
  EXPECT_EQ(BadField(Encode(request)), "embedding_format");
}

TEST_F(EncodeTest, RefusesOptionsThatWouldBeIgnored) {
  v1::EncodeRequest request = Texts({"ac"});
  request.set_pooling(v1::POOLING_NONE);
  request.set_dimensions(1);
  EXPECT_EQ(BadField(Encode(request)), "dimensions");
  request.clear_dimensions();
  request.set_normalize(true);
  EXPECT_EQ(BadField(Encode(request)), "normalize");
  request = Texts({"ac"});
  request.add_inputs()->mutable_ids()->add_ids(7);
  request.set_prompt("query: ");
  EXPECT_EQ(BadField(Encode(request)), "inputs[1]");
}

TEST_F(EncodeTest, APromptIsPutBeforeTheText) {
  v1::EncodeRequest request = Texts({"b"});
  request.set_prompt("a");
  request.set_tokens(true);
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_THAT(result().pieces(), ElementsAre("byte97", "byte98", "</s>"));
  request.set_prompt("");
  ASSERT_TRUE(Encode(request).ok());
  EXPECT_THAT(result().pieces(), ElementsAre("byte98", "</s>"));
}

TEST_F(EncodeTest, AStreamGivesWhatACallGives) {
  v1::EncodeRequest wanted = Texts({"ac", "xyz"});
  wanted.set_dimensions(1);
  wanted.set_normalize(false);
  ASSERT_TRUE(Encode(wanted).ok());
  wanted.clear_inputs();

  const auto context = Context();
  const auto stream = stub_->EncodeStream(context.get());
  v1::EncodeStreamRequest message;
  *message.mutable_start() = wanted;
  ASSERT_TRUE(stream->Write(message));
  const std::vector<std::pair<std::string, std::string>> items = {
      {"first", "ac"}, {"long", std::string(100, 'x')}, {"", "xyz"}};
  for (const auto& [id, text] : items) {
    message.mutable_item()->set_id(id);
    message.mutable_item()->mutable_input()->set_text(text);
    ASSERT_TRUE(stream->Write(message));
  }
  stream->WritesDone();
  std::map<std::string, v1::EncodeStreamResponse> heard;
  v1::EncodeStreamResponse response;
  while (stream->Read(&response)) heard[response.id()] = response;
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard["first"].result().SerializeAsString(),
            result(0).SerializeAsString());
  EXPECT_EQ(heard[""].result().SerializeAsString(),
            result(1).SerializeAsString());
  // A bad item fails alone, as a call of its own would.
  const google::rpc::Status& error = heard["long"].error();
  EXPECT_EQ(error.code(), grpc::INVALID_ARGUMENT);
  google::rpc::BadRequest bad;
  ASSERT_EQ(error.details_size(), 1);
  ASSERT_TRUE(error.details(0).UnpackTo(&bad));
  EXPECT_EQ(bad.field_violations(0).field(), "item.input");
}

TEST_F(EncodeTest, RefusesStreamsWithAnInvalidStart) {
  const auto ended = [&](auto change) {
    const auto context = Context();
    const auto stream = stub_->EncodeStream(context.get());
    v1::EncodeStreamRequest message;
    change(&message);
    stream->Write(message);
    stream->WritesDone();
    v1::EncodeStreamResponse response;
    EXPECT_FALSE(stream->Read(&response));
    return BadField(stream->Finish());
  };
  using M = v1::EncodeStreamRequest;
  EXPECT_EQ(ended([](M* m) { m->mutable_item()->set_id("1"); }), "start");
  EXPECT_EQ(ended([](M* m) { m->mutable_start()->add_inputs(); }),
            "start.inputs");
  EXPECT_EQ(ended([](M* m) { m->mutable_start()->set_dimensions(9); }),
            "start.dimensions");
  EXPECT_EQ(ended([](M* m) { m->mutable_start()->set_prompt_name("no"); }),
            "start.prompt_name");
}

TEST_F(EncodeTest, DetokenizeGivesTextsBack) {
  v1::DetokenizeRequest request;
  for (const char byte : std::string("aé")) {
    if (request.inputs().empty()) request.add_inputs();
    request.mutable_inputs(0)->add_ids(PuppetTokenizer::kFirst +
                                       static_cast<unsigned char>(byte));
  }
  request.mutable_inputs(0)->add_ids(PuppetTokenizer::kEnd);
  request.add_inputs();
  v1::DetokenizeResponse response;
  ASSERT_TRUE(stub_->Detokenize(Context().get(), request, &response).ok());
  EXPECT_THAT(response.texts(), ElementsAre("aé", ""));
  EXPECT_EQ(response.model().name(), "translator");
  request.mutable_inputs(1)->add_ids(PuppetTokenizer::kVocabulary);
  EXPECT_EQ(BadField(stub_->Detokenize(Context().get(), request, &response)),
            "inputs[1].ids[0]");
  EXPECT_EQ(BadField(stub_->Detokenize(Context().get(), v1::DetokenizeRequest(),
                                       &response)),
            "inputs");
  request.set_model("ids");
  EXPECT_EQ(stub_->Detokenize(Context().get(), request, &response).error_code(),
            grpc::FAILED_PRECONDITION);
}

TEST_F(EncodeTest, TokenizeTellsThePlacesOfTokens) {
  v1::TokenizeRequest request;
  request.add_texts("aé");
  v1::TokenizeResponse response;
  ASSERT_TRUE(stub_->Tokenize(Context().get(), request, &response).ok());
  ASSERT_EQ(response.results(0).tokens_size(), 4);
  const v1::Token& last = response.results(0).tokens(2);
  EXPECT_EQ(last.byte_begin(), 2);
  EXPECT_EQ(last.byte_end(), 3);
  EXPECT_EQ(last.char_begin(), 1);
  EXPECT_EQ(last.char_end(), 2);
  EXPECT_TRUE(response.results(0).tokens(3).special());
  request.set_add_special_tokens(false);
  ASSERT_TRUE(stub_->Tokenize(Context().get(), request, &response).ok());
  EXPECT_EQ(response.results(0).tokens_size(), 3);
  request.set_model("ids");
  EXPECT_EQ(stub_->Tokenize(Context().get(), request, &response).error_code(),
            grpc::FAILED_PRECONDITION);
  EXPECT_EQ(BadField(stub_->Tokenize(Context().get(), v1::TokenizeRequest(),
                                     &response)),
            "texts");
}

TEST_F(EncodeTest, ModelsTellWhatTheyServe) {
  v1::ListModelsResponse list;
  ASSERT_TRUE(models_->ListModels(Context().get(), {}, &list).ok());
  ASSERT_EQ(list.models_size(), 3);
  EXPECT_EQ(list.models(0).name(), "translator");
  EXPECT_THAT(list.models(1).calls(),
              ElementsAre("Encode", "EncodeStream", "Tokenize", "Detokenize",
                          "Similarity"));
  v1::GetModelRequest request;
  request.set_name("ids");
  v1::Model model;
  ASSERT_TRUE(models_->GetModel(Context().get(), request, &model).ok());
  EXPECT_FALSE(model.has_tokenizer());
  EXPECT_EQ(model.limits().max_inputs(), 2048);
  EXPECT_EQ(model.limits().default_deadline().seconds(), 60);
  EXPECT_EQ(model.kv_cache_bytes(), 7);
  request.set_name("nobody");
  EXPECT_EQ(models_->GetModel(Context().get(), request, &model).error_code(),
            grpc::NOT_FOUND);
}

}  // namespace
}  // namespace trivium
