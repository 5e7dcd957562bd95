// Anthropic's Messages API: bodies as Generate's chats, and its answers as
// blocks, whole and as events.
#include "server/adapters/anthropic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "internal/completions.pb.h"
#include "nlohmann/json.hpp"
#include "server/adapters/make_prompt.h"
#include "server/adapters/openai.h"
#include "server/errors/status.h"
#include "tests/server/calls/handlers_fixture.h"
#include "tests/support/error_texts.h"
#include "tests/support/puppet_model.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kBadRequest = absl::StatusCode::kInvalidArgument;

constexpr char kThinkingTemplate[] =
    "{%- for m in messages %}{{ m.role }}:{{ m.content }};{% endfor -%}"
    "{%- for t in tools or [] %}{{ t|tojson }}{% endfor -%}"
    "{%- if add_generation_prompt %}assistant:{% endif -%}"
    "{%- if enable_thinking is false %}quietly{% endif -%}";

// An event of a stream.
struct Event {
  std::string name;
  json data;
};

std::vector<Event> EventsOf(const std::string& text) {
  std::vector<Event> events;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\n\n", at);
    const std::string one = text.substr(at, end - at);
    const size_t line = one.find('\n');
    EXPECT_EQ(one.substr(0, 7), "event: ") << one;
    EXPECT_EQ(one.substr(line + 1, 6), "data: ") << one;
    events.push_back(
        {one.substr(7, line - 7), json::parse(one.substr(line + 7))});
    EXPECT_EQ(events.back().data["type"], events.back().name);
    at = end + 2;
  }
  return events;
}

// The message that a client makes of a stream, as Anthropic's own does.
json Joined(const std::string& stream) {
  json message;
  std::vector<std::string> inputs;
  int open = -1;
  for (const auto& [name, data] : EventsOf(stream)) {
    if (name == "message_start") {
      EXPECT_TRUE(message.is_null());
      message = data["message"];
    } else if (name == "content_block_start") {
      EXPECT_EQ(open, -1);
      open = data["index"];
      EXPECT_EQ(data["index"], message["content"].size());
      message["content"].push_back(data["content_block"]);
      inputs.emplace_back();
    } else if (name == "content_block_delta") {
      EXPECT_EQ(data["index"], open);
      const json& delta = data["delta"];
      json& block = message["content"][open];
      if (delta["type"] == "input_json_delta") {
        inputs[open] += delta["partial_json"].get<std::string>();
      } else if (delta["type"] == "signature_delta") {
        block["signature"] = delta["signature"];
      } else {
        const char* const key =
            delta["type"] == "text_delta" ? "text" : "thinking";
        block[key] =
            block[key].get<std::string>() + delta[key].get<std::string>();
      }
    } else if (name == "content_block_stop") {
      EXPECT_EQ(data["index"], open);
      if (const json input = json::parse(inputs[open], nullptr, false);
          input.is_object()) {
        message["content"][open]["input"] = input;
      }
      open = -1;
    } else if (name == "message_delta") {
      EXPECT_EQ(open, -1);
      message.update(data["delta"]);
      message["usage"] = data["usage"];
    } else {
      EXPECT_EQ(name, "message_stop");
    }
  }
  return message;
}

class AnthropicTest : public HandlersTest {
 protected:
  AnthropicTest() {
    Serve("chatter", kThinkingTemplate);
    Serve("plain", "{%- for m in messages %}{{ m.content }}{% endfor -%}");
  }

  void Serve(const std::string& name, const std::string& chat_template) {
    auto model = std::make_unique<PuppetModel>(Design::kDecoder);
    model->mutable_info().max_target_tokens = 4096;
    model->mutable_decoding().max_new_tokens = 64;
    model->mutable_chat_templates() = *ChatTemplates::FromConfig(
        {{"chat_template", chat_template}}, "tokenizer_config.json");
    const ModelHandle served = ServedPuppet(name, std::move(model));
    metrics_.AddModel(*served);
    EXPECT_TRUE(environment_.models.Add(served).ok());
  }

