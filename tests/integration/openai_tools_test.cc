// Tool calls and thoughts in OpenAI's chats, with a real server: a tiny model
// with random weights, which calls tools only because it is made to.
#include <filesystem>
#include <set>
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

constexpr char kPath[] = "/v1/chat/completions";

// The ids of marks in chats/tokenizer.json. A bias makes the model write them,
// or not: thoughts before a required call may be of any length, and begin with
// the mark or with its first letter.
constexpr char kLess[] = "27";
constexpr char kThink[] = "267";
constexpr char kToolCall[] = "269";

// Arguments take few tokens, whatever they are.
json Tool(const std::string& name, const std::string& member) {
  return {{"type", "function"},
          {"function",
           {{"name", name},
            {"description", "Says something."},
            {"strict", true},
            {"parameters",
             {{"type", "object"},
              {"properties", {{member, {{"enum", {"Bern", "Oslo"}}}}}},
              {"required", {member}},
              {"additionalProperties", false}}}}}};
}

class OpenAiToolsTest : public ChatHttpTest {
 protected:
  static void SetUpTestSuite() { Start("openai_tools_test", nullptr); }

  static json Body(const json& more) {
    json body = {{"messages", {{{"role", "user"}, {"content", "Hello you"}}}},
                 {"tools", {Tool("weather", "city"), Tool("time", "zone")}},
                 {"temperature", 0},
                 {"logit_bias", {{kThink, -100}, {kLess, -100}}},
                 {"max_completion_tokens", 300}};
    body.update(more);
    return body;
  }
  static json Choices(const json& more) {
    const HttpResult answer = Send(kPath, Body(more));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body)["choices"];
  }
  // The member that the refusal names.
  static std::string Refused(const json& more) {
    const HttpResult answer = Send(kPath, Body(more));
    EXPECT_EQ(answer.status, 400) << answer.body;
    const json error = json::parse(answer.body)["error"];
    return error["param"].is_string() ? error["param"] : error["message"];
  }
  // The name of the one call of a message, which must be one of ours.
  static std::string Called(const json& choice) {
    EXPECT_EQ(choice["finish_reason"], "tool_calls") << choice;
    const json& message = choice["message"];
    EXPECT_TRUE(message["content"].is_null()) << message;
    const json calls = message.value("tool_calls", json::array());
    EXPECT_EQ(calls.size(), 1u) << message;
    return calls.empty() ? "" : CheckCall(calls[0]);
  }
  static std::string CheckCall(const json& call) {
    EXPECT_EQ(call["type"], "function");
    EXPECT_EQ(call["id"].get<std::string>().size(), 37u);
    const std::string name = call["function"]["name"];
    EXPECT_THAT(name, testing::AnyOf("weather", "time"));
    const json arguments =
        json::parse(call["function"]["arguments"].get<std::string>());
    EXPECT_EQ(arguments.size(), 1u);
    EXPECT_THAT(arguments.value(name == "time" ? "zone" : "city", ""),
                testing::AnyOf("Bern", "Oslo"));
    return name;
  }
};

json Named(const std::string& name) {
  return {{"type", "function"}, {"function", {{"name", name}}}};
}

TEST_F(OpenAiToolsTest, CallsWhatIsChosen) {
  Called(Choices(
      {{"tool_choice", "required"}, {"parallel_tool_calls", false}})[0]);
  for (const char* const name : {"weather", "time"}) {
    EXPECT_EQ(Called(Choices({{"tool_choice", Named(name)},
                              {"parallel_tool_calls", false}})[0]),
              name);
  }
  // The model begins a call by itself.
  Called(Choices(
      {{"tool_choice", "auto"},
       {"parallel_tool_calls", false},
       {"logit_bias", {{kToolCall, 100}, {kThink, -100}, {kLess, -100}}}})[0]);
  // No call is read where none may be made.
  const json none = Choices(
      {{"tool_choice", "none"},
       {"max_completion_tokens", 8},
       {"logit_bias", {{kToolCall, 100}, {kThink, -100}, {kLess, -100}}}})[0];
  EXPECT_FALSE(none["message"].contains("tool_calls"));
  EXPECT_THAT(none["message"]["content"].get<std::string>(),
              testing::HasSubstr("<tool_call>"));
}

