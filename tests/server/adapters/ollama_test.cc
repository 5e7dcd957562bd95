// Ollama's shapes without a network: requests as messages, and messages as
// lines.
#include "server/adapters/ollama.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "server/adapters/ollama_request.h"
#include "server/errors/status.h"
#include "tests/support/error_texts.h"
#include "tests/support/fake_clock.h"
#include "tests/support/puppet_model.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kInvalidOption = absl::StatusCode::kInvalidArgument;

ModelHandle Chatting(const std::string& name, const std::string& source) {
  auto model = std::make_unique<PuppetModel>(Design::kDecoder);
  auto templates = ChatTemplates::FromConfig({{"chat_template", source}}, "");
  EXPECT_TRUE(templates.ok()) << templates.status();
  model->mutable_chat_templates() = *std::move(templates);
  return ServedPuppet(name, std::move(model));
}

class OllamaTest : public testing::Test {
 protected:
  OllamaTest() {
    for (const ModelHandle& model :
         {ServedPuppet("translator"), Chatting("plain", "{{ messages }}"),
          Chatting("switch", "{{ messages }}{{ tools }}{{ enable_thinking }}"),
          Chatting("graded", "{{ messages }}{{ reasoning_effort }}"),
          ServedPuppet("bare",
                       std::make_unique<PuppetModel>(Design::kDecoder))}) {
      EXPECT_TRUE(environment_.models.Add(model).ok());
    }
    environment_.clock = &clock_;
  }

  AllowedModels models() const { return {environment_.models, nullptr}; }
  absl::StatusOr<OllamaRequest> ReadAs(OllamaPath path, const json& body) {
    return ReadOllamaRequest(body.dump(), path, models(), nullptr);
  }
  // A chat of one message, with more members.
  absl::StatusOr<v1::GenerateRequest> ReadChat(const json& more) {
    json body = {{"model", "switch"},
                 {"messages", {{{"role", "user"}, {"content", "Hi"}}}}};
    body.update(more);
    const auto request = ReadAs(OllamaPath::kChat, body);
    if (!request.ok()) return request.status();
    return request->generate;
  }
  absl::StatusOr<v1::GenerateRequest> ReadOptions(const json& options) {
    return ReadChat({{"options", options}});
  }
  absl::StatusOr<v1::GenerateRequest> ReadPrompt(const json& more) {
    json body = {{"model", "switch"}, {"prompt", "Hi"}};
    body.update(more);
    const auto request = ReadAs(OllamaPath::kGenerate, body);
    if (!request.ok()) return request.status();
    return request->generate;
  }
  // Makes codec_ and lets it read a body.
  void Begin(NewCodec* make, const json& body,
             google::protobuf::Message* request) {
    codec_ = make(environment_, {});
    const absl::Status status = codec_->Read(body.dump(), request);
    ASSERT_TRUE(status.ok()) << status;
  }
  void BeginChat(const json& more) {
    json body = {{"model", "switch"},
                 {"messages", {{{"role", "user"}, {"content", "Hi"}}}}};
    body.update(more);
    v1::GenerateRequest request;
    Begin(NewOllamaChatCodec, body, &request);
  }
  // The line that a response becomes; null: none.
  json LineOf(const v1::GenerateResponse& response) {
    const std::string text = codec_->Write(response);
    if (text.empty()) return nullptr;
    EXPECT_TRUE(text.ends_with('\n')) << text;
    return json::parse(text);
  }
  static v1::GenerateResponse Text(const std::string& text,
                                   const std::string& thinking = "") {
    v1::GenerateResponse response;
    response.mutable_piece()->set_text(text);
    response.mutable_piece()->set_reasoning(thinking);
    return response;
  }
  static v1::GenerateResponse End(v1::FinishReason reason) {
    v1::GenerateResponse response;
    auto* const done = response.mutable_done();
    done->set_finish_reason(reason);
    done->mutable_usage()->set_prompt_tokens(7);
    done->mutable_usage()->set_new_tokens(3);
    done->mutable_timings()->mutable_total()->set_seconds(2);
    done->mutable_timings()->mutable_total()->set_nanos(5);
    done->mutable_timings()->mutable_inference()->set_nanos(9);
    return response;
  }
  static v1::GenerateResponse CallPiece(uint32_t index, const std::string& name,
                                        const std::string& arguments,
                                        bool complete) {
    v1::GenerateResponse response;
    auto* const piece = response.mutable_piece()->add_tool_calls();
    piece->set_index(index);
    piece->set_name(name);
    piece->set_arguments(arguments);
    piece->set_complete(complete);
    return response;
  }

