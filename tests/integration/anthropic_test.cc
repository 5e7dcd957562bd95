// Anthropic's Messages API over HTTP, with a real server and a tiny Qwen 3 that
// takes chats.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/chat_http_test.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;

using testing::HasSubstr;

class AnthropicHttpTest : public ChatHttpTest {
 protected:
  static void SetUpTestSuite() {
    Start("anthropic_test",
          [](const std::filesystem::path& folder) {
            // Its answers begin inside of a thought, if they may.
            MakeChatFolder(folder / "thinker");
            std::ofstream(folder / "thinker" / "chat_template.jinja",
                          std::ios::app)
                << "{%- if add_generation_prompt and enable_thinking %}"
                   "{{- '<think>' }}{% endif %}";
            return std::vector<std::string>{"--model",
                                            (folder / "thinker").string()};
          },
          {"--model-alias", "claude=chat", "--max-request-bytes", "100000"});
  }

  static HttpResult SendMessage(const json& body) {
    return Send("/v1/messages", body,
                "Content-Type: application/json\r\n"
                "anthropic-version: 2023-06-01\r\n"
                "anthropic-beta: some-2026-01-01\r\n"
                "x-api-key: nobody-asked\r\n");
  }
  static json Error(const json& body, int status) {
    const HttpResult answer = SendMessage(body);
    EXPECT_EQ(answer.status, status) << body << answer.body;
    const json error = json::parse(answer.body, nullptr, false);
    EXPECT_EQ(error["type"], "error");
    return error["error"];
  }
  static json Body(const json& more) {
    json body = {{"model", "claude"},
                 {"max_tokens", 12},
                 {"temperature", 0},
                 {"messages", {{{"role", "user"}, {"content", "Hello"}}}}};
    body.update(more);
    return body;
  }

  // The blocks of a body's stream, joined, and the event message_delta.
  static std::pair<json, json> Streamed(json body) {
    body["stream"] = true;
    const HttpResult stream = SendMessage(body);
    EXPECT_EQ(stream.status, 200) << stream.body;
    EXPECT_THAT(stream.headers, HasSubstr("text/event-stream"));
    json blocks = json::array(), last;
    std::string input;
    std::vector<std::string> names;
    for (size_t at = 0; at < stream.body.size();) {
      const size_t end = stream.body.find("\n\n", at);
      const std::string event = stream.body.substr(at, end - at);
      at = end + 2;
      const size_t line = event.find("\ndata: ");
      const json data = json::parse(event.substr(line + 7));
      names.push_back(data["type"]);
      EXPECT_EQ("event: " + names.back(), event.substr(0, line));
      if (names.back() == "content_block_start") {
        blocks.push_back(data["content_block"]);
        input.clear();
      } else if (names.back() == "content_block_delta") {
        for (const auto& [name, value] : data["delta"].items()) {
          if (name == "partial_json") {
            input += value.get<std::string>();
          } else if (name != "type") {
            blocks.back()[name] = blocks.back()[name].get<std::string>() +
                                  value.get<std::string>();
          }
        }
      } else if (names.back() == "content_block_stop") {
        if (!input.empty()) blocks.back()["input"] = json::parse(input);
      } else if (names.back() == "message_delta") {
        last = data;
      }
    }
    EXPECT_EQ(names.front(), "message_start");
    EXPECT_EQ(names.back(), "message_stop");
    return {blocks, last};
  }
};

