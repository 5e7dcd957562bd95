// OpenAI's Responses API: what becomes of a request, and how the pieces of an
// answer become items and events.
#include "server/adapters/openai_responses.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "server/errors/status.h"
#include "tests/server/calls/handlers_fixture.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kToolTemplate[] =
    "{%- for m in messages -%}{{ m.role + m.content }}{%- endfor -%}"
    "{%- if tools %}{{ tools|tojson }}{% endif -%}"
    "{%- if enable_thinking is defined %}{{ enable_thinking }}{% endif -%}";

class OpenAiResponsesTest : public HandlersTest {
 protected:
  OpenAiResponsesTest() {
    auto model = std::make_unique<PuppetModel>(Design::kDecoder);
    model->mutable_chat_templates() = *ChatTemplates::FromConfig(
        {{"chat_template", kToolTemplate}}, "t.json");
    environment_.models.Add(ServedPuppet("chatter", std::move(model)))
        .IgnoreError();
  }

  // Reads a request whose input is "Hi" unless it has another.
  absl::Status Read(json body) {
    if (!body.contains("input")) body["input"] = "Hi";
    codec_ = NewOpenAiResponsesCodec(environment_, {});
    request_.Clear();
    return codec_->Read(body.dump(), &request_);
  }
  v1::Chat ChatOf(const json& body) {
    const absl::Status status = Read(body);
    EXPECT_TRUE(status.ok()) << status << body;
    return request_.chat();
  }
  // The messages, each as its role and members that are set.
  std::vector<std::string> MessagesOf(const json& input) {
    std::vector<std::string> all;
    const v1::Chat chat = ChatOf({{"input", input}});
    for (const auto& message : chat.messages()) {
      std::string text = message.role() + ":";
      if (message.has_reasoning_content()) {
        text += " (" + message.reasoning_content() + ")";
      }
      if (message.has_content()) text += " " + message.content();
      for (const auto& call : message.tool_calls()) {
        text += " " + call.id() + "=" + call.name() + call.arguments();
      }
      if (message.has_tool_call_id()) {
        text += " " + message.tool_call_id() + "/" + message.name();
      }
      all.push_back(text);
    }
    return all;
  }