  // The request that a body becomes.
  absl::StatusOr<v1::GenerateRequest> Read(const std::string& body) {
    codec_ = NewAnthropicMessagesCodec(environment_, RequestHead());
    v1::GenerateRequest request;
    const absl::Status status = codec_->Read(body, &request);
    if (!status.ok()) return status;
    return request;
  }
  // A body with one message of the user, and `more`.
  static ordered_json Body(const ordered_json& more) {
    ordered_json body = {
        {"model", "chatter"},
        {"max_tokens", 9},
        {"messages", {{{"role", "user"}, {"content", "Hello"}}}}};
    if (!more.is_null()) body.update(more);
    return body;
  }
  v1::GenerateRequest Good(const ordered_json& more) {
    const auto request = Read(Body(more).dump());
    EXPECT_TRUE(request.ok()) << request.status() << more;
    return request.ok() ? *request : v1::GenerateRequest();
  }
  absl::Status Bad(const ordered_json& more) {
    return Read(Body(more).dump()).status();
  }
  v1::Chat ChatOf(const ordered_json& messages) {
    return Good({{"messages", messages}}).chat();
  }

  // The answer of the last Read to these pieces, as JSON or as events.
  std::string AnswerTo(const std::vector<v1::GenerateResponse>& responses) {
    std::string text;
    for (size_t i = 0; i + 1 < responses.size(); ++i) {
      text += codec_->Write(responses[i]);
    }
    const Ending ending = {absl::OkStatus(), "id"};
    if (codec_->streams()) {
      return text + codec_->EndStream(ending, &responses.back());
    }
    EXPECT_EQ(text, "");
    const HttpAnswer answer = codec_->Finish(ending, &responses.back());
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.headers, ElementsAre(testing::Pair("request-id", "id")));
    return answer.body;
  }

  std::unique_ptr<Codec> codec_;
};

v1::GenerateResponse AnswerPiece(const std::string& reasoning,
                                 const std::string& text) {
  v1::GenerateResponse response;
  response.mutable_piece()->set_reasoning(reasoning);
  response.mutable_piece()->set_text(text);
  return response;
}

v1::GenerateResponse CallPiece(uint32_t index, const std::string& name,
                               const std::string& arguments,
                               const std::string& id = "") {
  v1::GenerateResponse response;
  auto* const call = response.mutable_piece()->add_tool_calls();
  call->set_index(index);
  call->set_name(name);
  call->set_id(id);
  call->set_arguments(arguments);
  return response;
}

v1::GenerateResponse DoneFor(v1::FinishReason reason) {
  v1::GenerateResponse response;
  response.mutable_done()->set_finish_reason(reason);
  v1::Usage* const usage = response.mutable_done()->mutable_usage();
  usage->set_prompt_tokens(30);
  usage->set_cached_tokens(20);
  usage->set_new_tokens(7);
  return response;
}

TEST_F(AnthropicTest, ReadsTextsAndOptions) {
  const v1::GenerateRequest request =
      Good({{"system",
             {{{"type", "text"},
               {"text", "Be "},
               {"cache_control", {{"type", "ephemeral"}}}},
              {{"type", "text"}, {"text", "kind."}, {"citations", nullptr}}}},
            {"messages",
             {{{"role", "user"}, {"content", "One"}},
              {{"role", "assistant"},
               {"content", {{{"type", "text"}, {"text", "Two"}}}}},
              {{"role", "user"},
               {"content",
                {{{"type", "text"}, {"text", "Thr"}},
                 {{"type", "text"}, {"text", "ee"}}}}}}},
            {"stop_sequences", {"x", "y"}},
            {"temperature", 0.5},
            {"top_p", 0.25},
            {"top_k", 3},
            {"stream", true},
            {"metadata", {{"user_id", "u"}}},
            {"service_tier", "auto"}});
  EXPECT_EQ(request.model(), "chatter");
  std::vector<std::string> texts;
  for (const auto& message : request.chat().messages()) {
    texts.push_back(message.role() + " " + message.content());
  }
  EXPECT_THAT(texts, ElementsAre("system Be kind.", "user One", "assistant Two",
                                 "user Three"));
  EXPECT_TRUE(request.chat().answer_parts());
  EXPECT_FALSE(request.chat().continue_final_message());
  const v1::DecodingOptions& decoding = request.decoding();
  EXPECT_EQ(decoding.max_new_tokens(), 9u);
  EXPECT_THAT(decoding.stop(), ElementsAre("x", "y"));
  EXPECT_EQ(decoding.temperature(), 0.5f);
  EXPECT_FALSE(decoding.sample());
  EXPECT_EQ(decoding.top_p(), 0.25f);
  EXPECT_EQ(decoding.top_k(), 3u);
  EXPECT_EQ(decoding.sampling_defaults(), v1::SAMPLING_DEFAULTS_CHAT);
  EXPECT_TRUE(codec_->streams());

  EXPECT_TRUE(Good({}).decoding().sample());
  EXPECT_FALSE(codec_->streams());
  EXPECT_EQ(Good({{"system", ""}}).chat().messages_size(), 1);
  // A chat that names no model gets the first that takes chats.
  EXPECT_EQ(Good({{"model", nullptr}}).model(), "chatter");
}

