// Ollama's API as its clients really call it, over HTTP and with real models.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/chat_http_test.h"
#include "tests/integration/good_calls.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class OllamaShapesTest : public ChatHttpTest {
 protected:
  static void SetUpTestSuite() {
    Start("ollama_shapes_test",
          [](const std::filesystem::path& folder) {
            return HeadModels(folder.string());
          },
          {"--model-alias", "llama3.2=chat", "--any-model"});
  }

  static json Get(const std::string& path) {
    const HttpResult answer = HttpGet((*server_)->http_port(), path);
    EXPECT_EQ(answer.status, 200) << path << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  static std::string Error(const std::string& path, const json& body,
                           int status = 400) {
    return Refusal(path, body, status)["error"];
  }
  // The lines of a stream.
  static std::vector<json> Lines(const std::string& path, const json& body) {
    const HttpResult answer = Send(path, body);
    EXPECT_EQ(answer.status, 200) << path << body << answer.body;
    EXPECT_THAT(answer.headers,
                HasSubstr("Content-Type: application/x-ndjson"));
    std::vector<json> lines;
    size_t begin = 0;
    for (size_t end; (end = answer.body.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      lines.push_back(json::parse(answer.body.substr(begin, end - begin)));
    }
    EXPECT_EQ(begin, answer.body.size()) << answer.body;
    return lines;
  }

  // A chat of 12 tokens at most, the same each time.
  static json Chat() {
    return {{"model", "chat"},
            {"messages", {{{"role", "user"}, {"content", "Hello you"}}}},
            {"options", {{"temperature", 0}, {"num_predict", 12}}}};
  }
};

// As `curl -d` sends it; a page could send the same without asking first.
TEST_F(OllamaShapesTest, BodiesNeedNoTypeUnlessAPageSendsThem) {
  const std::string form =
      "Content-Type: application/x-www-form-urlencoded\r\n";
  const auto post = [](const std::string& headers) {
    return HttpPost((*server_)->http_port(), "/api/show",
                    json({{"model", "chat"}}).dump(), headers)
        .status;
  };
  EXPECT_EQ(post(form), 200);
  EXPECT_EQ(post(""), 200);
  EXPECT_EQ(post(form + "Origin: https://example.org\r\n"), 403);
  EXPECT_EQ(post("Sec-Fetch-Site: cross-site\r\n"), 403);
}

TEST_F(OllamaShapesTest, ChatsAreThoseOfOpenAisShape) {
  const json openai =
      Post("/v1/chat/completions",
           {{"model", "chat"},
            {"messages", {{{"role", "user"}, {"content", "Hello you"}}}},
            {"temperature", 0},
            {"max_tokens", 12}});
  const std::string expected = openai["choices"][0]["message"]["content"];
  json chat = Chat();
  chat["stream"] = false;
  const json whole = Post("/api/chat", chat);
  EXPECT_EQ(whole["message"]["role"], "assistant");
  EXPECT_EQ(whole["message"]["content"], expected);
  EXPECT_EQ(whole["done"], true);
  EXPECT_EQ(whole["done_reason"], openai["choices"][0]["finish_reason"]);
  EXPECT_EQ(whole["prompt_eval_count"], openai["usage"]["prompt_tokens"]);
  EXPECT_EQ(whole["eval_count"], openai["usage"]["completion_tokens"]);
  EXPECT_GE(whole["total_duration"], whole["eval_duration"]);
  EXPECT_GT(whole["eval_duration"], 0);

  // A stream is the default.
  std::string text;
  const std::vector<json> lines = Lines("/api/chat", Chat());
  for (const json& line : lines) {
    EXPECT_EQ(line["model"], "chat");
    EXPECT_EQ(line["done"], &line == &lines.back());
    text += line["message"]["content"];
  }
  EXPECT_EQ(text, expected);
  EXPECT_EQ(lines.back()["eval_count"], whole["eval_count"]);
}

TEST_F(OllamaShapesTest, PromptsAreChatsUnlessRaw) {
  const json options = {{"temperature", 0}, {"num_predict", 12}};
  json chat = Chat();
  chat["stream"] = false;
  chat["messages"] = {{{"role", "system"}, {"content", "Be kind."}},
                      {{"role", "user"}, {"content", "Hello you"}}};
  const json prompt = {{"model", "chat"},
                       {"prompt", "Hello you"},
                       {"system", "Be kind."},
                       {"stream", false},
                       {"options", options}};
  EXPECT_EQ(Post("/api/generate", prompt)["response"],
            Post("/api/chat", chat)["message"]["content"]);
  std::string text;
  for (const json& line : Lines("/api/generate", {{"model", "chat"},
                                                  {"prompt", "Hello"},
                                                  {"raw", true},
                                                  {"options", options}})) {
    text += line["response"];
  }
  EXPECT_EQ(text, Post("/v1/completions",
                       {{"model", "chat"},
                        {"prompt", "Hello"},
                        {"temperature", 0},
                        {"max_tokens", 12}})["choices"][0]["text"]);
  // A translator's prompt is its source.
  EXPECT_THAT(
      Post("/api/generate", {{"model", "en-de"},
                             {"prompt", "The house is big."},
                             {"stream", false},
                             {"options", {{"temperature", 0}}}})["response"]
          .get<std::string>(),
      HasSubstr("Haus"));
}

// A chat could think for ever before its answer, as its weights are random.
TEST_F(OllamaShapesTest, AnswersHaveForms) {
  json request = {{"model", "chat"},
                  {"prompt", "Hello"},
                  {"raw", true},
                  {"stream", false},
                  {"options", {{"temperature", 0}, {"num_predict", 500}}}};
  request["format"] = {{"type", "object"},
                       {"properties",
                        {{"name", {{"enum", {"Paris", "Bern"}}}},
                         {"capital", {{"type", "boolean"}}}}},
                       {"required", {"name", "capital"}},
                       {"additionalProperties", false}};
  const json answer = Post("/api/generate", request);
  EXPECT_EQ(answer["done_reason"], "stop");
  const json city = json::parse(answer["response"].get<std::string>());
  EXPECT_TRUE(city["name"] == "Paris" || city["name"] == "Bern") << city;
  EXPECT_TRUE(city["capital"].is_boolean());
  json chat = Chat();
  chat["format"] = {{"not", {{"format", "date"}}}};
  EXPECT_THAT(Error("/api/chat", chat), ErrorAt("format"));
}

TEST_F(OllamaShapesTest, LogprobsAreThoseOfOpenAisShape) {
  json chat = Chat();
  chat["stream"] = false;
  chat["logprobs"] = true;
  chat["top_logprobs"] = 2;
  const json answer = Post("/api/chat", chat);
  EXPECT_EQ(answer["logprobs"],
            Post("/v1/chat/completions",
                 {{"model", "chat"},
                  {"messages", chat["messages"]},
                  {"temperature", 0},
                  {"max_tokens", 12},
                  {"logprobs", true},
                  {"top_logprobs", 2}})["choices"][0]["logprobs"]["content"]);
  EXPECT_EQ(answer["logprobs"][0]["top_logprobs"].size(), 2u);
}

TEST_F(OllamaShapesTest, AnyNameOfAModelIsAnswered) {
  for (const char* name : {"", "chat", "chat:latest", "llama3.2",
                           "llama3.2:latest", "gemma3:1b"}) {
    json chat = Chat();
    chat["model"] = name;
    chat["stream"] = false;
    EXPECT_EQ(Post("/api/chat", chat)["model"], "chat") << name;
  }
  EXPECT_EQ(Post("/api/embed",
                 {{"model", "nomic-embed-text"}, {"input", "Hello"}})["model"],
            "en-de");
  EXPECT_EQ(
      Post("/api/show",
           {{"model", "chat:latest"}})["model_info"]["general.architecture"],
      "qwen3");
}

TEST_F(OllamaShapesTest, RequestsThatLoadAModelAreAnsweredAtOnce) {
  for (const json& body :
       {json{{"model", "chat"}}, json{{"model", "chat"}, {"prompt", ""}},
        json{{"model", "chat"}, {"prompt", nullptr}, {"keep_alive", -1}}}) {
    const json answer = Post("/api/generate", body);
    EXPECT_EQ(answer["done_reason"], "load") << body;
    EXPECT_EQ(answer["response"], "") << body;
  }
  EXPECT_EQ(Post("/api/chat", {{"model", "chat"},
                               {"messages", json::array()}})["done_reason"],
            "load");
  EXPECT_THAT(Error("/api/generate", {{"model", "chat"}, {"promt", "x"}}),
              ErrorAt("promt"));
}

TEST_F(OllamaShapesTest, EmbeddingsAreThoseOfOpenAisShape) {
  const json expected =
      Post("/v1/embeddings", {{"model", "en-de"}, {"input", {"Hi.", "You."}}});
  const json both =
      Post("/api/embed", {{"model", "en-de"}, {"input", {"Hi.", "You."}}});
  ASSERT_EQ(both["embeddings"].size(), 2u);
  EXPECT_EQ(both["embeddings"][0], expected["data"][0]["embedding"]);
  EXPECT_EQ(both["embeddings"][1], expected["data"][1]["embedding"]);
  EXPECT_EQ(both["prompt_eval_count"], expected["usage"]["prompt_tokens"]);
  EXPECT_EQ(Post("/api/embed",
                 {{"model", "en-de"}, {"input", "Hi."}})["embeddings"][0],
            both["embeddings"][0]);
  EXPECT_EQ(Post("/api/embeddings",
                 {{"model", "en-de"}, {"prompt", "Hi."}})["embedding"],
            both["embeddings"][0]);
  // Texts that are too long are cut.
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "house ";
  json body = {{"model", "en-de"}, {"input", text}};
  Post("/api/embed", body);
  body["truncate"] = false;
  EXPECT_THAT(Error("/api/embed", body), ErrorAt("input"));
}

TEST_F(OllamaShapesTest, ListsItsModels) {
  const json tags = Get("/api/tags")["models"];
  const json loaded = Get("/api/ps")["models"];
  const json names = Get("/v1/models")["data"];
  ASSERT_EQ(tags.size(), names.size());
  ASSERT_EQ(loaded.size(), names.size());
  for (size_t i = 0; i < tags.size(); ++i) {
    EXPECT_EQ(tags[i]["name"], names[i]["id"]);
    EXPECT_GT(tags[i]["size"], 0);
    // Ollama's own client shows the first twelve digits.
    EXPECT_GE(tags[i]["digest"].get<std::string>().size(), 12u);
    EXPECT_GE(loaded[i]["size"], tags[i]["size"]);
  }
  const json chat = Post("/api/show", {{"model", "chat"}});
  EXPECT_EQ(chat["capabilities"], json({"completion", "tools", "thinking"}));
  EXPECT_EQ(chat["model_info"]["qwen3.context_length"], 1024);
  EXPECT_TRUE(Get("/api/version")["version"].is_string());
}

TEST_F(OllamaShapesTest, ErrorsAreInTheClientsWords) {
  json chat = Chat();
  chat["options"]["num_predict"] = 1020;
  EXPECT_THAT(Error("/api/chat", chat), ErrorAt("options.num_predict"));
  chat = Chat();
  chat["options"]["top_p"] = 2;
  EXPECT_THAT(Error("/api/chat", chat), ErrorAt("options.top_p"));
  chat = Chat();
  chat["messages"][0]["images"] = {"aGk="};
  EXPECT_THAT(Error("/api/chat", chat), ErrorAt("messages[0].images"));
  EXPECT_THAT(Error("/api/pull", {{"model", "llama3.2"}}, 404),
              ErrorAt("--model"));
  EXPECT_THAT(Error("/api/anything", json::object(), 404),
              ErrorAt("/api/anything"));
}

}  // namespace
}  // namespace trivium