TEST_F(AnthropicHttpTest, AnswersLikeTheChatOfOpenAi) {
  const json message = Post("/v1/messages", Body({{"system", "Be kind."}}));
  const json chat =
      Post("/v1/chat/completions",
           {{"model", "chat"},
            {"max_tokens", 12},
            {"temperature", 0},
            {"chat_template_kwargs", {{"enable_thinking", false}}},
            {"messages",
             {{{"role", "system"}, {"content", "Be kind."}},
              {{"role", "user"}, {"content", "Hello"}}}}});
  EXPECT_EQ(message["model"], "chat");
  ASSERT_EQ(message["content"].size(), 1u) << message;
  EXPECT_EQ(message["content"][0],
            json({{"type", "text"},
                  {"text", chat["choices"][0]["message"]["content"]}}));
  EXPECT_EQ(message["stop_reason"], "max_tokens");
  const json& usage = message["usage"];
  EXPECT_EQ(usage["input_tokens"].get<int>() +
                usage["cache_read_input_tokens"].get<int>(),
            chat["usage"]["prompt_tokens"]);
  EXPECT_EQ(usage["output_tokens"], chat["usage"]["completion_tokens"]);
  // The same prompt, counted.
  json body = Body({{"system", "Be kind."}});
  body.erase("max_tokens");
  body.erase("temperature");
  EXPECT_EQ(Post("/v1/messages/count_tokens", body),
            json({{"input_tokens", chat["usage"]["prompt_tokens"]}}));
}

TEST_F(AnthropicHttpTest, AStreamIsTheWholeInEvents) {
  const json whole = Post("/v1/messages", Body({{"max_tokens", 200}}));
  const auto [blocks, last] = Streamed(Body({{"max_tokens", 200}}));
  EXPECT_EQ(blocks, whole["content"]);
  EXPECT_EQ(last["delta"]["stop_reason"], whole["stop_reason"]);
  EXPECT_EQ(last["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
}

TEST_F(AnthropicHttpTest, ThoughtsAreABlock) {
  const json quiet = Post("/v1/messages", Body({{"model", "thinker"}}));
  EXPECT_EQ(quiet["content"][0]["type"], "text");
  const json body =
      Body({{"model", "thinker"},
            {"thinking", {{"type", "enabled"}, {"budget_tokens", 1024}}}});
  const json whole = Post("/v1/messages", body);
  ASSERT_EQ(whole["content"].size(), 1u) << whole;
  EXPECT_EQ(whole["content"][0]["type"], "thinking");
  EXPECT_NE(whole["content"][0]["thinking"], "");
  EXPECT_NE(whole["content"][0]["signature"], "");
  const auto [blocks, last] = Streamed(body);
  EXPECT_EQ(blocks, whole["content"]);
  json short_body = body;
  short_body["thinking"]["budget_tokens"] = 4;
  const json bounded = Post("/v1/messages", short_body);
  ASSERT_EQ(bounded["content"].size(), 2u) << bounded;
  EXPECT_EQ(bounded["content"][1]["type"], "text");
  // The blocks come back as they are.
  Post("/v1/messages",
       Body({{"model", "thinker"},
             {"messages",
              {{{"role", "user"}, {"content", "Hello"}},
               {{"role", "assistant"},
                {"content", {blocks[0], {{"type", "text"}, {"text", "Hi"}}}}},
               {{"role", "user"}, {"content", "And?"}}}}}));
}

TEST_F(AnthropicHttpTest, RefusalsHaveItsShape) {
  EXPECT_EQ(Error(Body({{"model", "none"}}), 404)["type"], "not_found_error");
  json error = Error(Body({{"max_tokens", 1020}}), 400);
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_THAT(error["message"].get<std::string>(), ErrorAt("max_tokens"));
  error =
      Error(Body({{"messages",
                   {{{"role", "user"}, {"content", {{{"type", "image"}}}}}}}}),
            400);
  EXPECT_THAT(error["message"].get<std::string>(),
              ErrorAt("messages[0].content[0].type"));
  EXPECT_EQ(Error(Body({{"system", std::string(200000, 'x')}}), 413)["type"],
            "request_too_large");
  const HttpResult form =
      HttpPost((*server_)->http_port(), "/v1/messages", "a=b",
               "Content-Type: application/x-www-form-urlencoded\r\n");
  EXPECT_EQ(form.status, 415);
  EXPECT_EQ(json::parse(form.body)["error"]["type"], "invalid_request_error");
}

}  // namespace
}  // namespace trivium