TEST_F(AnthropicTest, DocumentsOfTextAreText) {
  const ordered_json part = {{"type", "text"}, {"text", "Oslo"}};
  const ordered_json documents = {
      {{"type", "text"}, {"text", "Read:"}},
      {{"type", "document"},
       {"title", "Towns"},
       {"context", "Old"},
       {"citations", {{"enabled", false}}},
       {"cache_control", {{"type", "ephemeral"}}},
       {"source",
        {{"type", "text"}, {"media_type", "text/plain"}, {"data", "Bern"}}}},
      {{"type", "document"},
       {"source", {{"type", "content"}, {"content", {part, part}}}}},
      {{"type", "document"},
       {"source",
        {{"type", "base64"}, {"media_type", "text/plain"}, {"data", "UGFy"}}}},
      {{"type", "search_result"},
       {"title", "Found"},
       {"source", "a.example"},
       {"content", {part}}},
      {{"type", "text"}, {"text", "Which?"}}};
  EXPECT_THAT(ChatOf({{{"role", "user"}, {"content", documents}}})
                  .messages(0)
                  .content(),
              "Read:\n\nTowns\n\nOld\n\nBern\n\nOsloOslo\n\nPar\n\n"
              "Found\n\na.example\n\nOslo\n\nWhich?");
  const ordered_json call = {{"type", "tool_use"},
                             {"id", "a"},
                             {"name", "f"},
                             {"input", ordered_json::object()}};
  const v1::Chat chat = ChatOf({{{"role", "user"}, {"content", "Hi"}},
                                {{"role", "assistant"}, {"content", {call}}},
                                {{"role", "user"},
                                 {"content",
                                  {{{"type", "tool_result"},
                                    {"tool_use_id", "a"},
                                    {"content", {documents[2]}}}}}}});
  EXPECT_EQ(chat.messages(2).content(), "OsloOslo\n\n");
}

TEST_F(AnthropicTest, ExamplesOfInputsAreOfTheSchema) {
  const ordered_json tool = {
      {"name", "f"},
      {"input_schema", {{"type", "object"}}},
      {"input_examples", {{{"z", 1}, {"a", 2}}, ordered_json::object()}}};
  EXPECT_THAT(
      Good({{"tools", {tool}}}).chat().tools(),
      ElementsAre(R"({"type":"function","function":{"name":"f","parameters":)"
                  R"({"type":"object","examples":[{"z":1,"a":2},{}]}}})"));
}

TEST_F(AnthropicTest, ReadsCallsAndResultsOfTools) {
  const v1::Chat chat = ChatOf(
      {{{"role", "user"}, {"content", "What time is it in Bern?"}},
       {{"role", "assistant"},
        {"content",
         {{{"type", "thinking"}, {"thinking", "Ask "}, {"signature", "s"}},
          {{"type", "redacted_thinking"}, {"data", "abc"}},
          {{"type", "thinking"}, {"thinking", "twice."}, {"signature", ""}},
          {{"type", "text"}, {"text", "Let me see."}},
          {{"type", "tool_use"},
           {"id", "t1"},
           {"name", "time"},
           {"input", {{"zone", "CET"}, {"at", 1}}}},
          {{"type", "tool_use"},
           {"id", "t2"},
           {"name", "place"},
           {"input", ordered_json::object()}}}}},
       {{"role", "user"},
        {"content",
         {{{"type", "tool_result"}, {"tool_use_id", "t1"}, {"content", "9:00"}},
          {{"type", "tool_result"},
           {"tool_use_id", "t2"},
           {"is_error", true},
           {"content", {{{"type", "text"}, {"text", "no such place"}}}}},
          {{"type", "text"}, {"text", "So?"}}}}},
       {{"role", "assistant"},
        {"content",
         {{{"type", "tool_use"},
           {"id", "t3"},
           {"name", "time"},
           {"input", ordered_json::object()}}}}},
       {{"role", "user"},
        {"content", {{{"type", "tool_result"}, {"tool_use_id", "t3"}}}}}});
  ASSERT_EQ(chat.messages_size(), 7);
  const v1::Chat::Message& answer = chat.messages(1);
  EXPECT_EQ(answer.reasoning_content(), "Ask twice.");
  EXPECT_EQ(answer.content(), "Let me see.");
  ASSERT_EQ(answer.tool_calls_size(), 2);
  EXPECT_EQ(answer.tool_calls(0).id(), "t1");
  EXPECT_EQ(answer.tool_calls(0).name(), "time");
  // In the order of writing.
  EXPECT_EQ(answer.tool_calls(0).arguments(), R"({"zone":"CET","at":1})");
  EXPECT_EQ(answer.tool_calls(1).arguments(), "{}");
  EXPECT_EQ(chat.messages(2).role(), "tool");
  EXPECT_EQ(chat.messages(2).tool_call_id(), "t1");
  EXPECT_EQ(chat.messages(2).name(), "time");
  EXPECT_EQ(chat.messages(2).content(), "9:00");
  EXPECT_EQ(chat.messages(3).content(), "Error: no such place");
  EXPECT_EQ(chat.messages(4).role(), "user");
  EXPECT_EQ(chat.messages(4).content(), "So?");
  EXPECT_FALSE(chat.messages(5).has_content());
  EXPECT_EQ(chat.messages(6).role(), "tool");
  EXPECT_EQ(chat.messages(6).content(), "");
}