  FakeClock clock_;
  Environment environment_;
  std::unique_ptr<Codec> codec_;
};

TEST_F(OllamaTest, ReadsMessages) {
  // As text, since json sorts the members of objects.
  const auto request = ReadOllamaRequest(
      R"({"model": "switch", "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Weather?", "images": []},
            {"role": "assistant", "thinking": "Hm.", "tool_calls": [
              {"id": "c1", "function": {"index": 0, "name": "weather",
               "arguments": {"town": "Bern", "days": 1, "a": 2.5}}}]},
            {"role": "tool", "tool_name": "weather", "content": "rain"},
            {"role": "assistant"}],
          "tools": [{"type": "function", "function": {
            "name": "weather", "description": "it", "parameters": {
              "type": "object", "properties": {"z": {}, "b": {}}}}}],
          "format": {"type": "object", "properties": {"z": {}, "b": {}}}})",
      OllamaPath::kChat, models(), nullptr);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(request->stream);
  const v1::Chat& chat = request->generate.chat();
  ASSERT_EQ(chat.messages_size(), 5);
  EXPECT_EQ(chat.messages(0).role(), "system");
  EXPECT_EQ(chat.messages(1).content(), "Weather?");
  EXPECT_EQ(chat.messages(2).reasoning_content(), "Hm.");
  EXPECT_FALSE(chat.messages(2).has_content());
  ASSERT_EQ(chat.messages(2).tool_calls_size(), 1);
  EXPECT_EQ(chat.messages(2).tool_calls(0).id(), "c1");
  EXPECT_EQ(chat.messages(2).tool_calls(0).name(), "weather");
  EXPECT_EQ(chat.messages(2).tool_calls(0).arguments(),
            R"({"town":"Bern","days":1,"a":2.5})");
  EXPECT_EQ(chat.messages(3).name(), "weather");
  EXPECT_TRUE(chat.messages(4).has_content());
  EXPECT_TRUE(chat.answer_parts());
  EXPECT_THAT(chat.tools(0), HasSubstr(R"({"z":{},"b":{}})"));
  EXPECT_EQ(request->generate.decoding().constraint().json_schema(),
            R"({"type":"object","properties":{"z":{},"b":{}}})");
}