  void Write(const v1::GenerateResponse& response) {
    bytes_ += codec_->Write(response);
  }
  void WriteText(const std::string& text) {
    v1::GenerateResponse response;
    response.mutable_piece()->set_text(text);
    Write(response);
  }
  void WriteThought(const std::string& text) {
    v1::GenerateResponse response;
    response.mutable_piece()->set_reasoning(text);
    Write(response);
  }
  void WriteCall(int index, const std::string& name, const std::string& id,
                 const std::string& arguments, bool complete) {
    v1::GenerateResponse response;
    auto* const call = response.mutable_piece()->add_tool_calls();
    call->set_index(index);
    call->set_name(name);
    call->set_id(id);
    call->set_arguments(arguments);
    call->set_complete(complete);
    Write(response);
  }
  static v1::GenerateResponse DoneWith(v1::FinishReason reason) {
    v1::GenerateResponse last;
    last.mutable_done()->set_finish_reason(reason);
    last.mutable_done()->mutable_usage()->set_prompt_tokens(7);
    last.mutable_done()->mutable_usage()->set_cached_tokens(4);
    last.mutable_done()->mutable_usage()->set_new_tokens(20);
    last.mutable_done()->mutable_usage()->set_reasoning_tokens(9);
    return last;
  }
  // The whole answer, of a request without stream.
  json Finish(v1::FinishReason reason = v1::FINISH_REASON_END) {
    const v1::GenerateResponse last = DoneWith(reason);
    return json::parse(codec_->Finish({absl::OkStatus(), "r"}, &last).body);
  }
  // All events of a stream, whose names and numbers must fit.
  std::vector<json> EndStream(const absl::Status& status = absl::OkStatus(),
                              v1::FinishReason reason = v1::FINISH_REASON_END) {
    const v1::GenerateResponse last = DoneWith(reason);
    bytes_ += codec_->EndStream({status, "r"}, status.ok() ? &last : nullptr);
    std::vector<json> events;
    size_t begin = 0;
    while (begin < bytes_.size()) {
      const size_t end = bytes_.find("\n\n", begin);
      const std::string event = bytes_.substr(begin, end - begin);
      const size_t line = event.find("\ndata: ");
      events.push_back(json::parse(event.substr(line + 7)));
      EXPECT_EQ(event.substr(0, line),
                "event: " + events.back()["type"].get<std::string>());
      EXPECT_EQ(events.back()["sequence_number"], events.size() - 1);
      begin = end + 2;
    }
    bytes_.clear();
    return events;
  }
  static std::vector<std::string> TypesOf(const std::vector<json>& events) {
    std::vector<std::string> types;
    for (const json& event : events) {
      types.push_back(event["type"].get<std::string>().substr(9));
    }
    return types;
  }
  // A thought, a text, two calls.
  void WriteAll() {
    WriteThought("Let me");
    WriteThought(" see.");
    WriteText("I will ");
    WriteText("look.");
    WriteCall(0, "find", "", "{\"a\"", false);
    WriteCall(0, "", "", ": 1}", false);
    WriteCall(0, "", "", "", true);
    WriteCall(1, "stop", "c9", "{}", true);
  }
  // Names that are drawn for each answer become their beginnings.
  static json Unnamed(json items) {
    for (json& item : items) {
      item["id"] = item["id"].get<std::string>().substr(0, 3);
      if (item.contains("call_id") && item["call_id"].size() > 0 &&
          item["call_id"].get<std::string>().starts_with("call_")) {
        item["call_id"] = "call";
      }
    }
    return items;
  }

  std::unique_ptr<Codec> codec_;
  v1::GenerateRequest request_;
  std::string bytes_;
};

const json kTools = {{{"type", "function"},
                      {"name", "find"},
                      {"description", "Finds."},
                      {"parameters", {{"type", "object"}}},
                      {"strict", true}},
                     {{"type", "function"}, {"name", "stop"}}};

TEST_F(OpenAiResponsesTest, InputIsATextOrItems) {
  EXPECT_THAT(MessagesOf("Hello"), ElementsAre("user: Hello"));
  EXPECT_THAT(MessagesOf({{{"role", "developer"}, {"content", "Be kind."}},
                          {{"type", "message"},
                           {"role", "user"},
                           {"content",
                            {{{"type", "input_text"}, {"text", "A "}},
                             {{"type", "text"}, {"text", "b"}}}}},
                          {{"role", "assistant"},
                           {"id", "msg_1"},
                           {"status", "completed"},
                           {"content",
                            {{{"type", "output_text"},
                              {"text", "Yes."},
                              {"annotations", json::array()},
                              {"logprobs", json::array()}}}}},
                          {{"role", "user"}, {"content", "And?"}}}),
              ElementsAre("system: Be kind.", "user: A b", "assistant: Yes.",
                          "user: And?"));
  EXPECT_EQ(ChatOf({{"instructions", "Short."}}).messages(0).content(),
            "Short.");
}

TEST_F(OpenAiResponsesTest, FilesOfTextAreText) {
  EXPECT_THAT(MessagesOf({{{"role", "user"},
                           {"content",
                            {{{"type", "input_file"},
                              {"filename", "a.txt"},
                              {"file_data", "data:text/plain;base64,SGk="}},
                             {{"type", "input_text"}, {"text", "And?"}}}}}}),
              ElementsAre("user: a.txt\n\nHi\n\nAnd?"));
}

