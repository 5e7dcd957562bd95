#include <gmock/gmock.h>

#include <cmath>

#include "tests/server/rpc/rpc_fixture.h"

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
  EXPECT_EQ(result().truncated_tokens(), 37);
}

TEST_F(EncodeTest, RefusesWhatItCannotDo) {
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
  EXPECT_THAT(status.error_message(), HasSubstr("inputs[0] has tokens 0 .. 1"));
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
  EXPECT_THAT(status.error_message(), HasSubstr("no tokens"));
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
  EXPECT_THAT(status.error_message(), HasSubstr("147480 bytes"));
}

TEST_F(EncodeTest, TokenizeShowsPlaces) {
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
  EXPECT_THAT(list.models(1).calls(), ElementsAre("Encode", "Tokenize"));
  v1::GetModelRequest request;
  request.set_name("ids");
  v1::Model model;
  ASSERT_TRUE(models_->GetModel(Context().get(), request, &model).ok());
  EXPECT_FALSE(model.has_tokenizer());
  EXPECT_EQ(model.limits().max_inputs(), 32);
  EXPECT_EQ(model.limits().default_deadline_seconds(), 60);
  EXPECT_EQ(model.kv_cache_bytes(), 7);
  request.set_name("nobody");
  EXPECT_EQ(models_->GetModel(Context().get(), request, &model).error_code(),
            grpc::NOT_FOUND);
}

}  // namespace
}  // namespace trivium