TEST_F(OllamaTest, ReadsOptions) {
  const auto request = ReadOptions({{"temperature", 0.5},
                                    {"top_k", 20},
                                    {"top_p", 0.75},
                                    {"min_p", 0.125},
                                    {"typical_p", 0.5},
                                    {"seed", 4},
                                    {"num_predict", 9},
                                    {"stop", {"a", "b"}},
                                    {"num_ctx", 512},
                                    {"repeat_penalty", 1.25},
                                    {"repeat_last_n", -1},
                                    {"use_mmap", true},
                                    {"presence_penalty", 0.25},
                                    {"mirostat_tau", 5.0},
                                    {"mirostat", 0},
                                    {"frequency_penalty", 0.5},
                                    {"num_thread", 4},
                                    {"tfs_z", 1.0}});
  ASSERT_TRUE(request.ok()) << request.status();
  const v1::DecodingOptions& decoding = request->decoding();
  EXPECT_EQ(decoding.temperature(), 0.5f);
  EXPECT_EQ(decoding.top_k(), 20u);
  EXPECT_EQ(decoding.top_p(), 0.75f);
  EXPECT_EQ(decoding.min_p(), 0.125f);
  EXPECT_EQ(decoding.typical_p(), 0.5f);
  EXPECT_EQ(decoding.seed(), 4u);
  EXPECT_EQ(decoding.max_new_tokens(), 9u);
  EXPECT_THAT(decoding.stop(), ElementsAre("a", "b"));
  EXPECT_EQ(decoding.repetition_penalty(), 1.25f);
  EXPECT_EQ(decoding.presence_penalty(), 0.25f);
  EXPECT_EQ(decoding.frequency_penalty(), 0.5f);

  const auto none = ReadChat(json::object());
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->decoding().sample());
  EXPECT_EQ(none->decoding().sampling_defaults(), v1::SAMPLING_DEFAULTS_CHAT);
  EXPECT_FALSE(none->decoding().has_max_new_tokens());
}

TEST_F(OllamaTest, NumbersThatMeanNoLimit) {
  for (const int most : {-2, -1, 0}) {
    const auto request =
        ReadOptions({{"num_predict", most}, {"seed", -1}, {"top_k", -1}});
    ASSERT_TRUE(request.ok()) << request.status();
    EXPECT_FALSE(request->decoding().has_max_new_tokens());
    EXPECT_FALSE(request->decoding().has_seed());
    EXPECT_EQ(request->decoding().top_k(), 0u);
  }
  EXPECT_THAT(ReadOptions({{"num_predict", -3}}),
              IsError(kInvalidOption, "options.num_predict"));
}

TEST_F(OllamaTest, PenaltiesAreForTheLastTokensOrAllOrNone) {
  const auto last =
      ReadOptions({{"repeat_penalty", 1.25}, {"repeat_last_n", 64}});
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->decoding().repetition_penalty(), 1.25f);
  EXPECT_EQ(last->decoding().penalty_window(), 64u);
  const auto all =
      ReadOptions({{"repeat_penalty", 1.25}, {"repeat_last_n", -1}});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_FALSE(all->decoding().has_penalty_window());
  EXPECT_THAT(ReadOptions({{"repeat_last_n", -2}}),
              IsError(kInvalidOption, "options.repeat_last_n"));
  const auto none = ReadOptions(
      {{"repeat_penalty", 1.5}, {"presence_penalty", 1}, {"repeat_last_n", 0}});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->decoding().repetition_penalty(), 1);
  EXPECT_FALSE(none->decoding().has_presence_penalty());
}