TEST_F(AnthropicTest, ReadsToolsInTheOrderOfWriting) {
  const ordered_json schema = {
      {"type", "object"},
      {"properties", {{"zone", {{"type", "string"}}}, {"at", {{"a", 1}}}}}};
  const ordered_json tools = {{"tools",
                               {{{"name", "time"},
                                 {"description", "Tells the time."},
                                 {"input_schema", schema},
                                 {"cache_control", {{"type", "ephemeral"}}}},
                                {{"type", "custom"},
                                 {"name", "place"},
                                 {"input_schema", {{"type", "object"}}}}}}};
  v1::Chat chat = Good(tools).chat();
  ASSERT_EQ(chat.tools_size(), 2);
  const ordered_json first = {{"type", "function"},
                              {"function",
                               {{"name", "time"},
                                {"description", "Tells the time."},
                                {"parameters", schema}}}};
  EXPECT_EQ(chat.tools(0), first.dump());
  EXPECT_EQ(ordered_json::parse(chat.tools(1))["function"]["name"], "place");
  EXPECT_FALSE(chat.has_parallel_tool_calls());

  const auto choose = [&](const ordered_json& choice) {
    ordered_json more = tools;
    more["tool_choice"] = choice;
    return Good(more).chat();
  };
  EXPECT_EQ(choose({{"type", "auto"}}).tool_choice(),
            v1::Chat::TOOL_CHOICE_AUTO);
  EXPECT_EQ(choose({{"type", "none"}}).tool_choice(),
            v1::Chat::TOOL_CHOICE_NONE);
  chat = choose({{"type", "any"}, {"disable_parallel_tool_use", true}});
  EXPECT_EQ(chat.tool_choice(), v1::Chat::TOOL_CHOICE_REQUIRED);
  EXPECT_FALSE(chat.has_tool_name());
  EXPECT_FALSE(chat.parallel_tool_calls());
  EXPECT_TRUE(chat.has_parallel_tool_calls());
  chat = choose({{"type", "tool"}, {"name", "place"}});
  EXPECT_EQ(chat.tool_choice(), v1::Chat::TOOL_CHOICE_REQUIRED);
  EXPECT_EQ(chat.tool_name(), "place");
}

TEST_F(AnthropicTest, HoldsAnAnswerToASchema) {
  const ordered_json schema = {{"type", "object"},
                               {"properties", {{"z", {}}, {"a", {}}}}};
  const ordered_json format = {{"type", "json_schema"}, {"schema", schema}};
  EXPECT_EQ(Good({{"output_config", {{"format", format}}}})
                .decoding()
                .constraint()
                .json_schema(),
            schema.dump());
  EXPECT_FALSE(Good({{"output_config", {{"format", nullptr}}}})
                   .decoding()
                   .has_constraint());
  // Its older name.
  EXPECT_EQ(
      Good({{"output_format", format}}).decoding().constraint().json_schema(),
      schema.dump());
}

TEST_F(AnthropicTest, AnAssistantsLastMessageIsContinued) {
  const v1::Chat chat =
      ChatOf({{{"role", "user"}, {"content", "Hi"}},
              {{"role", "assistant"}, {"content", "The answer is"}}});
  EXPECT_TRUE(chat.continue_final_message());
  EXPECT_EQ(chat.messages(1).content(), "The answer is");
}

