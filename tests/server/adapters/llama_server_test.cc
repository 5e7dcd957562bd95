// llama-server's /completion: its options, pieces and end.
#include "server/adapters/llama_server.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/support/error_texts.h"
#include "tests/support/puppet_model.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using nlohmann::json;

class LlamaServerTest : public testing::Test {
 protected:
  LlamaServerTest() {
    EXPECT_TRUE(environment_.models
                    .Add(ServedPuppet("model", std::make_unique<PuppetModel>(
                                                   Design::kDecoder)))
                    .ok());
  }
  absl::StatusOr<v1::GenerateRequest> Read(const json& more) {
    json body = {{"prompt", "Hi"}};
    body.update(more);
    codec_ = NewLlamaCompletionCodec(environment_, RequestHead());
    v1::GenerateRequest request;
    const absl::Status status = codec_->Read(body.dump(), &request);
    if (!status.ok()) return status;
    return request;
  }
  static v1::GenerateResponse PieceOf(const std::string& text) {
    v1::GenerateResponse response;
    response.mutable_piece()->set_text(text);
    return response;
  }
  static v1::GenerateResponse EndOf(v1::FinishReason reason) {
    v1::GenerateResponse response;
    response.mutable_done()->set_finish_reason(reason);
    response.mutable_done()->mutable_usage()->set_new_tokens(2);
    response.mutable_done()->mutable_usage()->set_prompt_tokens(3);
    return response;
  }

  Environment environment_;
  std::unique_ptr<Codec> codec_;
};

TEST_F(LlamaServerTest, OptionsHaveItsNames) {
  const auto request = Read({{"n_predict", 5},
                             {"temperature", 0.5},
                             {"top_k", 3},
                             {"min_p", 0.25},
                             {"repeat_penalty", 1.5},
                             {"stop", {"a"}},
                             {"cache_prompt", true},
                             {"id_slot", -1},
                             {"n_probs", 0},
                             {"json_schema", {{"type", "integer"}}}});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->input().text(), "Hi");
  const v1::DecodingOptions& decoding = request->decoding();
  EXPECT_EQ(decoding.max_new_tokens(), 5u);
  EXPECT_EQ(decoding.temperature(), 0.5f);
  EXPECT_EQ(decoding.repetition_penalty(), 1.5f);
  EXPECT_EQ(decoding.sampling_defaults(), v1::SAMPLING_DEFAULTS_CHAT);
  EXPECT_EQ(decoding.constraint().json_schema(), R"({"type":"integer"})");
  const auto ids = Read({{"prompt", {5, 6}}, {"n_predict", -1}});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->input().ids().ids_size(), 2);
  EXPECT_FALSE(ids->decoding().has_max_new_tokens());
}

TEST_F(LlamaServerTest, RefusalsNameTheMember) {
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(Read({{"prompt", {"a", "b"}}}).status(), IsError(kBad, "prompt"));
  EXPECT_THAT(Read({{"n_predict", 0}}).status(), IsError(kBad, "n_predict"));
  EXPECT_THAT(Read({{"n", 2}}).status(), IsError(kBad, "n"));
  EXPECT_THAT(Read({{"n_probs", 2}}).status(), IsError(kBad, "n_probs"));
  EXPECT_THAT(Read({{"return_tokens", true}}).status(),
              IsError(kBad, "return_tokens"));
}

TEST_F(LlamaServerTest, AnswersWholeOrInPieces) {
  ASSERT_TRUE(Read(json::object()).ok());
  EXPECT_EQ(codec_->Write(PieceOf("a")), "");
  EXPECT_EQ(codec_->Write(PieceOf("b")), "");
  const v1::GenerateResponse end = EndOf(v1::FINISH_REASON_LENGTH);
  EXPECT_EQ(json::parse(codec_->Finish({}, &end).body),
            json({{"index", 0},
                  {"content", "ab"},
                  {"stop", true},
                  {"model", "model"},
                  {"tokens_predicted", 2},
                  {"tokens_evaluated", 3},
                  {"tokens_cached", 0},
                  {"truncated", false},
                  {"stopping_word", ""},
                  {"stop_type", "limit"}}));

  ASSERT_TRUE(Read({{"stream", true}}).ok());
  EXPECT_EQ(codec_->Write(PieceOf("a")),
            "data: {\"index\":0,\"content\":\"a\",\"stop\":false}\n\n");
  v1::GenerateResponse word = EndOf(v1::FINISH_REASON_STOP);
  word.mutable_done()->set_stop("q");
  const json last = json::parse(codec_->EndStream({}, &word).substr(6));
  EXPECT_EQ(last["content"], "");
  EXPECT_EQ(last["stop"], true);
  EXPECT_EQ(last["stop_type"], "word");
  EXPECT_EQ(last["stopping_word"], "q");
}

}  // namespace
}  // namespace trivium