TEST_F(OllamaTest, WhatIsNotSupportedIsRefusedByName) {
  const auto message = [](const json& more) {
    json one = {{"role", "user"}, {"content", "Hi"}};
    one.update(more);
    return json{{"messages", {one}}};
  };
  const json call = {{"function", {{"name", "f"}, {"arguments", "{}"}}}};
  const std::vector<std::pair<json, const char*>> chats = {
      {message({{"images", {"aGk="}}}), "messages[0].images"},
      {message({{"role", "boss"}}), "messages[0].role"},
      {message({{"content", 1}}), "messages[0].content"},
      {message({{"tool_calls", {call}}}),
       "messages[0].tool_calls[0].function.arguments"},
      {message({{"tool_calls", {{{"function", json::object()}}}}}),
       "messages[0].tool_calls[0].function.name"},
      {{{"messages", "Hi"}}, "messages"},
      {{{"tools", {1}}}, "tools[0]"},
      {{{"options", 1}}, "options"},
      {{{"options", {{"mirostat", 1}}}}, "options.mirostat"},
      {{{"options", {{"tfs_z", 0.5}}}}, "options.tfs_z"},
      {{{"options", {{"penalize_newline", false}}}},
       "options.penalize_newline"},
      {{{"options", {{"temprature", 1}}}}, "options.temprature"},
      {{{"format", "yaml"}}, "format"},
      {{{"think", "much"}}, "think"},
      {{{"top_logprobs", 2}}, "top_logprobs"},
      {{{"truncate", true}}, "truncate"},
      {{{"shift", true}}, "shift"},
      {{{"mesages", 1}}, "mesages"},
      {{{"model", "translator"}}, "messages"}};
  for (const auto& [more, place] : chats) {
    EXPECT_THAT(ReadChat(more), IsError(kInvalidOption, place)) << more;
  }
  const std::vector<std::pair<json, const char*>> prompts = {
      {{{"suffix", "x"}}, "suffix"},
      {{{"template", "x"}}, "template"},
      {{{"context", {1}}}, "context"},
      {{{"images", {"aGk="}}}, "images"},
      {{{"truncate", true}}, "truncate"},
      {{{"raw", true}, {"system", "x"}}, "system"},
      {{{"raw", true}, {"think", true}}, "think"},
      {{{"model", "bare"}, {"system", "x"}}, "system"},
      {{{"prompt", 1}}, "prompt"}};
  for (const auto& [more, place] : prompts) {
    EXPECT_THAT(ReadPrompt(more), IsError(kInvalidOption, place)) << more;
  }
}

TEST_F(OllamaTest, ThinkSetsWhatTheTemplateReads) {
  const auto variables = [this](const char* model, const json& think) {
    const auto request = ReadChat({{"model", model}, {"think", think}});
    EXPECT_TRUE(request.ok()) << request.status();
    return request.ok() ? request->chat().variables()
                        : google::protobuf::Struct();
  };
  for (const bool on : {false, true}) {
    EXPECT_EQ(
        variables("switch", on).fields().at("enable_thinking").bool_value(),
        on);
  }
  EXPECT_TRUE(
      variables("switch", "low").fields().at("enable_thinking").bool_value());
  EXPECT_EQ(
      variables("graded", "low").fields().at("reasoning_effort").string_value(),
      "low");
  EXPECT_TRUE(variables("graded", true).fields().empty());
  // A model that never thinks does what is asked for.
  EXPECT_TRUE(variables("plain", false).fields().empty());
  for (const json& think : {json(true), json("high")}) {
    EXPECT_THAT(ReadChat({{"model", "plain"}, {"think", think}}),
                IsError(kInvalidOption, "think"));
  }
}

TEST_F(OllamaTest, APromptIsAChatIfTheModelTakesChats) {
  const auto chat = ReadPrompt({{"system", "Be kind."}});
  ASSERT_TRUE(chat.ok()) << chat.status();
  ASSERT_EQ(chat->chat().messages_size(), 2);
  EXPECT_EQ(chat->chat().messages(0).role(), "system");
  EXPECT_EQ(chat->chat().messages(1).role(), "user");
  EXPECT_EQ(chat->chat().messages(1).content(), "Hi");
  EXPECT_FALSE(chat->has_input());
  EXPECT_EQ(chat->decoding().sampling_defaults(), v1::SAMPLING_DEFAULTS_CHAT);
  for (const json& more :
       {json{{"raw", true}, {"truncate", true}},
        json{{"model", "bare"}, {"truncate", true}, {"think", false}},
        json{{"model", "translator"}, {"truncate", true}}}) {
    const auto prompt = ReadPrompt(more);
    ASSERT_TRUE(prompt.ok()) << prompt.status() << more;
    EXPECT_EQ(prompt->input().text(), "Hi");
    EXPECT_FALSE(prompt->has_chat());
    EXPECT_TRUE(prompt->truncate());
    EXPECT_EQ(prompt->decoding().sampling_defaults(),
              v1::SAMPLING_DEFAULTS_UNSPECIFIED);
  }
}