TEST_F(AnthropicTest, ThinksIfItIsAskedTo) {
  const auto variable = [&](const ordered_json& thinking,
                            const char* model = "chatter") -> std::string {
    const v1::Chat chat =
        Good({{"model", model}, {"thinking", thinking}}).chat();
    const auto& fields = chat.variables().fields();
    const auto found = fields.find("enable_thinking");
    if (found == fields.end()) return "unset";
    return found->second.bool_value() ? "true" : "false";
  };
  EXPECT_EQ(variable(nullptr), "false");
  EXPECT_EQ(variable({{"type", "disabled"}}), "false");
  EXPECT_EQ(variable({{"type", "enabled"}, {"budget_tokens", 1024}}), "true");
  EXPECT_EQ(variable({{"type", "adaptive"}, {"display", "summarized"}}),
            "true");
  // How much is told only where thoughts are asked for.
  for (const char* type : {"adaptive", "disabled"}) {
    const v1::Chat chat = Good({{"model", "chatter"},
                                {"thinking", {{"type", type}}},
                                {"output_config", {{"effort", "max"}}}})
                              .chat();
    EXPECT_EQ(chat.variables().fields().at("enable_thinking").bool_value(),
              std::string_view(type) == "adaptive");
  }
  // The template of this one has no such variable.
  EXPECT_EQ(variable(nullptr, "plain"), "unset");
  EXPECT_EQ(variable({{"type", "disabled"}}, "plain"), "unset");
  EXPECT_EQ(variable({{"type", "adaptive"}}, "plain"), "unset");
  EXPECT_THAT(Bad({{"model", "plain"}, {"thinking", {{"type", "enabled"}}}}),
              IsError(absl::StatusCode::kInvalidArgument, "thinking"));
}

TEST_F(AnthropicTest, WhatCannotBeDoneIsRefusedByName) {
  const ordered_json schema = {{"type", "object"}};
  const auto user = [](const ordered_json& block) -> ordered_json {
    return {{"messages",
             {{{"role", "user"}, {"content", ordered_json::array({block})}}}}};
  };
  const auto assistant = [](const ordered_json& content) -> ordered_json {
    return {{"messages",
             {{{"role", "user"}, {"content", "Hi"}},
              {{"role", "assistant"}, {"content", content}}}}};
  };
  const std::vector<std::pair<ordered_json, const char*>> cases = {
      {{{"max_tokens", nullptr}}, "max_tokens"},
      {{{"max_tokens", 0}}, "max_tokens"},
      {{{"messages", nullptr}}, "messages"},
      {{{"messages", ordered_json::array()}}, "messages"},
      {{{"messages", {{{"role", "boss"}, {"content", "x"}}}}},
       "messages[0].role"},
      {{{"messages", {{{"role", "user"}}}}}, "messages[0].content"},
      {{{"messages", {{{"role", "user"}, {"content", 1}}}}},
       "messages[0].content"},
      {user({{"type", "image"}, {"source", schema}}),
       "messages[0].content[0].type"},
      {user({{"type", "document"}, {"source", schema}}),
       "messages[0].content[0].source.type"},
      {user({{"type", "document"},
             {"source", {{"type", "url"}, {"url", "http://a.example"}}}}),
       "messages[0].content[0].source.type"},
      {user({{"type", "document"},
             {"source",
              {{"type", "base64"},
               {"media_type", "application/pdf"},
               {"data", "SGk="}}}}),
       "messages[0].content[0].source.media_type"},
      {user({{"type", "document"},
             {"source", {{"type", "base64"}, {"data", "JVBERi0="}}}}),
       "messages[0].content[0].source.data"},
      {user({{"type", "document"},
             {"source", {{"type", "text"}, {"data", "x"}}},
             {"citations", {{"enabled", true}}}}),
       "messages[0].content[0].citations"},
      {user({{"type", "search_result"}, {"title", "x"}}),
       "messages[0].content[0].source"},
      {user({{"type", "tool_use"}}), "messages[0].content[0].type"},
      {user({{"text", "x"}}), "messages[0].content[0].type"},
      {user({{"type", "text"}, {"text", "x"}, {"citations", {1}}}),
       "messages[0].content[0].citations"},
      {user({{"type", "text"}, {"text", "x"}, {"y", 1}}),
       "messages[0].content[0].y"},
      {user({{"type", "tool_result"}, {"tool_use_id", "none"}}),
       "messages[0].content[0].tool_use_id"},
      {assistant(""), "messages[1].content"},
      {assistant({{{"type", "tool_use"},
                   {"id", "a"},
                   {"name", "f"},
                   {"input", ordered_json::object()}}}),
       "messages[1].content"},
      {assistant({{{"type", "tool_use"},
                   {"id", "a"},
                   {"name", "f"},
                   {"input", "{}"}}}),
       "messages[1].content[0].input"},
      {{{"system", {{{"type", "image"}}}}}, "system[0].type"},
      {{{"tools", {{{"type", "web_search_20250305"}, {"name", "web_search"}}}}},
       "tools[0].type"},
      {{{"tools", {{{"name", "f"}}}}}, "tools[0].input_schema"},
      {{{"tools", {{{"name", "f"}, {"input_schema", 1}}}}},
       "tools[0].input_schema"},
      {{{"tool_choice", {{"type", "any"}}}}, "tool_choice"},
      {{{"tool_choice", {{"type", "some"}}}}, "tool_choice.type"},
      {{{"tool_choice", {{"type", "tool"}}}}, "tool_choice.name"},
      {{{"thinking", {{"type", "loud"}}}}, "thinking.type"},
      {{{"thinking", {{"type", "enabled"}, {"display", "short"}}}},
       "thinking.display"},
      {{{"thread", {{"type", "create"}}}}, "thread"},
      {{{"compaction", {{"type", "summarize"}}}}, "compaction"},
      {{{"output_config", {{"effort", "none"}}}}, "output_config.effort"},
      {{{"output_config", {{"format", {{"type", "xml"}}}}}},
       "output_config.format.type"},
      {{{"output_format", {{"type", "xml"}}}}, "output_format.type"},
      {{{"output_format", {{"type", "json_schema"}, {"schema", schema}}},
        {"output_config",
         {{"format", {{"type", "json_schema"}, {"schema", schema}}}}}},
       "output_config.format"},
      {{{"container", "c"}}, "container"},
      {{{"mcp_servers", {schema}}}, "mcp_servers"},
      {{{"context_management", schema}}, "context_management"},
      {{{"seed", 1}}, "seed"},
  };
  for (const auto& [more, place] : cases) {
    EXPECT_THAT(Bad(more), IsError(kBadRequest, place)) << more;
  }
  EXPECT_TRUE(absl::IsNotFound(Bad({{"model", "claude"}})));
  IgnoredMembers strict(true);
  environment_.ignored_members = &strict;
  EXPECT_THAT(Bad({{"metadata", schema}}), IsError(kBadRequest, "metadata"));
}

