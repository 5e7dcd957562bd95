// TGI's prompts: bodies as requests, and pieces as its tokens.
#include "server/adapters/tgi.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/support/error_texts.h"
#include "tests/support/puppet_model.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;

class TgiTest : public testing::Test {
 protected:
  TgiTest() {
    EXPECT_TRUE(environment_.models
                    .Add(ServedPuppet("model", std::make_unique<PuppetModel>(
                                                   Design::kDecoder)))
                    .ok());
  }

  absl::StatusOr<v1::GenerateRequest> Read(const json& body,
                                           NewCodec* make = NewTgiRootCodec) {
    codec_ = make(environment_, RequestHead());
    v1::GenerateRequest request;
    const absl::Status status = codec_->Read(body.dump(), &request);
    if (!status.ok()) return status;
    return request;
  }
  v1::DecodingOptions Options(const json& parameters) {
    const auto request = Read({{"inputs", "Hi"}, {"parameters", parameters}});
    EXPECT_TRUE(request.ok()) << request.status();
    return request.ok() ? request->decoding() : v1::DecodingOptions();
  }
  // A piece whose tokens are the bytes of its text, and the end token if
  // `ends`.
  static v1::GenerateResponse PieceOf(const std::string& text,
                                      bool ends = false) {
    v1::GenerateResponse response;
    response.mutable_piece()->set_text(text);
    const auto add = [&response](int32_t id) {
      v1::TokenLogprobs* const token = response.mutable_piece()->add_logprobs();
      token->mutable_token()->set_id(static_cast<uint32_t>(id));
      token->mutable_token()->set_logprob(-1);
      *token->add_alternatives() = token->token();
    };
    for (const char byte : text) add(IdOf(byte));
    if (ends) add(PuppetTokenizer::kEnd);
    return response;
  }
  static int32_t IdOf(char byte) {
    return PuppetTokenizer::kFirst + static_cast<unsigned char>(byte);
  }
  static v1::GenerateResponse EndOf(v1::FinishReason reason, uint32_t tokens) {
    v1::GenerateResponse response;
    response.mutable_done()->set_finish_reason(reason);
    response.mutable_done()->set_token_count(tokens);
    response.mutable_done()->set_source_token_count(5);
    return response;
  }
  // The events of a stream of these responses.
  std::vector<json> Events(const std::vector<v1::GenerateResponse>& responses) {
    EXPECT_TRUE(codec_->streams());
    std::string text;
    for (const auto& response : responses) text += codec_->Write(response);
    text += codec_->EndStream({}, nullptr);
    std::vector<json> events;
    for (size_t at = 0; at < text.size();) {
      EXPECT_EQ(text.substr(at, 6), "data: ");
      const size_t end = text.find("\n\n", at);
      events.push_back(json::parse(text.substr(at + 6, end - at - 6)));
      at = end + 2;
    }
    return events;
  }

  Environment environment_;
  std::unique_ptr<Codec> codec_;
};

TEST_F(TgiTest, APromptIsContinuedGreedily) {
  const auto request = Read({{"inputs", "Hi"}, {"stream", false}});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->input().text(), "Hi");
  EXPECT_EQ(request->decoding().temperature(), 0);
  EXPECT_TRUE(request->decoding().has_temperature());
  EXPECT_EQ(request->decoding().max_new_tokens(), 100u);
  EXPECT_FALSE(request->decoding().has_top_logprobs());
  EXPECT_FALSE(codec_->streams());
}

TEST_F(TgiTest, ParametersAreOptions) {
  const v1::DecodingOptions options = Options({{"max_new_tokens", 7},
                                               {"temperature", 0.5},
                                               {"top_p", 0.25},
                                               {"typical_p", 0.75},
                                               {"seed", 3},
                                               {"repetition_penalty", 1.5},
                                               {"frequency_penalty", 0.5},
                                               {"stop", {"a", "b"}},
                                               {"best_of", 1},
                                               {"watermark", false},
                                               {"truncate", nullptr}});
  EXPECT_EQ(options.max_new_tokens(), 7u);
  EXPECT_EQ(options.temperature(), 0.5f);
  EXPECT_EQ(options.top_p(), 0.25f);
  EXPECT_EQ(options.typical_p(), 0.75f);
  EXPECT_TRUE(options.has_top_k());
  EXPECT_EQ(options.top_k(), 0u);
  EXPECT_EQ(options.seed(), 3u);
  EXPECT_EQ(options.repetition_penalty(), 1.5f);
  EXPECT_EQ(options.frequency_penalty(), 0.5f);
  EXPECT_THAT(options.stop(), ElementsAre("a", "b"));
  EXPECT_TRUE(options.keep_stop());
  // Each of these asks for draws.
  for (const json& draws :
       {json{{"do_sample", true}}, {{"top_k", 2}}, {{"top_p", 0.5}}}) {
    EXPECT_EQ(Options(draws).temperature(), 1) << draws;
  }
  EXPECT_EQ(Options({{"temperature", 1}, {"seed", 3}}).temperature(), 0);
}

TEST_F(TgiTest, GrammarsAreForms) {
  const json schema = {{"type", "integer"}};
  const auto form = [&](const char* type, const json& value) {
    return Options({{"grammar", {{"type", type}, {"value", value}}}})
        .constraint();
  };
  EXPECT_EQ(form("json", schema).json_schema(), schema.dump());
  EXPECT_EQ(
      form("json_schema", {{"name", "n"}, {"schema", schema}}).json_schema(),
      schema.dump());
  EXPECT_EQ(form("regex", "a+").regex(), "a+");
}