TEST_F(OllamaTest, ModelsHaveTagsAndDefaults) {
  EXPECT_EQ(OllamaModelName(models(), "plain:latest"), "plain");
  EXPECT_EQ(OllamaModelName(models(), "none:latest"), "none:latest");
  EXPECT_EQ(OllamaModelName(models(), "plain:7b"), "plain:7b");
  ASSERT_TRUE(
      environment_.models.Add(Chatting("plain:latest", "{{ messages }}")).ok());
  EXPECT_EQ(OllamaModelName(models(), "plain:latest"), "plain:latest");

  EXPECT_THAT(ReadChat({{"model", "none"}}),
              IsError(absl::StatusCode::kNotFound, "none"));
  // The first model is a translator.
  EXPECT_EQ(ReadChat({{"model", ""}})->model(), "plain");
  EXPECT_EQ(ReadPrompt({{"model", ""}})->model(), "plain");
  EXPECT_EQ(ReadPrompt({{"model", ""}, {"raw", true}})->model(), "translator");
  environment_.models.SetNames(
      {.aliases = {{"llama3", "graded"}}, .any = true});
  EXPECT_EQ(ReadChat({{"model", "llama3:latest"}})->model(), "graded");
  EXPECT_EQ(ReadChat({{"model", "gemma3:1b"}})->model(), "plain");
}