TEST_F(AnthropicTest, AnswersInBlocks) {
  const std::vector<v1::GenerateResponse> responses = {
      AnswerPiece("Hm", ""),         AnswerPiece("m.", "Let "),
      AnswerPiece("", "me see."),    CallPiece(0, "time", R"({"zone": )"),
      CallPiece(0, "", R"("CET"})"), CallPiece(1, "place", "{}", "own-id"),
      AnswerPiece("", "So."),        DoneFor(v1::FINISH_REASON_END)};
  Good({});
  json whole = json::parse(AnswerTo(responses));
  EXPECT_THAT(whole["id"].get<std::string>(), testing::StartsWith("msg_"));
  const std::string call_id = whole["content"][2]["id"];
  EXPECT_THAT(call_id, testing::StartsWith("toolu_"));
  whole.erase("id");
  EXPECT_EQ(whole, json::parse(R"({
      "type": "message", "role": "assistant", "model": "chatter",
      "content": [
        {"type": "thinking", "thinking": "Hmm.", "signature": "unsigned"},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": ")" +
                               call_id +
                               R"(", "name": "time",
         "input": {"zone": "CET"}},
        {"type": "tool_use", "id": "own-id", "name": "place", "input": {}},
        {"type": "text", "text": "So."}],
      "stop_reason": "tool_use", "stop_sequence": null,
      "usage": {"input_tokens": 10, "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 20, "output_tokens": 7}})"));

  Good({{"stream", true}});
  const std::string events = AnswerTo(responses);
  json joined = Joined(events);
  joined.erase("id");
  EXPECT_THAT(joined["content"][2]["id"].get<std::string>(),
              testing::StartsWith("toolu_"));
  joined["content"][2]["id"] = call_id;
  EXPECT_EQ(joined, whole);
  EXPECT_EQ(EventsOf(events).front().name, "message_start");
  EXPECT_EQ(EventsOf(events).back().name, "message_stop");
}

// The client sends the request again without a thread.
TEST_F(AnthropicTest, SaysThatItKeepsNoThreads) {
  const absl::Status status = Bad({{"thread", {{"type", "create"}}}});
  const json error =
      json::parse(codec_->Finish({status, "id"}, nullptr).body)["error"];
  EXPECT_EQ(error["details"]["error_code"], "thread_unsupported_request");
}