TEST_F(OpenAiResponsesTest, OnlyToolsThatAreAllowedAreOffered) {
  const v1::Chat chat =
      ChatOf({{"tools", kTools},
              {"tool_choice",
               {{"type", "allowed_tools"},
                {"mode", "required"},
                {"tools", {{{"type", "function"}, {"name", "stop"}}}}}}});
  ASSERT_EQ(chat.tools_size(), 1);
  EXPECT_NE(chat.tools(0).find("stop"), std::string::npos);
  EXPECT_EQ(chat.tool_choice(), v1::Chat::TOOL_CHOICE_REQUIRED);
}

TEST_F(OpenAiResponsesTest, ItemsOfOneAnswerAreOneMessage) {
  const json call = {{"type", "function_call"},
                     {"call_id", "c1"},
                     {"name", "find"},
                     {"arguments", "{\"a\":1}"}};
  json other = call;
  other["call_id"] = "c2";
  const json thought = {
      {"type", "reasoning"},
      {"id", "rs_1"},
      {"summary", json::array()},
      {"content", {{{"type", "reasoning_text"}, {"text", "Hm."}}}}};
  const json said = {{"role", "assistant"}, {"content", "I look."}};
  const json output = {
      {"type", "function_call_output"}, {"call_id", "c1"}, {"output", "one"}};
  json listed = output;
  listed["call_id"] = "c2";
  listed["output"] = {{{"type", "input_text"}, {"text", "two"}}};
  const json user = {{"role", "user"}, {"content", "Hi"}};
  EXPECT_THAT(MessagesOf({user, thought, said, call, other, output, listed}),
              ElementsAre("user: Hi",
                          "assistant: (Hm.) I look. c1=find{\"a\":1} "
                          "c2=find{\"a\":1}",
                          "tool: one c1/find", "tool: two c2/find"));
  // Without a text, and with a thought before the next answer.
  EXPECT_THAT(MessagesOf({user, call, output, thought, said}),
              ElementsAre("user: Hi", "assistant: c1=find{\"a\":1}",
                          "tool: one c1/find", "assistant: (Hm.) I look."));
  // A text after the call belongs to the same answer.
  EXPECT_THAT(MessagesOf({user, call, said, output}),
              ElementsAre("user: Hi", "assistant: I look. c1=find{\"a\":1}",
                          "tool: one c1/find"));
  // Two answers in a row remain two.
  EXPECT_THAT(
      MessagesOf({user, said, said}),
      ElementsAre("user: Hi", "assistant: I look.", "assistant: I look."));
  // An answer that was cut within its thoughts.
  EXPECT_THAT(MessagesOf({user, thought, user}),
              ElementsAre("user: Hi", "assistant: (Hm.) ", "user: Hi"));
  // Summaries stand for thoughts that are not there, and nothing for those that
  // are encrypted.
  json summary = thought;
  summary["content"] = nullptr;
  summary["summary"] = {{{"type", "summary_text"}, {"text", "In short."}}};
  json encrypted = thought;
  encrypted["content"] = json::array();
  encrypted["encrypted_content"] = "gAAA";
  EXPECT_THAT(MessagesOf({user, summary, said, user, encrypted, said}),
              ElementsAre("user: Hi", "assistant: (In short.) I look.",
                          "user: Hi", "assistant: I look."));
}