TEST_F(TgiTest, WhatIsNotHereIsRefusedByName) {
  const std::pair<json, const char*> cases[] = {
      {{{"inputs", nullptr}}, "inputs"},
      {{{"inputs", {"a"}}}, "inputs"},
      {{{"parameters", {{"best_of", 2}}}}, "parameters.best_of"},
      {{{"parameters", {{"watermark", true}}}}, "parameters.watermark"},
      {{{"parameters", {{"truncate", 5}}}}, "parameters.truncate"},
      {{{"parameters", {{"decoder_input_details", true}}}},
       "parameters.decoder_input_details"},
      {{{"parameters", {{"grammar", {{"type", "gbnf"}, {"value", "x"}}}}}},
       "parameters.grammar.type"},
      {{{"parameters", {{"max_new_tokens", 0}}}}, "parameters.max_new_tokens"},
      {{{"parameters", {{"num_beams", 2}}}}, "parameters.num_beams"}};
  for (const auto& [more, place] : cases) {
    json body = {{"inputs", "Hi"}};
    body.update(more);
    EXPECT_THAT(Read(body).status(),
                IsError(absl::StatusCode::kInvalidArgument, place))
        << body;
  }
  const HttpAnswer answer =
      codec_->Finish({absl::ResourceExhaustedError("full"), "id"}, nullptr);
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(json::parse(answer.body)["error_type"], "overloaded");
}

TEST_F(TgiTest, AnEventForEachToken) {
  ASSERT_TRUE(Read({{"inputs", "Hi"},
                    {"stream", true},
                    {"parameters", {{"top_n_tokens", 1}}}})
                  .ok());
  const std::vector<json> events =
      Events({PieceOf("a"), PieceOf("éo"), PieceOf("b", /*ends=*/true),
              EndOf(v1::FINISH_REASON_END, 6)});
  ASSERT_EQ(events.size(), 6u);
  // The parts of a character are one text.
  const std::vector<std::string> texts = {"a", "", "é", "o", "b"};
  for (size_t i = 0; i < events.size(); ++i) {
    const json& token = events[i]["token"];
    EXPECT_EQ(events[i]["index"], i + 1);
    EXPECT_EQ(events[i]["top_tokens"].size(), 1u);
    EXPECT_EQ(token["special"], i == 5);
    if (i < 5) {
      EXPECT_EQ(token["text"], texts[i]);
    }
    EXPECT_EQ(events[i]["generated_text"].is_null(), i < 5);
    EXPECT_EQ(events[i]["details"].is_null(), i < 5);
  }
  EXPECT_EQ(events[0]["token"]["id"], IdOf('a'));
  EXPECT_EQ(events[5]["generated_text"], "aéob");
  EXPECT_EQ(events[5]["details"]["finish_reason"], "eos_token");
  EXPECT_EQ(events[5]["details"]["generated_tokens"], 6);
  EXPECT_EQ(events[5]["details"]["input_length"], 5);
}

TEST_F(TgiTest, ATextMayLackTheSpaceOfItsFirstToken) {
  ASSERT_TRUE(Read({{"inputs", "Hi"}}, NewTgiStreamCodec).ok());
  v1::GenerateResponse piece = PieceOf(" a b");
  piece.mutable_piece()->set_text("a b");
  const std::vector<json> events =
      Events({piece, EndOf(v1::FINISH_REASON_LENGTH, 4)});
  ASSERT_EQ(events.size(), 4u);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["token"]["text"],
              std::string("a b").substr(i == 0 ? 0 : i - 1, i > 0));
  }
}

TEST_F(TgiTest, AnErrorEndsAStreamAsAnEvent) {
  ASSERT_TRUE(Read({{"inputs", "Hi"}}, NewTgiStreamCodec).ok());
  EXPECT_EQ(codec_->Write(PieceOf("a")), "");  // held
  const std::string last =
      codec_->EndStream({absl::InternalError("broken"), "id"}, nullptr);
  EXPECT_EQ(json::parse(last.substr(6))["error_type"], "generation");
}

TEST_F(TgiTest, AWholeAnswerHasItsTokensIfAsked) {
  const auto answer = [this](NewCodec* make, const json& parameters) {
    EXPECT_TRUE(
        Read({{"inputs", "Hi"}, {"parameters", parameters}}, make).ok());
    EXPECT_EQ(codec_->Write(PieceOf("a")), "");
    const v1::GenerateResponse end = EndOf(v1::FINISH_REASON_LENGTH, 1);
    return json::parse(codec_->Finish({}, &end).body);
  };
  EXPECT_EQ(answer(NewTgiGenerateCodec, json::object()),
            json({{"generated_text", "a"}}));
  EXPECT_EQ(answer(NewTgiRootCodec, {{"return_full_text", true}}),
            json::array({{{"generated_text", "Hia"}}}));
  const json details =
      answer(NewTgiGenerateCodec, {{"details", true}})["details"];
  EXPECT_EQ(details["finish_reason"], "length");
  EXPECT_EQ(details["tokens"], json::array({{{"id", IdOf('a')},
                                             {"text", "a"},
                                             {"logprob", -1.0},
                                             {"special", false}}}));
  EXPECT_FALSE(details.contains("top_tokens"));
}

}  // namespace
}  // namespace trivium