TEST_F(AnthropicTest, ThoughtsMayBeOmitted) {
  const ordered_json thinking = {{"type", "enabled"}, {"display", "omitted"}};
  const std::vector<v1::GenerateResponse> responses = {
      AnswerPiece("Hmm.", "Hello."), DoneFor(v1::FINISH_REASON_END)};
  Good({{"thinking", thinking}});
  const json whole = json::parse(AnswerTo(responses));
  EXPECT_EQ(
      whole["content"],
      json({{{"type", "thinking"}, {"thinking", ""}, {"signature", "unsigned"}},
            {{"type", "text"}, {"text", "Hello."}}}));
  Good({{"thinking", thinking}, {"stream", true}});
  EXPECT_EQ(Joined(AnswerTo(responses))["content"], whole["content"]);
}

TEST_F(AnthropicTest, TellsWhyAnAnswerEnded) {
  const auto ending = [&](const ordered_json& more, v1::FinishReason reason,
                          const std::string& stop = "",
                          const v1::GenerateResponse& piece =
                              AnswerPiece("", "x")) {
    v1::GenerateResponse done = DoneFor(reason);
    if (!stop.empty()) done.mutable_done()->set_stop(stop);
    Good(more);
    const json whole = json::parse(AnswerTo({piece, done}));
    ordered_json streamed = more;
    streamed["stream"] = true;
    Good(streamed);
    const json joined = Joined(AnswerTo({piece, done}));
    EXPECT_EQ(joined["stop_reason"], whole["stop_reason"]);
    EXPECT_EQ(joined["stop_sequence"], whole["stop_sequence"]);
    return std::pair(whole["stop_reason"], whole["stop_sequence"]);
  };
  using testing::Pair;
  const ordered_json stops = {{"stop_sequences", {"a", "b"}}};
  EXPECT_THAT(ending(stops, v1::FINISH_REASON_END), Pair("end_turn", nullptr));
  EXPECT_THAT(ending(stops, v1::FINISH_REASON_LENGTH),
              Pair("max_tokens", nullptr));
  for (const char* const stop : {"a", "b"}) {
    EXPECT_THAT(ending(stops, v1::FINISH_REASON_STOP, stop),
                Pair("stop_sequence", stop));
  }
  // A call that was cut.
  EXPECT_THAT(ending({}, v1::FINISH_REASON_LENGTH, "",
                     CallPiece(0, "time", R"({"zone": "C)")),
              Pair("max_tokens", nullptr));
  Good({});
  EXPECT_EQ(json::parse(AnswerTo(
                {CallPiece(0, "time", R"({"zone": "C)"),
                 DoneFor(v1::FINISH_REASON_LENGTH)}))["content"][0]["input"],
            json::object());
}

TEST_F(AnthropicTest, ErrorsHaveTypesAndTheClientsNames) {
  const auto failure = [&](const absl::Status& status) {
    Good({});
    const HttpAnswer answer = codec_->Finish({status, "id"}, nullptr);
    const json body = json::parse(answer.body);
    EXPECT_EQ(body["type"], "error");
    EXPECT_EQ(body["request_id"], "id");
    EXPECT_TRUE(body["error"]["message"].is_string());
    return std::to_string(answer.status) + " " +
           body["error"]["type"].get<std::string>();
  };
  EXPECT_EQ(failure(absl::InvalidArgumentError("x")),
            "400 invalid_request_error");
  EXPECT_EQ(failure(absl::FailedPreconditionError("x")),
            "400 invalid_request_error");
  EXPECT_EQ(failure(absl::UnauthenticatedError("x")),
            "401 authentication_error");
  EXPECT_EQ(failure(absl::PermissionDeniedError("x")), "403 permission_error");
  EXPECT_EQ(failure(absl::NotFoundError("x")), "404 not_found_error");
  EXPECT_EQ(failure(absl::ResourceExhaustedError("x")), "429 rate_limit_error");
  EXPECT_EQ(failure(absl::UnavailableError("x")), "503 overloaded_error");
  EXPECT_EQ(failure(absl::DeadlineExceededError("x")), "504 timeout_error");
  EXPECT_EQ(failure(absl::InternalError("x")), "500 api_error");
  const HttpAnswer large =
      codec_->Refuse({absl::InvalidArgumentError("x"), ""}, 413);
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(json::parse(large.body)["error"]["type"], "request_too_large");

  const auto message = [&](const std::string& field, const std::string& text) {
    const HttpAnswer answer =
        codec_->Finish({InvalidField(field, text), "id"}, nullptr);
    return json::parse(answer.body)["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(message("decoding.max_new_tokens", "max_new_tokens is large"),
              testing::StartsWith("max_tokens: max_tokens is large"));
  EXPECT_THAT(message("decoding.stop[1]", "is long"),
              testing::StartsWith("stop_sequences[1]: "));
  EXPECT_THAT(message("chat.tool_name", "is none"),
              testing::StartsWith("tool_choice.name: "));
  EXPECT_THAT(message("chat", "is long"), testing::StartsWith("messages: "));
  EXPECT_THAT(message("chat.tools[0]", "function.parameters: #/a: no"),
              testing::StartsWith("tools[0].input_schema: #/a: no"));
  EXPECT_THAT(message("chat.variables", "has no place"),
              testing::StartsWith("thinking: "));
}

TEST_F(AnthropicTest, AnErrorAfterTheStartIsAnEvent) {
  Good({{"stream", true}});
  std::string text = codec_->Write(AnswerPiece("", "Hel"));
  text +=
      codec_->EndStream({absl::UnavailableError("stopping"), "id"}, nullptr);
  const std::vector<Event> events = EventsOf(text);
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events.front().name, "message_start");
  EXPECT_EQ(events.back().name, "error");
  EXPECT_EQ(events.back().data["error"]["type"], "overloaded_error");
  EXPECT_THAT(events.back().data["error"]["message"].get<std::string>(),
              HasSubstr("stopping"));
}

TEST_F(AnthropicTest, AWholeAnswerHasABound) {
  environment_.limits.max_response_bytes = 100;
  Good({});
  for (int i = 0; i < 10; ++i)
    codec_->Write(AnswerPiece("", "twenty characters..."));
  const v1::GenerateResponse done = DoneFor(v1::FINISH_REASON_END);
  EXPECT_EQ(codec_->Finish({absl::OkStatus(), "id"}, &done).status, 400);
}

TEST_F(AnthropicTest, ListsModelsForItsClients) {
  RequestHead head;
  head.path = "/v1/models/chatter";
  v1::ListModelsResponse listed;
  for (const char* name : {"chatter", "plain"}) {
    listed.add_models()->set_name(name);
  }
  const auto models = NewAnthropicModelsCodec(environment_, head);
  const json list = json::parse(models->Finish({}, &listed).body);
  EXPECT_EQ(list["data"].size(), 2u);
  EXPECT_EQ(list["data"][0], json({{"type", "model"},
                                   {"id", "chatter"},
                                   {"display_name", "chatter"},
                                   {"created_at", "1970-01-01T00:00:00Z"}}));
  EXPECT_EQ(list["has_more"], false);
  EXPECT_EQ(list["last_id"], "plain");
  const auto model = NewAnthropicModelCodec(environment_, head);
  v1::GetModelRequest request;
  ASSERT_TRUE(model->Read("", &request).ok());
  EXPECT_EQ(request.name(), "chatter");
  EXPECT_EQ(json::parse(model->Finish({}, &listed.models(0)).body)["type"],
            "model");
  const json error = json::parse(
      model->Finish({absl::NotFoundError("none"), "id"}, nullptr).body);
  EXPECT_EQ(error["error"]["type"], "not_found_error");
}

TEST_F(AnthropicTest, CountsTheTokensOfThePrompt) {
  const auto codec = NewAnthropicCountTokensCodec(environment_, RequestHead());
  ordered_json body = Body({{"system", "Be kind."}});
  v1::GenerateRequest request;
  EXPECT_THAT(codec->Read(body.dump(), &request),
              IsError(kBadRequest, "max_tokens"));
  body.erase("max_tokens");
  request.Clear();
  ASSERT_TRUE(codec->Read(body.dump(), &request).ok());
  transport_.Bring(request);
  const auto handler = NewMakePrompt(environment_, CallContext(), &transport_);
  handler->Start();
  const Ending ending = transport_.WaitForFinish();
  ASSERT_TRUE(ending.status.ok()) << ending.status;
  // The puppet's tokens are bytes.
  const size_t expected =
      std::string("system:Be kind.;user:Hello;assistant:quietly").size();
  const auto prompt = transport_.Response<internal::Prompt>(0);
  EXPECT_EQ(prompt.text(), "system:Be kind.;user:Hello;assistant:quietly");
  EXPECT_EQ(batcher_.count(), 0u);
  EXPECT_EQ(json::parse(codec->Finish(ending, &prompt).body),
            json({{"input_tokens", expected}}));
}

}  // namespace
}  // namespace trivium