TEST_F(OpenAiResponsesTest, ToolsAreThoseOfChats) {
  const v1::Chat chat = ChatOf({{"tools", kTools},
                                {"tool_choice", "required"},
                                {"parallel_tool_calls", false}});
  EXPECT_THAT(
      chat.tools(),
      ElementsAre("{\"type\":\"function\",\"function\":{\"name\":\"find\","
                  "\"description\":\"Finds.\",\"parameters\":{\"type\":"
                  "\"object\"}}}",
                  "{\"type\":\"function\",\"function\":{\"name\":\"stop\","
                  "\"parameters\":{\"type\":\"object\",\"properties\":{}}}}"));
  EXPECT_EQ(chat.tool_choice(), v1::Chat::TOOL_CHOICE_REQUIRED);
  EXPECT_FALSE(chat.parallel_tool_calls());
  EXPECT_TRUE(chat.answer_parts());
  const v1::Chat named =
      ChatOf({{"tools", kTools},
              {"tool_choice", {{"type", "function"}, {"name", "stop"}}}});
  EXPECT_EQ(named.tool_choice(), v1::Chat::TOOL_CHOICE_REQUIRED);
  EXPECT_EQ(named.tool_name(), "stop");
  // A named function is called once.
  EXPECT_TRUE(named.has_parallel_tool_calls());
  EXPECT_FALSE(named.parallel_tool_calls());
  EXPECT_EQ(ChatOf({{"tools", kTools}, {"tool_choice", "none"}}).tool_choice(),
            v1::Chat::TOOL_CHOICE_NONE);
  EXPECT_FALSE(ChatOf({{"parallel_tool_calls", true}, {"tool_choice", "auto"}})
                   .has_parallel_tool_calls());
  // A model reads the names in the order of the request.
  EXPECT_TRUE(Read({}).ok());
  codec_ = NewOpenAiResponsesCodec(environment_, {});
  ASSERT_TRUE(codec_
                  ->Read(R"({"input": "Hi", "tools": [{"type": "function",)"
                         R"("name": "f", "parameters": {"z": 1, "a": 2}}]})",
                         &request_)
                  .ok());
  EXPECT_THAT(request_.chat().tools(0), testing::HasSubstr(R"({"z":1,"a":2})"));
}

TEST_F(OpenAiResponsesTest, OptionsBecomeThoseOfGenerate) {
  ASSERT_TRUE(Read({{"max_output_tokens", 9},
                    {"temperature", 0},
                    {"top_p", 0.5},
                    {"reasoning", {{"effort", "none"}, {"summary", "auto"}}},
                    {"include", {"reasoning.encrypted_content"}},
                    {"text",
                     {{"verbosity", "medium"},
                      {"format",
                       {{"type", "json_schema"},
                        {"name", "x"},
                        {"strict", true},
                        {"schema", {{"type", "object"}}}}}}},
                    {"truncation", "disabled"},
                    {"background", false},
                    {"store", true},
                    {"metadata", {{"a", "b"}}},
                    {"prompt_cache_key", "k"},
                    {"previous_response_id", nullptr}})
                  .ok());
  const v1::DecodingOptions& decoding = request_.decoding();
  EXPECT_EQ(decoding.max_new_tokens(), 9u);
  EXPECT_EQ(decoding.temperature(), 0);
  EXPECT_EQ(decoding.constraint().json_schema(), R"({"type":"object"})");
  EXPECT_FALSE(
      request_.chat().variables().fields().at("enable_thinking").bool_value());
  ASSERT_TRUE(Read({{"reasoning", {{"effort", "low"}}},
                    {"text", {{"format", {{"type", "json_object"}}}}}})
                  .ok());
  EXPECT_TRUE(request_.decoding().constraint().json_object());
  EXPECT_TRUE(
      request_.chat().variables().fields().at("enable_thinking").bool_value());
  // Log-probabilities are of the whole text.
  ASSERT_TRUE(Read({{"include", {"message.output_text.logprobs"}}}).ok());
  EXPECT_EQ(request_.decoding().top_logprobs(), 1u);
  EXPECT_FALSE(request_.chat().answer_parts());
}

