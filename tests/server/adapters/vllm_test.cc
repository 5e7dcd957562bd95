// Tokens of texts and texts of tokens, as vLLM's and llama-server's clients
// ask.
#include "server/adapters/vllm.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "nlohmann/json.hpp"
#include "tests/support/error_texts.h"
#include "tests/support/puppet_model.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using nlohmann::json;

class VllmTokensTest : public testing::Test {
 protected:
  VllmTokensTest() {
    auto model = std::make_unique<PuppetModel>(Design::kDecoder);
    model->mutable_info().max_target_tokens = 77;
    EXPECT_TRUE(
        environment_.models.Add(ServedPuppet("model", std::move(model))).ok());
  }

  absl::Status Read(NewCodec* make, const json& body,
                    google::protobuf::Message* request) {
    codec_ = make(environment_, RequestHead());
    return codec_->Read(body.dump(), request);
  }
  json Answer(const google::protobuf::Message& response) {
    return json::parse(codec_->Finish({}, &response).body);
  }
  // The tokens of "ab", after an added one.
  static v1::TokenizeResponse Tokens() {
    v1::TokenizeResponse response;
    auto* const result = response.add_results();
    for (int i = 0; i < 3; ++i) {
      v1::Token* const token = result->add_tokens();
      token->set_id(static_cast<uint32_t>(7 + i));
      token->set_piece(i == 0 ? "<s>" : i == 1 ? "_a" : "b");
      token->set_byte_begin(i == 2 ? 1 : 0);
      token->set_byte_end(i == 0 ? 0 : i == 1 ? 1 : 2);
    }
    return response;
  }

  Environment environment_;
  std::unique_ptr<Codec> codec_;
};

TEST_F(VllmTokensTest, TokenizesAPrompt) {
  v1::TokenizeRequest request;
  ASSERT_TRUE(Read(NewVllmTokenizeCodec,
                   {{"prompt", "ab"}, {"return_token_strs", true}}, &request)
                  .ok());
  EXPECT_EQ(request.texts(0), "ab");
  EXPECT_TRUE(request.add_special_tokens());
  EXPECT_EQ(Answer(Tokens()), json({{"count", 3},
                                    {"max_model_len", 77},
                                    {"tokens", {7, 8, 9}},
                                    {"token_strs", {"<s>", "_a", "b"}}}));
  request.Clear();
  ASSERT_TRUE(Read(NewVllmTokenizeCodec,
                   {{"prompt", "ab"}, {"add_special_tokens", false}}, &request)
                  .ok());
  EXPECT_FALSE(request.add_special_tokens());
  EXPECT_EQ(Answer(Tokens())["token_strs"], nullptr);
}

TEST_F(VllmTokensTest, TokenizesContent) {
  v1::TokenizeRequest request;
  ASSERT_TRUE(Read(NewLlamaTokenizeCodec, {{"content", "ab"}}, &request).ok());
  EXPECT_FALSE(request.add_special_tokens());
  EXPECT_EQ(Answer(Tokens()), json({{"tokens", {7, 8, 9}}}));
  request.Clear();
  ASSERT_TRUE(Read(NewLlamaTokenizeCodec,
                   {{"content", "ab"},
                    {"add_special", true},
                    {"parse_special", true},
                    {"with_pieces", true}},
                   &request)
                  .ok());
  EXPECT_TRUE(request.add_special_tokens());
  EXPECT_EQ(Answer(Tokens())["tokens"], json({{{"id", 7}, {"piece", "<s>"}},
                                              {{"id", 8}, {"piece", "a"}},
                                              {{"id", 9}, {"piece", "b"}}}));
}

TEST_F(VllmTokensTest, DetokenizesIds) {
  v1::DetokenizeRequest request;
  ASSERT_TRUE(
      Read(NewVllmDetokenizeCodec, {{"tokens", {3, 4}}}, &request).ok());
  EXPECT_EQ(request.inputs(0).ids_size(), 2);
  v1::DetokenizeResponse response;
  response.add_texts("ab");
  // One name is vLLM's, the other llama-server's.
  EXPECT_EQ(Answer(response), json({{"prompt", "ab"}, {"content", "ab"}}));
  request.Clear();
  EXPECT_TRUE(
      Read(NewVllmDetokenizeCodec, {{"tokens", json::array()}}, &request).ok());
}

TEST_F(VllmTokensTest, RefusalsNameTheMember) {
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  v1::TokenizeRequest request;
  EXPECT_THAT(Read(NewVllmTokenizeCodec, {{"prompt", {"a"}}}, &request),
              IsError(kBad, "prompt"));
  EXPECT_THAT(Read(NewLlamaTokenizeCodec,
                   {{"content", "a"}, {"parse_special", false}}, &request),
              IsError(kBad, "parse_special"));
  v1::DetokenizeRequest ids;
  EXPECT_THAT(Read(NewVllmDetokenizeCodec, {{"tokens", "a"}}, &ids),
              IsError(kBad, "tokens"));
}

}  // namespace
}  // namespace trivium