TEST_F(OpenAiToolsTest, EachChoiceHasCallsOfItsOwn) {
  const json choices = Choices({{"tool_choice", "required"},
                                {"parallel_tool_calls", false},
                                {"temperature", 1},
                                {"seed", 5},
                                {"n", 3}});
  ASSERT_EQ(choices.size(), 3u);
  std::set<std::string> ids;
  for (const json& choice : choices) {
    Called(choice);
    ids.insert(choice["message"]["tool_calls"][0]["id"]);
  }
  EXPECT_EQ(ids.size(), 3u);
}

TEST_F(OpenAiToolsTest, StreamsTheSameCalls) {
  for (const json& options :
       {json{{"tool_choice", "required"}, {"parallel_tool_calls", false}},
        json{{"tool_choice", "required"}},
        json{{"tool_choice", "auto"}, {"max_completion_tokens", 20}}}) {
    const json whole = Choices(options)[0];
    json body = Body(options);
    body["stream"] = true;
    const HttpResult answer = Send(kPath, body);
    EXPECT_EQ(answer.status, 200);
    std::string content, reason;
    std::vector<json> calls;
    std::string_view rest = answer.body;
    while (rest.starts_with("data: {")) {
      const size_t end = rest.find("\n\n");
      const json chunk = json::parse(rest.substr(6, end - 6));
      rest.remove_prefix(end + 2);
      const json& choice = chunk["choices"][0];
      const json& delta = choice["delta"];
      content += delta.value("content", "");
      if (choice["finish_reason"].is_string()) reason = choice["finish_reason"];
      for (const json& item : delta.value("tool_calls", json::array())) {
        const size_t index = item["index"];
        ASSERT_LE(index, calls.size());
        const std::string more = item["function"].value("arguments", "");
        if (index == calls.size()) {
          calls.push_back(item);
        } else {
          EXPECT_FALSE(item.contains("id"));
          EXPECT_FALSE(item["function"].contains("name"));
          json& arguments = calls[index]["function"]["arguments"];
          arguments = arguments.get<std::string>() + more;
        }
      }
    }
    EXPECT_EQ(rest, "data: [DONE]\n\n");
    EXPECT_EQ(reason, whole["finish_reason"]);
    const json& message = whole["message"];
    EXPECT_EQ(content, message["content"].is_null() ? "" : message["content"]);
    const json expected = message.value("tool_calls", json::array());
    ASSERT_EQ(calls.size(), expected.size()) << options;
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(calls[i]["function"], expected[i]["function"]);
    }
  }
}

TEST_F(OpenAiToolsTest, GoesOnWithTheToolsAnswer) {
  const json message = Choices({{"tool_choice", "required"},
                                {"parallel_tool_calls", false}})[0]["message"];
  const json messages = {{{"role", "user"}, {"content", "Hello you"}},
                         message,
                         {{"role", "tool"},
                          {"tool_call_id", message["tool_calls"][0]["id"]},
                          {"content", "It rains."}}};
  const json choice = Choices({{"messages", messages},
                               {"tool_choice", "none"},
                               {"max_completion_tokens", 8}})[0];
  EXPECT_FALSE(choice["message"]["content"].get<std::string>().empty());
}

TEST_F(OpenAiToolsTest, ThoughtsHaveTheirOwnMember) {
  const json thinking = {{"tools", nullptr},
                         {"max_completion_tokens", 6},
                         {"logit_bias", {{kThink, 100}}}};
  const json message = Choices(thinking)[0]["message"];
  EXPECT_FALSE(message["reasoning_content"].get<std::string>().empty());
  EXPECT_EQ(message["content"], "");
  // The template writes another prompt.
  const auto tokens = [](const json& more) -> int {
    json options = {{"tools", nullptr}, {"max_completion_tokens", 1}};
    options.update(more);
    return Post(kPath, Body(options))["usage"]["prompt_tokens"];
  };
  const int plain = tokens(json::object());
  EXPECT_GT(tokens({{"enable_thinking", false}}), plain);
  EXPECT_EQ(tokens({{"reasoning_effort", "none"}}),
            tokens({{"enable_thinking", false}}));
  EXPECT_EQ(tokens({{"reasoning_effort", "high"}}), plain);
}

TEST_F(OpenAiToolsTest, RefusesInItsClientsWords) {
  EXPECT_EQ(Refused({{"tool_choice", Named("sing")}}),
            "tool_choice.function.name");
  json bad = Tool("weather", "city");
  bad["function"]["parameters"]["properties"]["city"] = {
      {"not", {{"format", "date"}}}};
  EXPECT_THAT(Refused({{"tools", {Tool("time", "zone"), bad}}}),
              testing::StartsWith("tools[1]"));
}

}  // namespace
}  // namespace trivium
