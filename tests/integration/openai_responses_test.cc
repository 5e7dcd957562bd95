// OpenAI's Responses API with a real server: a tiny model with random weights,
// which thinks and calls tools only because it is made to.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/chat_http_test.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;

class OpenAiResponsesServerTest : public ChatHttpTest {
 protected:
  static void SetUpTestSuite() { Start("openai_responses_test", nullptr); }

  static json Body(const json& more) {
    json body = {
        {"input", "Hello you"}, {"temperature", 0}, {"max_output_tokens", 8}};
    body.update(more);
    return body;
  }
  static json Respond(const json& more) {
    return Post("/v1/responses", Body(more));
  }
  // The events of a stream.
  static std::vector<json> Stream(const json& more) {
    json body = Body(more);
    body["stream"] = true;
    const HttpResult answer = Send("/v1/responses", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::vector<json> events;
    std::string_view rest = answer.body;
    while (!rest.empty()) {
      const size_t end = rest.find("\n\n");
      const size_t data = rest.find("\ndata: ") + 7;
      events.push_back(json::parse(rest.substr(data, end - data)));
      rest.remove_prefix(end + 2);
    }
    return events;
  }
  static json Error(const json& more) {
    const HttpResult answer = Send("/v1/responses", Body(more));
    EXPECT_EQ(answer.status, 400) << answer.body;
    return json::parse(answer.body)["error"];
  }
  // Items without what is drawn for each answer.
  static json Plain(json items) {
    for (json& item : items) {
      item.erase("id");
      item.erase("call_id");
    }
    return items;
  }
  // The deltas of each item, joined.
  static std::vector<std::string> Joined(const std::vector<json>& events) {
    std::vector<std::string> texts;
    for (const json& event : events) {
      if (!event.contains("output_index")) continue;
      texts.resize(event["output_index"].get<size_t>() + 1);
      texts.back() += event.value("delta", "");
    }
    return texts;
  }
};

const json kWeather = {
    {"type", "function"},
    {"name", "weather"},
    {"parameters",
     {{"type", "object"},
      {"properties", {{"city", {{"enum", {"Bern", "Oslo"}}}}}},
      {"required", {"city"}},
      {"additionalProperties", false}}}};

TEST_F(OpenAiResponsesServerTest, SaysWhatAChatSays) {
  const json chat =
      json::parse(Send("/v1/chat/completions",
                       {{"messages",
                         {{{"role", "system"}, {"content", "Be kind."}},
                          {{"role", "user"}, {"content", "Hello you"}}}},
                        {"temperature", 0},
                        {"max_completion_tokens", 8}})
                      .body);
  const json more = {{"instructions", "Be kind."}};
  const json whole = Respond(more);
  EXPECT_EQ(whole["output"][0]["content"][0]["text"],
            chat["choices"][0]["message"]["content"]);
  EXPECT_EQ(whole["usage"]["input_tokens"], chat["usage"]["prompt_tokens"]);
  EXPECT_EQ(whole["usage"]["output_tokens"],
            chat["usage"]["completion_tokens"]);
  const std::vector<json> events = Stream(more);
  EXPECT_EQ(events.front()["type"], "response.created");
  EXPECT_EQ(Plain(events.back()["response"]["output"]), Plain(whole["output"]));
  EXPECT_THAT(Joined(events),
              testing::ElementsAre(whole["output"][0]["content"][0]["text"]));
}

TEST_F(OpenAiResponsesServerTest, ThoughtsAreItems) {
  // The mark of a thought in chats/tokenizer.json.
  const json more = {{"max_output_tokens", 6}, {"logit_bias", {{"267", 100}}}};
  const json whole = Respond(more);
  ASSERT_EQ(whole["output"].size(), 1u) << whole;
  const json& item = whole["output"][0];
  EXPECT_EQ(item["type"], "reasoning");
  EXPECT_EQ(item["status"], "incomplete");
  EXPECT_GT(whole["usage"]["output_tokens_details"]["reasoning_tokens"], 0);
  const std::vector<json> events = Stream(more);
  EXPECT_EQ(Plain(events.back()["response"]["output"]), Plain(whole["output"]));
  EXPECT_THAT(Joined(events), testing::ElementsAre(item["content"][0]["text"]));
}

TEST_F(OpenAiResponsesServerTest, CallsToolsAndReadsTheirAnswers) {
  // Random weights could think for ever: no mark of a thought, nor its letter.
  const json more = {{"tools", {kWeather}},
                     {"logit_bias", {{"267", -100}, {"27", -100}}},
                     {"tool_choice", "required"},
                     {"parallel_tool_calls", false},
                     {"max_output_tokens", 300}};
  const json whole = Respond(more);
  EXPECT_EQ(whole["status"], "completed");
  ASSERT_EQ(whole["output"].size(), 1u) << whole;
  const json call = whole["output"][0];
  ASSERT_EQ(call.at("type"), "function_call") << whole;
  EXPECT_EQ(call.at("name"), "weather");
  EXPECT_THAT(json::parse(call["arguments"].get<std::string>())["city"],
              testing::AnyOf("Bern", "Oslo"));
  const std::vector<json> events = Stream(more);
  EXPECT_EQ(Plain(events.back()["response"]["output"]), Plain(whole["output"]));
  EXPECT_THAT(Joined(events), testing::ElementsAre(call["arguments"]));

  const json next = Respond({{"tools", {kWeather}},
                             {"tool_choice", "none"},
                             {"input",
                              {{{"role", "user"}, {"content", "Hello you"}},
                               call,
                               {{"type", "function_call_output"},
                                {"call_id", call["call_id"]},
                                {"output", "It rains."}}}}});
  EXPECT_EQ(next["output"][0]["type"], "message");
  EXPECT_GT(next["usage"]["input_tokens"], 20);
}

TEST_F(OpenAiResponsesServerTest, RefusalsNameItsMembers) {
  EXPECT_EQ(Error({{"previous_response_id", "resp_1"}})["param"],
            "previous_response_id");
  EXPECT_EQ(Error({{"reasoning", {{"effort", "huge"}}}})["param"],
            "reasoning.effort");
  json bad = kWeather;
  bad["parameters"]["properties"]["city"] = {{"not", {{"format", "date"}}}};
  EXPECT_THAT(Error({{"tools", {kWeather, bad}}})["param"].get<std::string>(),
              testing::StartsWith("tools[1]"));
  std::string longer;
  for (int i = 0; i < 3000; ++i) longer += "Hello ";
  EXPECT_EQ(Error({{"input", longer}})["code"], "context_length_exceeded");
  // Nothing is stored.
  const HttpResult stored =
      HttpGet((*server_)->http_port(), "/v1/responses/resp_1");
  EXPECT_EQ(stored.status, 404);
  EXPECT_THAT(json::parse(stored.body)["error"]["message"].get<std::string>(),
              ErrorAt("/v1/responses/resp_1"));
  EXPECT_EQ(Send("/v1/responses/resp_1/cancel", json::object()).status, 404);
}

}  // namespace
}  // namespace trivium