TEST_F(OpenAiResponsesTest, RefusalsNameTheMember) {
  const json user = {{"role", "user"}, {"content", "Hi"}};
  const struct {
    json body;
    const char* place;
  } cases[] = {
      {{{"input", nullptr}}, "input"},
      {{{"input", json::array()}}, "input"},
      {{{"input", {1}}}, "input[0]"},
      {{{"input", {user, {{"role", "boss"}, {"content", "x"}}}}},
       "input[1].role"},
      {{{"input", {{{"role", "user"}}}}}, "input[0].content"},
      {{{"input", {{{"role", "tool"}, {"content", "x"}}}}}, "input[0].role"},
      {{{"input",
         {{{"role", "user"},
           {"content",
            {{{"type", "input_image"}, {"image_url", "data:x"}}}}}}}},
       "input[0].content[0].type"},
      {{{"input",
         {{{"role", "user"},
           {"content", {{{"type", "input_file"}, {"file_id", "f"}}}}}}}},
       "input[0].content[0].file_id"},
      {{{"input",
         {{{"role", "user"},
           {"content",
            {{{"type", "input_file"}, {"file_url", "http://a.example"}}}}}}}},
       "input[0].content[0].file_url"},
      {{{"input", {{{"type", "item_reference"}, {"id", "msg_1"}}}}},
       "input[0]"},
      {{{"input", {{{"id", "msg_1"}}}}}, "input[0]"},
      {{{"input", {{{"type", "web_search_call"}, {"id", "w"}}}}},
       "input[0].type"},
      {{{"input",
         {{{"type", "function_call_output"},
           {"call_id", "c1"},
           {"output", "x"}}}}},
       "input[0].call_id"},
      {{{"input",
         {{{"type", "function_call"},
           {"call_id", "c1"},
           {"name", "f"},
           {"arguments", "[1]"}}}}},
       "input[0].arguments"},
      {{{"input", {{{"role", "user"}, {"content", "x"}, {"name", "n"}}}}},
       "input[0].name"},
      {{{"messages", {user}}}, "messages"},
      {{{"max_tokens", 4}}, "max_tokens"},
      {{{"max_completion_tokens", 4}}, "max_completion_tokens"},
      {{{"response_format", {{"type", "text"}}}}, "response_format"},
      {{{"n", 2}}, "n"},
      {{{"max_output_tokens", 0}}, "max_output_tokens"},
      {{{"temperature", 3}}, "temperature"},
      {{{"top_logprobs", 21}}, "top_logprobs"},
      {{{"top_logprobs", 1}, {"tools", kTools}}, "top_logprobs"},
      {{{"previous_response_id", "resp_1"}}, "previous_response_id"},
      {{{"conversation", "conv_1"}}, "conversation"},
      {{{"prompt", {{"id", "p"}}}}, "prompt"},
      {{{"background", true}}, "background"},
      {{{"truncation", "auto"}}, "truncation"},
      {{{"include", {"file_search_call.results"}}}, "include[0]"},
      {{{"tools", {{{"type", "web_search"}}}}}, "tools[0].type"},
      {{{"tools", {{{"type", "function"}}}}}, "tools[0].name"},
      {{{"tools", {{{"type", "function"}, {"function", {{"name", "f"}}}}}}},
       "tools[0].name"},
      {{{"tool_choice", "required"}}, "tool_choice"},
      {{{"tool_choice", "some"}}, "tool_choice"},
      {{{"tools", kTools},
        {"tool_choice", {{"type", "function"}, {"name", "g"}}}},
       "tool_choice.name"},
      {{{"tools", kTools}, {"tool_choice", {{"type", "file_search"}}}},
       "tool_choice.type"},
      {{{"text", {{"verbosity", "low"}}}}, "text.verbosity"},
      {{{"text", {{"format", {{"type", "xml"}}}}}}, "text.format.type"},
      {{{"text", {{"format", {{"type", "json_schema"}}}}}},
       "text.format.schema"},
      {{{"text", {{"format", {{"type", "json_object"}}}}},
        {"structured_outputs", {{"regex", "a"}}}},
       "structured_outputs.regex"},
      {{{"reasoning", {{"effort", 1}}}}, "reasoning.effort"},
      {{{"reasoning", {{"depth", 1}}}}, "reasoning.depth"},
      {{{"speed", "fast"}}, "speed"},
  };
  for (const auto& [body, place] : cases) {
    EXPECT_THAT(Read(body), InvalidAt(place)) << body;
  }
  EXPECT_THAT(Read({{"model", "translator"}}), InvalidAt("input"));
}