TEST_F(OllamaTest, StreamsLines) {
  BeginChat(json::object());
  EXPECT_TRUE(codec_->streams());
  EXPECT_EQ(codec_->stream_type(), "application/x-ndjson");
  const json thought = LineOf(Text("", "Hm."));
  EXPECT_EQ(thought["model"], "switch");
  EXPECT_EQ(thought["message"]["thinking"], "Hm.");
  EXPECT_EQ(thought["message"]["content"], "");
  const json line = LineOf(Text("Hello"));
  EXPECT_EQ(line["message"],
            json({{"role", "assistant"}, {"content", "Hello"}}));
  EXPECT_EQ(line["done"], false);
  EXPECT_EQ(line["created_at"], OllamaTime(clock_.Now()));
  EXPECT_FALSE(line.contains("done_reason"));
  const v1::GenerateResponse end = End(v1::FINISH_REASON_LENGTH);
  const json last = json::parse(codec_->EndStream({}, &end));
  EXPECT_EQ(last["done"], true);
  EXPECT_EQ(last["done_reason"], "length");
  EXPECT_EQ(last["message"]["content"], "");
  EXPECT_EQ(last["total_duration"], 2'000'000'005);
  EXPECT_EQ(last["eval_duration"], 9);
  EXPECT_EQ(last["prompt_eval_count"], 7);
  EXPECT_EQ(last["eval_count"], 3);
  // They are not known.
  EXPECT_FALSE(last.contains("load_duration"));
  EXPECT_FALSE(last.contains("prompt_eval_duration"));
}

TEST_F(OllamaTest, TimesAreThoseOfRfc3339) {
  EXPECT_EQ(OllamaTime(absl::FromUnixMillis(1500)), "1970-01-01T00:00:01.5Z");
}

TEST_F(OllamaTest, ACallIsSentWhole) {
  BeginChat(json::object());
  EXPECT_EQ(LineOf(CallPiece(0, "weather", R"({"town":)", false)), nullptr);
  EXPECT_EQ(LineOf(CallPiece(1, "time", "", false)), nullptr);
  const json line = LineOf(CallPiece(0, "", R"("Bern"})", true));
  EXPECT_EQ(line["message"]["tool_calls"],
            json({{{"function",
                    {{"index", 0},
                     {"name", "weather"},
                     {"arguments", {{"town", "Bern"}}}}}}}));
  EXPECT_EQ(line["message"]["content"], "");
  // The end of the text cuts the other one.
  const json last = LineOf(End(v1::FINISH_REASON_LENGTH));
  EXPECT_FALSE(last["message"].contains("tool_calls"));
}

TEST_F(OllamaTest, AnErrorEndsAStreamAsALine) {
  BeginChat(json::object());
  const std::string line =
      codec_->EndStream({InvalidField("decoding.max_new_tokens",
                                      "is 9, and max_new_tokens may be 5"),
                         "id"},
                        nullptr);
  EXPECT_TRUE(line.ends_with("}\n"));
  EXPECT_EQ(json::parse(line)["error"],
            "options.num_predict: is 9, and options.num_predict may be 5 "
            "(request id)");
}

TEST_F(OllamaTest, ErrorsNameMembersAsTheirClientsDo) {
  BeginChat({{"stream", false}});
  const std::vector<std::pair<const char*, const char*>> names = {
      {"chat.messages[1].content", "messages[1].content"},
      {"chat.tools[0]", "tools[0]"},
      {"chat.variables", "think"},
      {"chat", "messages"},
      {"decoding.constraint.json_schema.type", "format.type"},
      {"decoding.constraint", "format"},
      {"decoding.repetition_penalty", "options.repeat_penalty"},
      {"decoding.stop[0]", "options.stop[0]"},
      {"decoding.top_p", "options.top_p"}};
  for (const auto& [ours, theirs] : names) {
    const HttpAnswer answer =
        codec_->Finish({InvalidField(ours, "is wrong"), ""}, nullptr);
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(json::parse(answer.body)["error"],
              std::string(theirs) + ": is wrong");
  }
  v1::GenerateRequest request;
  Begin(NewOllamaGenerateCodec, {{"prompt", "Hi"}}, &request);
  EXPECT_EQ(
      json::parse(
          codec_->Finish({InvalidField("input.text", "is wrong"), ""}, nullptr)
              .body)["error"],
      "prompt: is wrong");
}

TEST_F(OllamaTest, AWholeAnswerIsOneObject) {
  BeginChat({{"stream", false}, {"logprobs", true}});
  EXPECT_FALSE(codec_->streams());
  EXPECT_EQ(codec_->Write(Text("", "Hm.")), "");
  v1::GenerateResponse piece = Text("Hel");
  v1::TokenLogprobs* const token = piece.mutable_piece()->add_logprobs();
  token->mutable_token()->set_id(PuppetTokenizer::kFirst + 'H');
  token->mutable_token()->set_logprob(-0.5f);
  codec_->Write(piece);
  codec_->Write(Text("lo"));
  codec_->Write(CallPiece(0, "now", "{}", true));
  const v1::GenerateResponse end = End(v1::FINISH_REASON_STOP);
  const json answer = json::parse(codec_->Finish({}, &end).body);
  EXPECT_EQ(answer["message"]["content"], "Hello");
  EXPECT_EQ(answer["message"]["thinking"], "Hm.");
  EXPECT_EQ(answer["message"]["tool_calls"].size(), 1u);
  EXPECT_EQ(answer["message"]["tool_calls"][0]["function"]["arguments"],
            json::object());
  EXPECT_EQ(answer["logprobs"][0]["token"], "H");
  EXPECT_EQ(answer["logprobs"][0]["logprob"], -0.5);
  EXPECT_EQ(answer["done"], true);
  EXPECT_EQ(answer["done_reason"], "stop");

  v1::GenerateRequest request;
  Begin(NewOllamaGenerateCodec,
        {{"model", "plain"}, {"prompt", "Hi"}, {"stream", false}}, &request);
  codec_->Write(Text("Hello", "Hm."));
  const json text = json::parse(codec_->Finish({}, &end).body);
  EXPECT_EQ(text["response"], "Hello");
  EXPECT_EQ(text["thinking"], "Hm.");
  EXPECT_EQ(text["eval_count"], 3);
  EXPECT_FALSE(text.contains("message"));
}

TEST_F(OllamaTest, AnAnswerThatIsTooLongIsAnError) {
  environment_.limits.max_response_bytes = 100;
  BeginChat({{"stream", false}});
  codec_->Write(Text(std::string(200, 'a')));
  const v1::GenerateResponse end = End(v1::FINISH_REASON_STOP);
  const HttpAnswer answer = codec_->Finish({}, &end);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(json::parse(answer.body)["error"].get<std::string>(),
              ErrorAt("stream"));
}

TEST_F(OllamaTest, RequestsWithoutAPromptTellThatTheModelIsLoaded) {
  v1::GetModelRequest request;
  v1::Model model;
  model.set_name("graded");
  Begin(NewOllamaGenerateLoadCodec,
        {{"model", "graded:latest"}, {"keep_alive", "5m"}}, &request);
  EXPECT_EQ(request.name(), "graded");
  json answer = json::parse(codec_->Finish({}, &model).body);
  EXPECT_EQ(answer["model"], "graded");
  EXPECT_EQ(answer["response"], "");
  EXPECT_EQ(answer["done"], true);
  EXPECT_EQ(answer["done_reason"], "load");
  Begin(NewOllamaChatLoadCodec,
        {{"model", "graded"}, {"messages", json::array()}}, &request);
  answer = json::parse(codec_->Finish({}, &model).body);
  EXPECT_EQ(answer["message"]["role"], "assistant");
  EXPECT_EQ(answer["done_reason"], "load");
  codec_ = NewOllamaChatLoadCodec(environment_, {});
  EXPECT_THAT(codec_->Read(R"({"model": "none"})", &request),
              IsError(absl::StatusCode::kNotFound, "none"));
  EXPECT_THAT(codec_->Read(R"({"mesages": []})", &request),
              IsError(kInvalidOption, "mesages"));
}

TEST_F(OllamaTest, EmbedsTexts) {
  v1::EncodeRequest request;
  Begin(NewOllamaEmbedCodec,
        {{"model", "translator:latest"},
         {"input", {"a", "b"}},
         {"dimensions", 2},
         {"options", {{"num_ctx", 9}}}},
        &request);
  EXPECT_EQ(request.model(), "translator");
  ASSERT_EQ(request.inputs_size(), 2);
  EXPECT_EQ(request.inputs(1).text(), "b");
  EXPECT_TRUE(request.truncate());
  EXPECT_EQ(request.dimensions(), 2u);
  v1::EncodeResponse response;
  response.mutable_model()->set_name("translator");
  for (const float value : {0.5f, -1.f}) {
    v1::EncodeResult* const result = response.add_results();
    result->add_embedding(value);
    result->set_token_count(3);
  }
  response.mutable_timings()->mutable_total()->set_nanos(8);
  EXPECT_EQ(json::parse(codec_->Finish({}, &response).body),
            json({{"model", "translator"},
                  {"embeddings", {{0.5}, {-1.0}}},
                  {"total_duration", 8},
                  {"prompt_eval_count", 6}}));

  request.Clear();
  Begin(NewOllamaEmbedCodec, {{"input", "a"}, {"truncate", false}}, &request);
  EXPECT_EQ(request.inputs_size(), 1);
  EXPECT_FALSE(request.truncate());
  request.Clear();
  Begin(NewOllamaEmbeddingsCodec, {{"prompt", "a"}}, &request);
  EXPECT_EQ(request.inputs(0).text(), "a");
  EXPECT_EQ(json::parse(codec_->Finish({}, &response).body),
            json({{"embedding", {0.5}}}));
  EXPECT_EQ(
      json::parse(codec_
                      ->Finish({InvalidField("inputs[0].text", "is wrong"), ""},
                               nullptr)
                      .body)["error"],
      "prompt: is wrong");
}

TEST_F(OllamaTest, EmbedsNothingElse) {
  const std::vector<std::pair<json, const char*>> bad = {
      {json::object(), "input"},
      {{{"input", ""}}, "input"},
      {{{"input", json::array()}}, "input"},
      {{{"input", {"a", ""}}}, "input[1]"},
      {{{"input", {"a", 1}}}, "input[1]"},
      {{{"input", 1}}, "input"},
      {{{"input", "a"}, {"dimensions", 0}}, "dimensions"},
      {{{"prompt", "a"}, {"input", "a"}}, "prompt"}};
  codec_ = NewOllamaEmbedCodec(environment_, {});
  for (const auto& [body, place] : bad) {
    v1::EncodeRequest request;
    EXPECT_THAT(codec_->Read(body.dump(), &request),
                IsError(kInvalidOption, place))
        << body;
  }
  codec_ = NewOllamaEmbeddingsCodec(environment_, {});
  for (const json& body :
       {json{{"prompt", {"a"}}}, json{{"prompt", ""}}, json::object()}) {
    v1::EncodeRequest request;
    EXPECT_THAT(codec_->Read(body.dump(), &request),
                IsError(kInvalidOption, "prompt"))
        << body;
  }
}

TEST_F(OllamaTest, ListsModels) {
  v1::ListModelsResponse list;
  v1::Model* const model = list.add_models();
  model->set_name("graded");
  model->set_family("qwen3");
  model->set_design(v1::DESIGN_DECODER);
  model->set_parameter_count(134'515'008);
  model->set_weight_bytes(500);
  model->set_kv_cache_bytes(20);
  model->set_revision("0123456789abcdef");
  model->set_precision(v1::PRECISION_INT8);
  model->mutable_limits()->set_max_target_tokens(2048);
  model->set_decoder_layer_count(30);
  model->set_d_model(576);
  json one = json::parse(NewOllamaTagsCodec(environment_, {})
                             ->Finish({}, &list)
                             .body)["models"][0];
  EXPECT_EQ(one["name"], "graded");
  EXPECT_EQ(one["model"], "graded");
  EXPECT_EQ(one["size"], 500);
  EXPECT_EQ(one["digest"], "0123456789abcdef");
  EXPECT_EQ(one["details"]["family"], "qwen3");
  EXPECT_EQ(one["details"]["parameter_size"], "134.52M");
  EXPECT_EQ(one["details"]["quantization_level"], "INT8");
  EXPECT_FALSE(one.contains("expires_at"));
  one = json::parse(
      NewOllamaPsCodec(environment_, {})->Finish({}, &list).body)["models"][0];
  EXPECT_EQ(one["size"], 520);
  EXPECT_EQ(one["size_vram"], 0);
  EXPECT_EQ(one["context_length"], 2048);
  EXPECT_TRUE(one.contains("expires_at"));

  v1::GetModelRequest request;
  Begin(NewOllamaShowCodec, {{"model", "graded:latest"}}, &request);
  EXPECT_EQ(request.name(), "graded");
  json shown = json::parse(codec_->Finish({}, model).body);
  EXPECT_EQ(shown["model_info"]["general.architecture"], "qwen3");
  EXPECT_EQ(shown["model_info"]["qwen3.context_length"], 2048);
  EXPECT_EQ(shown["model_info"]["qwen3.block_count"], 30);
  EXPECT_EQ(shown["capabilities"], json({"completion", "thinking"}));
  model->set_name("switch");
  shown = json::parse(codec_->Finish({}, model).body);
  EXPECT_EQ(shown["capabilities"], json({"completion", "tools", "thinking"}));
  model->set_name("translator");
  shown = json::parse(codec_->Finish({}, model).body);
  EXPECT_EQ(shown["capabilities"], json({"completion", "embedding"}));
  EXPECT_THAT(codec_->Read("{}", &request), IsError(kInvalidOption, "model"));
  EXPECT_TRUE(json::parse(NewOllamaVersionCodec(environment_, {})
                              ->Finish({}, nullptr)
                              .body)["version"]
                  .is_string());
}

}  // namespace
}  // namespace trivium
