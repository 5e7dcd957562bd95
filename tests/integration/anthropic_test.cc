// Anthropic's Messages API over HTTP, with a real server and a tiny Qwen 3 that
// takes chats.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/chat_folder.h"
#include "tests/integration/folder_server.h"
#include "tests/support/error_texts.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using nlohmann::json;

using testing::ElementsAre;
using testing::HasSubstr;

class AnthropicHttpTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new FolderServer(
        "anthropic_test", [](const std::filesystem::path& folder) {
          MakeChatFolder(folder / "chat");
          return std::vector<std::string>{"--http-listen",
                                          "127.0.0.1:0",
                                          "--model",
                                          (folder / "chat").string(),
                                          "--precision",
                                          "f32",
                                          "--model-alias",
                                          "claude=chat",
                                          "--max-request-bytes",
                                          "100000"};
        });
  }
  static void TearDownTestSuite() { delete server_; }

  static HttpResult Send(const std::string& path, const json& body) {
    return HttpPost((*server_)->http_port(), path, body.dump(),
                    "Content-Type: application/json\r\n"
                    "anthropic-version: 2023-06-01\r\n"
                    "anthropic-beta: some-2026-01-01\r\n"
                    "x-api-key: nobody-asked\r\n");
  }
  static json Post(const std::string& path, const json& body) {
    const HttpResult answer = Send(path, body);
    EXPECT_EQ(answer.status, 200) << path << body << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  static json Refusal(const json& body, int status) {
    const HttpResult answer = Send("/v1/messages", body);
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

  static FolderServer* server_;
};

FolderServer* AnthropicHttpTest::server_ = nullptr;

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
  const HttpResult stream =
      Send("/v1/messages", Body({{"max_tokens", 200}, {"stream", true}}));
  ASSERT_EQ(stream.status, 200);
  EXPECT_THAT(stream.headers, HasSubstr("text/event-stream"));
  std::string text;
  std::vector<std::string> names;
  json last;
  for (size_t at = 0; at < stream.body.size();) {
    const size_t end = stream.body.find("\n\n", at);
    const std::string event = stream.body.substr(at, end - at);
    at = end + 2;
    const size_t line = event.find("\ndata: ");
    ASSERT_NE(line, event.npos) << event;
    const json data = json::parse(event.substr(line + 7));
    EXPECT_EQ("event: " + data["type"].get<std::string>(),
              event.substr(0, line));
    if (data["type"] == "content_block_delta") {
      text += data["delta"]["text"].get<std::string>();
    } else {
      names.push_back(data["type"]);
    }
    if (data["type"] == "message_delta") last = data;
  }
  EXPECT_EQ(text, whole["content"][0]["text"]);
  EXPECT_THAT(names, ElementsAre("message_start", "content_block_start",
                                 "content_block_stop", "message_delta",
                                 "message_stop"));
  EXPECT_EQ(last["delta"]["stop_reason"], whole["stop_reason"]);
  EXPECT_EQ(last["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
}

TEST_F(AnthropicHttpTest, RefusalsHaveItsShape) {
  EXPECT_EQ(Refusal(Body({{"model", "none"}}), 404)["type"], "not_found_error");
  json error = Refusal(Body({{"max_tokens", 1020}}), 400);
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_THAT(error["message"].get<std::string>(), ErrorAt("max_tokens"));
  error = Refusal(
      Body({{"messages",
             {{{"role", "user"}, {"content", {{{"type", "image"}}}}}}}}),
      400);
  EXPECT_THAT(error["message"].get<std::string>(),
              ErrorAt("messages[0].content[0].type"));
  EXPECT_EQ(Refusal(Body({{"system", std::string(200000, 'x')}}), 413)["type"],
            "request_too_large");
  const HttpResult form =
      HttpPost((*server_)->http_port(), "/v1/messages", "a=b",
               "Content-Type: application/x-www-form-urlencoded\r\n");
  EXPECT_EQ(form.status, 415);
  EXPECT_EQ(json::parse(form.body)["error"]["type"], "invalid_request_error");
}

}  // namespace
}  // namespace trivium