TEST_F(OpenAiResponsesTest, EffortNeedsATemplateThatReadsIt) {
  auto model = std::make_unique<PuppetModel>(Design::kDecoder);
  model->mutable_chat_templates() = *ChatTemplates::FromConfig(
      {{"chat_template", "{{ messages|tojson }}"}}, "t.json");
  ASSERT_TRUE(
      environment_.models.Add(ServedPuppet("plain", std::move(model))).ok());
  const absl::Status status =
      Read({{"model", "plain"}, {"reasoning", {{"effort", "low"}}}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  const HttpAnswer answer = codec_->Finish({status, ""}, nullptr);
  EXPECT_EQ(json::parse(answer.body)["error"]["param"], "reasoning.effort");
  EXPECT_TRUE(
      Read({{"model", "plain"}, {"reasoning", {{"summary", "auto"}}}}).ok());
}

// Errors of the call name the items, although instructions and calls make
// other numbers of messages.
TEST_F(OpenAiResponsesTest, ErrorsOfTheCallNameItems) {
  const json call = {{"type", "function_call"},
                     {"call_id", "c1"},
                     {"name", "find"},
                     {"arguments", "{}"}};
  ASSERT_TRUE(Read({{"instructions", "Short."},
                    {"tools", kTools},
                    {"input",
                     {{{"role", "user"}, {"content", "x"}},
                      call,
                      call,
                      {{"type", "function_call_output"},
                       {"call_id", "c1"},
                       {"output", "y"}}}}})
                  .ok());
  const auto param_of = [&](const char* field) {
    return json::parse(
        codec_->Finish({InvalidField(field, "is wrong"), ""}, nullptr)
            .body)["error"]["param"];
  };
  EXPECT_EQ(param_of("chat.messages[0]"), "instructions");
  EXPECT_EQ(param_of("chat.messages[1].content"), "input[0].content");
  EXPECT_EQ(param_of("chat.messages[3]"), "input[3]");
  EXPECT_EQ(param_of("chat.tools[1].function.parameters"),
            "tools[1].parameters");
  EXPECT_EQ(param_of("chat"), "input");
  EXPECT_EQ(param_of("decoding.max_new_tokens"), "max_output_tokens");
  EXPECT_EQ(param_of("decoding.top_p"), "top_p");
}

TEST_F(OpenAiResponsesTest, AnswersAreItems) {
  ASSERT_TRUE(Read({{"instructions", "Short."},
                    {"temperature", 0.5},
                    {"metadata", {{"a", "b"}}},
                    {"tools", kTools}})
                  .ok());
  WriteAll();
  EXPECT_THAT(bytes_, IsEmpty());
  const json answer = Finish();
  EXPECT_THAT(answer["id"].get<std::string>(), testing::StartsWith("resp_"));
  EXPECT_EQ(answer["object"], "response");
  EXPECT_EQ(answer["status"], "completed");
  EXPECT_EQ(answer["model"], "chatter");
  EXPECT_EQ(answer["instructions"], "Short.");
  EXPECT_EQ(answer["temperature"], 0.5);
  EXPECT_EQ(answer["metadata"], (json{{"a", "b"}}));
  EXPECT_EQ(answer["tools"], kTools);
  EXPECT_EQ(answer["tool_choice"], "auto");
  EXPECT_EQ(answer["store"], false);
  EXPECT_EQ(answer["error"], nullptr);
  EXPECT_EQ(Unnamed(answer["output"]),
            (json{{{"id", "rs_"},
                   {"type", "reasoning"},
                   {"status", "completed"},
                   {"summary", json::array()},
                   {"content",
                    {{{"type", "reasoning_text"}, {"text", "Let me see."}}}}},
                  {{"id", "msg"},
                   {"type", "message"},
                   {"status", "completed"},
                   {"role", "assistant"},
                   {"content",
                    {{{"type", "output_text"},
                      {"annotations", json::array()},
                      {"logprobs", json::array()},
                      {"text", "I will look."}}}}},
                  {{"id", "fc_"},
                   {"type", "function_call"},
                   {"status", "completed"},
                   {"call_id", "call"},
                   {"name", "find"},
                   {"arguments", "{\"a\": 1}"}},
                  {{"id", "fc_"},
                   {"type", "function_call"},
                   {"status", "completed"},
                   {"call_id", "c9"},
                   {"name", "stop"},
                   {"arguments", "{}"}}}));
  EXPECT_EQ(answer["usage"],
            (json{{"input_tokens", 7},
                  {"input_tokens_details",
                   {{"cached_tokens", 4}, {"cache_write_tokens", 0}}},
                  {"output_tokens", 20},
                  {"output_tokens_details", {{"reasoning_tokens", 9}}},
                  {"total_tokens", 27}}));
}

TEST_F(OpenAiResponsesTest, StreamsTellTheItemsAsTheyGrow) {
  ASSERT_TRUE(Read({{"tools", kTools}}).ok());
  WriteAll();
  const json whole = Finish();
  ASSERT_TRUE(Read({{"tools", kTools}, {"stream", true}}).ok());
  WriteAll();
  const std::vector<json> events = EndStream();
  EXPECT_THAT(
      TypesOf(events),
      ElementsAre(
          "created", "in_progress", "output_item.added", "content_part.added",
          "reasoning_text.delta", "reasoning_text.delta", "reasoning_text.done",
          "content_part.done", "output_item.done", "output_item.added",
          "content_part.added", "output_text.delta", "output_text.delta",
          "output_text.done", "content_part.done", "output_item.done",
          "output_item.added", "function_call_arguments.delta",
          "function_call_arguments.delta", "function_call_arguments.done",
          "output_item.done", "output_item.added",
          "function_call_arguments.delta", "function_call_arguments.done",
          "output_item.done", "completed"));
  const json& response = events.back()["response"];
  EXPECT_EQ(Unnamed(response["output"]), Unnamed(whole["output"]));
  EXPECT_EQ(response["usage"], whole["usage"]);
  EXPECT_EQ(events[0]["response"]["id"], response["id"]);
  EXPECT_EQ(events[0]["response"]["status"], "in_progress");
  EXPECT_THAT(events[0]["response"]["output"], IsEmpty());
  // Deltas, joined by their items, are the whole.
  std::vector<std::string> joined(response["output"].size());
  for (const json& event : events) {
    if (event.contains("output_index")) {
      const json& item = response["output"][event["output_index"].get<int>()];
      const json& id =
          event.contains("item") ? event["item"]["id"] : event["item_id"];
      EXPECT_EQ(id, item["id"]) << event;
    }
    if (!event.contains("delta")) continue;
    joined[event["output_index"].get<int>()] += event["delta"];
  }
  EXPECT_THAT(joined,
              ElementsAre("Let me see.", "I will look.", "{\"a\": 1}", "{}"));
}

TEST_F(OpenAiResponsesTest, AnAnswerThatIsCutIsIncomplete) {
  ASSERT_TRUE(Read({{"max_output_tokens", 3}}).ok());
  WriteText("I wi");
  json answer = Finish(v1::FINISH_REASON_LENGTH);
  EXPECT_EQ(answer["status"], "incomplete");
  EXPECT_EQ(answer["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(answer["output"][0]["status"], "incomplete");

  ASSERT_TRUE(Read({{"tools", kTools}, {"stream", true}}).ok());
  WriteCall(0, "find", "", "{\"a", false);
  const std::vector<json> events =
      EndStream(absl::OkStatus(), v1::FINISH_REASON_LENGTH);
  EXPECT_THAT(TypesOf(events),
              ElementsAre("created", "in_progress", "output_item.added",
                          "function_call_arguments.delta", "output_item.done",
                          "incomplete"));
  EXPECT_EQ(events.back()["response"]["output"][0]["status"], "incomplete");

  // A call that goes wrong is cut, and what follows is text.
  ASSERT_TRUE(Read({{"tools", kTools}}).ok());
  WriteCall(0, "find", "", "{\"a", false);
  WriteText("oops");
  answer = Finish();
  EXPECT_EQ(answer["status"], "completed");
  EXPECT_EQ(answer["output"][0]["status"], "incomplete");
  EXPECT_EQ(answer["output"][1]["content"][0]["text"], "oops");
}

TEST_F(OpenAiResponsesTest, AWholeAnswerHasAMessageOrACall) {
  ASSERT_TRUE(Read({}).ok());
  WriteThought("Hm.");
  const json answer = Finish();
  ASSERT_EQ(answer["output"].size(), 2u);
  EXPECT_EQ(answer["output"][1]["content"][0]["text"], "");
  ASSERT_TRUE(Read({}).ok());
  WriteThought("Hm.");
  EXPECT_EQ(Finish(v1::FINISH_REASON_LENGTH)["output"].size(), 1u);
}

TEST_F(OpenAiResponsesTest, LogprobsAreOfTheText) {
  const auto with_logprob = [](const std::string& text, char byte) {
    v1::GenerateResponse response;
    response.mutable_piece()->set_text(text);
    auto* const token = response.mutable_piece()->add_logprobs();
    token->mutable_token()->set_id(PuppetTokenizer::kFirst + byte);
    token->mutable_token()->set_logprob(-1);
    *token->add_alternatives() = token->token();
    return response;
  };
  const json body = {{"top_logprobs", 1}, {"stream", true}};
  ASSERT_TRUE(Read(body).ok());
  Write(with_logprob("a", 'a'));
  Write(with_logprob("", 'b'));  // its text comes with the next
  Write(with_logprob("bc", 'c'));
  Write(with_logprob("", 'd'));  // without text, at the end
  const std::vector<json> events = EndStream();
  std::string tokens;
  for (const json& event : events) {
    if (event["type"] != "response.output_text.delta") continue;
    for (const json& token : event["logprobs"]) {
      tokens += token["token"];
      EXPECT_EQ(token["top_logprobs"].size(), 1u);
    }
  }
  EXPECT_EQ(tokens, "abcd");
  const json& part = events.back()["response"]["output"][0]["content"][0];
  EXPECT_EQ(part["logprobs"].size(), 4u);
  EXPECT_EQ(part["text"], "abc");
}

TEST_F(OpenAiResponsesTest, FailuresOfStreamsAreEvents) {
  ASSERT_TRUE(Read({{"stream", true}}).ok());
  WriteText("I");
  const std::vector<json> events = EndStream(absl::InternalError("it broke"));
  const json& failed = events.back();
  EXPECT_EQ(failed["type"], "response.failed");
  EXPECT_EQ(failed["response"]["status"], "failed");
  EXPECT_EQ(failed["response"]["error"]["code"], "server_error");
  EXPECT_EQ(failed["response"]["output"][0]["status"], "incomplete");
  // Before the first piece, too.
  ASSERT_TRUE(Read({{"stream", true}}).ok());
  EXPECT_THAT(TypesOf(EndStream(absl::ResourceExhaustedError("busy"))),
              ElementsAre("created", "in_progress", "failed"));
}

TEST_F(OpenAiResponsesTest, AnswersAreKeptWithinTheLimit) {
  environment_.limits.max_response_bytes = 100;
  for (const bool stream : {false, true}) {
    ASSERT_TRUE(Read({{"stream", stream}}).ok());
    for (int i = 0; i < 20; ++i) WriteText("0123456789");
    const v1::GenerateResponse last = DoneWith(v1::FINISH_REASON_END);
    if (stream) {
      EXPECT_EQ(EndStream().back()["response"]["error"]["code"],
                "invalid_prompt");
    } else {
      EXPECT_EQ(codec_->Finish({absl::OkStatus(), ""}, &last).status, 400);
    }
  }
}

}  // namespace
}  // namespace trivium
