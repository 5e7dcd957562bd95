// Tests the API over HTTP against a real server: each protocol gives the
// answers of gRPC.

#include <google/protobuf/util/json_util.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "nlohmann/json.hpp"
#include "tests/integration/chat_folder.h"
#include "tests/integration/folder_server.h"
#include "tests/integration/good_calls.h"
#include "tests/support/error_texts.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class HttpTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ =
        new FolderServer("http_test", [](const std::filesystem::path& folder) {
          std::vector<std::string> flags = HeadModels(folder.string());
          MakeChatFolder(folder / "chat");
          flags.insert(
              flags.end(),
              {"--http-listen", "127.0.0.1:0", "--model-root", "tests/golden",
               "--model", (folder / "chat").string(), "--precision", "f32"});
          return flags;
        });
  }
  static void TearDownTestSuite() { delete server_; }

  static HttpResult Post(const std::string& path, const std::string& body,
                         const std::string& type = "application/json") {
    return HttpPost((*server_)->http_port(), path, body,
                    "Content-Type: " + type + "\r\n");
  }
  static json PostJson(const std::string& path, const json& body) {
    const HttpResult answer = Post(path, body.dump());
    EXPECT_EQ(answer.status, 200) << path << body << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  static json Get(const std::string& path) {
    const HttpResult answer = HttpGet((*server_)->http_port(), path);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  // Returns the answer to a body that is refused.
  static json Refusal(const std::string& path, const json& body,
                      int status = 400) {
    const HttpResult answer = Post(path, body.dump());
    EXPECT_EQ(answer.status, status) << path << body << answer.body;
    EXPECT_TRUE(json::accept(answer.body)) << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  // Returns the data of server-sent events.
  static std::vector<std::string> Events(const std::string& body) {
    std::vector<std::string> events;
    size_t at = 0;
    while (at < body.size()) {
      const size_t end = body.find("\n\n", at);
      EXPECT_EQ(body.substr(at, 6), "data: ");
      EXPECT_NE(end, body.npos);
      if (end == body.npos) break;
      events.push_back(body.substr(at + 6, end - at - 6));
      at = end + 2;
    }
    return events;
  }
  std::vector<float> Embedding(const v1::EncodeRequest& request) {
    const auto response = client_->Encode(request);
    EXPECT_TRUE(response.ok()) << response.status();
    if (!response.ok()) return {};
    const auto& values = response->results(0).embedding();
    return {values.begin(), values.end()};
  }

  static FolderServer* server_;
  const std::unique_ptr<Client> client_ = (*server_)->NewClient();
};

FolderServer* HttpTest::server_ = nullptr;

std::string ToJson(const Message& message) {
  std::string text;
  google::protobuf::util::MessageToJsonString(message, &text).ok();
  return text;
}

// Removes the fields that differ from call to call.
std::string Settled(std::unique_ptr<Message> message) {
  const auto* const field =
      message->GetDescriptor()->FindFieldByName("timings");
  if (field != nullptr) message->GetReflection()->ClearField(&*message, field);
  return message->SerializeAsString();
}

std::string Enveloped(const std::string& message) {
  std::string bytes(1, '\0');
  for (const int shift : {24, 16, 8, 0}) {
    bytes += static_cast<char>(message.size() >> shift & 0xff);
  }
  return bytes + message;
}

TEST_F(HttpTest, AnswersConnectInJsonAndBytesLikeGrpc) {
  const auto* const pool = google::protobuf::DescriptorPool::generated_pool();
  // Compares the answers of both ways. The calls run one after the other, since
  // a loaded model must be unloaded before it can be loaded again.
  std::vector<std::string> answers[2];
  for (const bool as_json : {true, false}) {
    for (const GoodCall& call : GoodCalls()) {
      std::string name = call.method.substr(1);
      name[name.find('/')] = '.';
      if (!absl::StartsWith(name, "trivium.")) continue;  // KServe's: gRPC only
      const auto* const method = pool->FindMethodByName(name);
      ASSERT_NE(method, nullptr) << name;
      if (method->client_streaming() || method->server_streaming()) continue;
      std::unique_ptr<Message> message(
          google::protobuf::MessageFactory::generated_factory()
              ->GetPrototype(method->output_type())
              ->New());
      const std::string type =
          as_json ? "application/json" : "application/proto";
      const HttpResult answer =
          Post(call.method,
               as_json ? ToJson(*call.messages[0]) : call.Bytes()[0], type);
      ASSERT_EQ(answer.status, 200) << name << answer.body;
      EXPECT_THAT(answer.headers, HasSubstr(type));
      if (as_json) {
        EXPECT_TRUE(
            google::protobuf::util::JsonStringToMessage(answer.body, &*message)
                .ok())
            << answer.body;
      } else {
        EXPECT_TRUE(message->ParseFromString(answer.body)) << name;
      }
      answers[as_json].push_back(name + Settled(std::move(message)));
    }
  }
  EXPECT_THAT(answers[1], ElementsAreArray(answers[0]));
  EXPECT_EQ(answers[0].size(), 16);
}

TEST_F(HttpTest, AnswersConnectWithErrorsAndDetails) {
  const std::string encode = "/trivium.v1.Inference/Encode";
  json error = Refusal(encode, {{"inputs", {{{"txt", "a"}}}}});
  EXPECT_EQ(error["code"], "invalid_argument");
  // The rest of the text is Protobuf's.
  EXPECT_THAT(error["message"], HasSubstr("txt"));
  error = Refusal(encode, {{"model", "none"}}, 404);
  EXPECT_EQ(error["code"], "not_found");
  // The details are messages of google.rpc.
  error = Refusal(encode, {{"inputs", {{{"ids", {{"ids", {999999999}}}}}}}});
  ASSERT_EQ(error["details"][0]["type"], "google.rpc.BadRequest");
  std::string value;
  ASSERT_TRUE(absl::Base64Unescape(
      error["details"][0]["value"].get<std::string>(), &value));
  google::rpc::BadRequest bad;
  ASSERT_TRUE(bad.ParseFromString(value));
  EXPECT_EQ(bad.field_violations(0).field(), "inputs[0].ids.ids[0]");
  for (const char* body : {"", "{", "[]", "1", "null", "{\"inputs\":1}",
                           "{\"inputs\":[{\"text\":\"\xff\"}]}"}) {
    EXPECT_EQ(Post(encode, body).status, 400) << body;
    EXPECT_EQ(Post("/v1/embeddings", body).status, 400) << body;
  }
  EXPECT_EQ(Post(encode, "\x01\x02\x03", "application/proto").status, 400);
  const HttpResult deep = Post(encode, std::string(10000, '['));
  EXPECT_EQ(deep.status, 400);
  EXPECT_THAT(json::parse(deep.body)["message"].get<std::string>(),
              ErrorAt("deeper"));
}

TEST_F(HttpTest, StreamsByConnect) {
  v1::GenerateRequest request;
  request.set_model("chat");
  request.mutable_input()->set_text("Hello");
  request.mutable_decoding()->set_max_new_tokens(12);
  const WholeAnswer whole = GenerateWhole(*client_, request);
  const HttpResult answer =
      Post("/trivium.v1.Inference/Generate",
           Enveloped(request.SerializeAsString()), "application/connect+proto");
  ASSERT_EQ(answer.status, 200);
  std::string text, end;
  for (size_t at = 0; at + 5 <= answer.body.size();) {
    uint32_t size = 0;
    for (int i = 1; i < 5; ++i) {
      size = size << 8 | static_cast<uint8_t>(answer.body[at + i]);
    }
    const std::string message = answer.body.substr(at + 5, size);
    if (answer.body[at] == 2) {
      end = message;
    } else {
      v1::GenerateResponse response;
      EXPECT_TRUE(response.ParseFromString(message));
      text += response.piece().text();
    }
    at += 5 + size;
  }
  EXPECT_EQ(text, whole.text);
  EXPECT_THAT(end, HasSubstr("x-request-id"));
  EXPECT_THAT(end, Not(HasSubstr("error")));

  request.set_model("none");
  const HttpResult refused =
      Post("/trivium.v1.Inference/Generate", Enveloped(ToJson(request)),
           "application/connect+json");
  EXPECT_EQ(refused.status, 200);
  EXPECT_THAT(refused.body, HasSubstr("\"code\":\"not_found\""));
  const HttpResult bare = Post("/trivium.v1.Inference/Generate",
                               ToJson(request), "application/connect+json");
  EXPECT_THAT(bare.body, HasSubstr("\"code\":\"invalid_argument\""));
}

TEST_F(HttpTest, ListsModelsLikeOpenAi) {
  const json models = Get("/v1/models");
  EXPECT_EQ(models["object"], "list");
  EXPECT_EQ(models["data"].size(), 7u);
  EXPECT_EQ(models["data"][0]["id"], "en-de");
  EXPECT_EQ(Get("/v1/models/chat")["id"], "chat");
  const HttpResult none = HttpGet((*server_)->http_port(), "/v1/models/none");
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(json::parse(none.body)["error"]["code"], "model_not_found");
}

TEST_F(HttpTest, ReturnsEmbeddingsLikeOpenAi) {
  v1::EncodeRequest request;
  request.add_inputs()->set_text("The house is big.");
  const std::vector<float> expected = Embedding(request);
  const json floats =
      PostJson("/v1/embeddings",
               {{"model", "en-de"}, {"input", {"The house is big.", "Hi."}}});
  ASSERT_EQ(floats["data"].size(), 2u);
  EXPECT_EQ(floats["data"][0]["embedding"].get<std::vector<float>>(), expected);
  EXPECT_EQ(floats["data"][1]["index"], 1);
  EXPECT_GT(floats["usage"]["prompt_tokens"], 4);
  EXPECT_EQ(floats["model"], "en-de");

  const json coded =
      PostJson("/v1/embeddings",
               {{"input", "The house is big."}, {"encoding_format", "base64"}});
  std::string bytes;
  ASSERT_TRUE(absl::Base64Unescape(
      coded["data"][0]["embedding"].get<std::string>(), &bytes));
  ASSERT_EQ(bytes.size(), expected.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0);

  request.set_dimensions(8);
  EXPECT_EQ(
      PostJson("/v1/embeddings", {{"input", "The house is big."},
                                  {"dimensions", 8}})["data"][0]["embedding"]
          .get<std::vector<float>>(),
      Embedding(request));
  // Ids of one text, and of a list of texts.
  const json one = PostJson("/v1/embeddings", {{"input", {5, 6, 0}}});
  const json two = PostJson("/v1/embeddings", {{"input", {{5, 6, 0}, {7, 0}}}});
  EXPECT_EQ(one["data"][0]["embedding"], two["data"][0]["embedding"]);
  EXPECT_EQ(two["data"].size(), 2u);

  for (const json& bad :
       {json{}, json{{"input", 1}}, json{{"input", json::array()}},
        json{{"input", {1.5}}}, json{{"input", {"a", 1}}},
        json{{"input", "a"}, {"encoding_format", "hex"}},
        json{{"input", "a"}, {"dimensions", 0}},
        json{{"input", "a"}, {"dimensions", 100000}},
        json{{"input", "a"}, {"truncate_prompt_tokens", 3}}}) {
    const json error = Refusal("/v1/embeddings", bad);
    EXPECT_EQ(error["error"]["type"], "invalid_request_error") << bad;
    EXPECT_TRUE(error["error"]["message"].is_string());
  }
}

TEST_F(HttpTest, CompletesPromptsLikeOpenAi) {
  v1::GenerateRequest request;
  request.set_model("chat");
  request.mutable_input()->set_text("Hello");
  request.mutable_decoding()->set_max_new_tokens(12);
  request.mutable_decoding()->set_temperature(0);
  const WholeAnswer whole = GenerateWhole(*client_, request);
  json body = {{"model", "chat"},
               {"prompt", "Hello"},
               {"max_tokens", 12},
               {"temperature", 0}};
  const json answer = PostJson("/v1/completions", body);
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["choices"][0]["text"], whole.text);
  EXPECT_EQ(answer["choices"][0]["finish_reason"],
            whole.done.finish_reason() == v1::FINISH_REASON_LENGTH ? "length"
                                                                   : "stop");
  EXPECT_EQ(answer["usage"]["completion_tokens"],
            whole.done.usage().new_tokens());
  EXPECT_EQ(answer["usage"]["prompt_tokens"],
            whole.done.usage().prompt_tokens());

  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  const HttpResult streamed = Post("/v1/completions", body.dump());
  ASSERT_EQ(streamed.status, 200) << streamed.body;
  EXPECT_THAT(streamed.headers, HasSubstr("text/event-stream"));
  std::vector<std::string> events = Events(streamed.body);
  ASSERT_GT(events.size(), 3u);
  EXPECT_EQ(events.back(), "[DONE]");
  events.pop_back();
  EXPECT_EQ(json::parse(events.back())["usage"], answer["usage"]);
  EXPECT_EQ(json::parse(events.back())["choices"].size(), 0u);
  events.pop_back();
  std::string text;
  for (const std::string& event : events) {
    text += json::parse(event)["choices"][0]["text"].get<std::string>();
  }
  EXPECT_EQ(text, whole.text);
  EXPECT_EQ(json::parse(events.back())["choices"][0]["finish_reason"],
            answer["choices"][0]["finish_reason"]);
}

TEST_F(HttpTest, AcceptsOpenAisCompletionOptions) {
  json body = {{"model", "chat"}, {"prompt", {"Hello"}}, {"max_tokens", 6}};
  const auto with = [&body](const json& more) {
    json all = body;
    all.update(more);
    return PostJson("/v1/completions", all);
  };
  // Repeatable draws, several at a time.
  const json drawn = with({{"seed", 7}, {"n", 3}, {"top_p", 0.9}});
  EXPECT_EQ(drawn["choices"].size(), 3u);
  EXPECT_EQ(drawn["choices"],
            with({{"seed", 7}, {"n", 3}, {"top_p", 0.9}})["choices"]);
  const json scored = with({{"temperature", 0}, {"logprobs", 2}});
  const json& logprobs = scored["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"].size(), logprobs["token_logprobs"].size());
  EXPECT_EQ(logprobs["top_logprobs"][0].size(), 2u);
  EXPECT_EQ(with({{"temperature", 0},
                  {"logprobs", 0}})["choices"][0]["logprobs"]["top_logprobs"],
            nullptr);
  const std::string text =
      with({{"temperature", 0}})["choices"][0]["text"].get<std::string>();
  // A stop string, the text's second character, ends the text before it.
  const auto next_character = [&text](size_t at) {
    while (at < text.size() && (text[at] & '\xc0') == '\x80') ++at;
    return at;
  };
  const size_t second = next_character(1);
  if (second < text.size()) {
    const json stopped = with(
        {{"temperature", 0},
         {"stop", text.substr(second, next_character(second + 1) - second)}});
    EXPECT_LT(stopped["choices"][0]["text"].get<std::string>().size(),
              text.size());
    EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  }
  with({{"temperature", 0.5},
        {"top_k", 5},
        {"min_p", 0.1},
        {"presence_penalty", 0.5},
        {"frequency_penalty", -0.5},
        {"repetition_penalty", 1.1},
        {"logit_bias", {{"5", -100}}},
        {"cache_salt", "mine"},
        {"user", "me"},
        {"metadata", {{"team", "search"}}},
        {"service_tier", "auto"},
        {"safety_identifier", "x"},
        {"prompt_cache_key", "k"},
        {"prompt_cache_retention", "24h"},
        {"cache_prompt", true},
        {"store", true},
        {"echo", false},
        {"best_of", 1},
        {"suffix", nullptr}});
  with({{"temperature", 0}, {"top_p", 0}, {"top_k", -1}});
  // For an encoder-decoder the prompt is the source.
  const json german =
      PostJson("/v1/completions", {{"model", "en-de"},
                                   {"prompt", "The house is big."},
                                   {"temperature", 0}});
  EXPECT_THAT(german["choices"][0]["text"], HasSubstr("Haus"));

  for (const json& bad :
       {json{{"prompt", {"a", 1}}},
        json{{"prompt", json::array()}},
        json{{"prompt", {{"a"}}}},
        json{{"prompt", {"a", json::array()}}},
        json{{"prompt", std::vector<std::string>(3000, "a")}},
        json{{"prompt", nullptr}},
        json{{"max_tokens", 0}},
        json{{"max_tokens", 1.5}},
        json{{"n", 0}},
        json{{"n", 1000}},
        json{{"temperature", -1}},
        json{{"temperature", "hot"}},
        json{{"top_p", 2}},
        json{{"best_of", 3}},
        json{{"suffix", "x"}},
        json{{"logprobs", 21}},
        json{{"logit_bias", {{"x", 1}}}},
        json{{"logit_bias", {1}}},
        json{{"stream_options", {{"include_usage", true}}}},
        json{{"stream", 1}},
        json{{"guided_json", {{"not", {{"format", "date"}}}}}},
        json{{"presence_penalty", 3}},
        json{{"stop", {1}}}}) {
    json all = body;
    all.update(bad);
    EXPECT_EQ(Refusal("/v1/completions", all)["error"]["type"],
              "invalid_request_error")
        << bad;
  }
  body["stream"] = true;
  body["model"] = "none";
  EXPECT_EQ(Refusal("/v1/completions", body, 404)["error"]["code"],
            "model_not_found");
}

TEST_F(HttpTest, CompletesSeveralPromptsOfOneRequest) {
  json body = {{"model", "chat"}, {"max_tokens", 6}, {"seed", 7}, {"n", 2}};
  std::vector<std::string> texts;  // for each prompt alone
  int64_t prompt_tokens = 0;
  for (const json& prompt : {json("Hello"), json{5, 6, 7}, json("you")}) {
    body["prompt"] = prompt;
    const json alone = PostJson("/v1/completions", body);
    for (const json& choice : alone["choices"]) texts.push_back(choice["text"]);
    prompt_tokens += alone["usage"]["prompt_tokens"].get<int64_t>();
  }
  body["prompt"] = {"Hello", {5, 6, 7}, "you"};
  const json whole = PostJson("/v1/completions", body);
  ASSERT_EQ(whole["choices"].size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(whole["choices"][i]["index"], i);
    EXPECT_EQ(whole["choices"][i]["text"], texts[i]);
    EXPECT_NE(whole["choices"][i]["finish_reason"], nullptr);
  }
  EXPECT_EQ(whole["usage"]["prompt_tokens"], prompt_tokens);

  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  std::vector<std::string> streamed(texts.size());
  json usage;
  for (const std::string& event :
       Events(Post("/v1/completions", body.dump()).body)) {
    if (event == "[DONE]") continue;
    const json chunk = json::parse(event);
    usage = chunk["usage"];
    for (const json& choice : chunk["choices"]) {
      streamed.at(choice["index"].get<size_t>()) +=
          choice["text"].get<std::string>();
    }
  }
  EXPECT_EQ(streamed, texts);
  EXPECT_EQ(usage["prompt_tokens"], prompt_tokens);
  EXPECT_EQ(usage["completion_tokens"], whole["usage"]["completion_tokens"]);

  // An error names the place of the bad prompt, and is the whole answer.
  body = {{"model", "chat"}, {"prompt", {"Hello", {1 << 30}}}};
  EXPECT_THAT(
      Refusal("/v1/completions", body)["error"]["message"].get<std::string>(),
      ErrorAt("prompt[1]"));
  // One about an option that all share names that.
  body = {{"model", "chat"}, {"prompt", {"Hello", "you"}}, {"n", 17}};
  EXPECT_THAT(
      Refusal("/v1/completions", body)["error"]["message"].get<std::string>(),
      testing::StartsWith("n: is 17"));
}

TEST_F(HttpTest, AnswersChatsLikeOpenAi) {
  v1::GenerateRequest request;
  request.set_model("chat");
  v1::Chat::Message* const user = request.mutable_chat()->add_messages();
  user->set_role("user");
  user->set_content("Hello you");
  request.mutable_decoding()->set_max_new_tokens(12);
  request.mutable_decoding()->set_temperature(0);
  const WholeAnswer whole = GenerateWhole(*client_, request);
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  json body = {{"model", "chat"},
               {"messages", {{{"role", "user"}, {"content", "Hello you"}}}},
               {"max_completion_tokens", 12},
               {"temperature", 0}};
  const json answer = PostJson("/v1/chat/completions", body);
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(answer["choices"][0]["message"]["content"], whole.text);
  EXPECT_EQ(
      answer["usage"]["total_tokens"],
      whole.done.usage().prompt_tokens() + whole.done.usage().new_tokens());
  // A content in parts is the same as the joined text.
  json parts = body;
  parts["messages"][0]["content"] = {{{"type", "text"}, {"text", "Hello "}},
                                     {{"type", "text"}, {"text", "you"}}};
  EXPECT_EQ(PostJson("/v1/chat/completions", parts)["choices"],
            answer["choices"]);
  json scored = body;
  scored["logprobs"] = true;
  scored["top_logprobs"] = 2;
  const json logprobs =
      PostJson("/v1/chat/completions", scored)["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["content"][0]["top_logprobs"].size(), 2u);

  json stream = body;
  stream["stream"] = true;
  std::vector<std::string> events =
      Events(Post("/v1/chat/completions", stream.dump()).body);
  ASSERT_GT(events.size(), 2u);
  EXPECT_EQ(events.back(), "[DONE]");
  events.pop_back();
  std::string text;
  for (size_t i = 0; i < events.size(); ++i) {
    const json chunk = json::parse(events[i]);
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    EXPECT_FALSE(chunk.contains("usage"));
    const json& delta = chunk["choices"][0]["delta"];
    EXPECT_EQ(delta.contains("role"), i == 0);
    text += delta.value("content", "");
  }
  EXPECT_EQ(text, whole.text);

  for (const json& bad :
       {json{{"messages", json::array()}}, json{{"messages", "hi"}},
        json{{"messages", {1}}}, json{{"messages", {{{"content", "x"}}}}},
        json{{"messages",
              {{{"role", "user"},
                {"content", {{{"type", "image_url"}, {"image_url", "x"}}}}}}}},
        json{{"messages", {{{"role", "boss"}, {"content", "x"}}}}},
        json{{"messages", {{{"role", "user"}, {"speech", "x"}}}}},
        json{{"tools", {{{"type", "function"}}}}}, json{{"top_logprobs", 1}},
        json{{"max_tokens", 1}},
        json{{"response_format", {{"type", "xml"}}}}}) {
    json all = body;
    all.update(bad);
    EXPECT_EQ(Refusal("/v1/chat/completions", all)["error"]["type"],
              "invalid_request_error")
        << bad;
  }
  // A model that takes no chats.
  body["model"] = "en-de";
  const json refusal = Refusal("/v1/chat/completions", body);
  EXPECT_THAT(refusal["error"]["message"].get<std::string>(),
              ErrorAt("messages"));
}

TEST_F(HttpTest, AnswersLikeTextEmbeddingsInference) {
  v1::EncodeRequest request;
  request.add_inputs()->set_text("Hi.");
  request.set_normalize(true);
  EXPECT_EQ(
      PostJson("/embed", {{"inputs", "Hi."}})[0].get<std::vector<float>>(),
      Embedding(request));
  EXPECT_EQ(PostJson("/embed", {{"inputs", {"Hi.", "Ho."}},
                                {"normalize", false},
                                {"truncate", true},
                                {"truncation_direction", "left"}})
                .size(),
            2u);
  EXPECT_EQ(PostJson("/embed", {{"inputs", {{5, 0}, {6, 0}}}}).size(), 2u);

  const json ranks = PostJson(
      "/rerank",
      {{"query", "ab"}, {"texts", {"c d", "e"}}, {"return_text", true}});
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_GE(ranks[0]["score"], ranks[1]["score"]);
  EXPECT_EQ(ranks[0]["text"], ranks[0]["index"] == 0 ? "c d" : "e");
  const json raw = PostJson(
      "/rerank",
      {{"query", "ab"}, {"texts", {"c d", "e"}}, {"raw_scores", true}});
  EXPECT_NE(raw[0]["score"], ranks[0]["score"]);
  EXPECT_FALSE(raw[0].contains("text"));
  // LiteLLM asks TEI for the best.
  const json best = PostJson(
      "/rerank", {{"query", "ab"}, {"texts", {"c d", "e"}}, {"top_n", 1}});
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best[0]["index"], ranks[0]["index"]);

  const json labels = PostJson("/predict", {{"inputs", "ab c."}});
  ASSERT_EQ(labels.size(), 3u);
  EXPECT_TRUE(labels[0]["label"].is_string());
  const json many =
      PostJson("/predict", {{"inputs", {{"ab c."}, {"ab", "c"}}}});
  ASSERT_EQ(many.size(), 2u);
  EXPECT_EQ(many[0], labels);
  EXPECT_EQ(many[1].size(), 3u);
  // A list of texts is one text, or one pair.
  EXPECT_EQ(PostJson("/predict", {{"inputs", {"ab c."}}}), labels);
  EXPECT_EQ(PostJson("/predict", {{"inputs", {"ab", "c"}}}), many[1]);

  const json tokens = PostJson("/tokenize", {{"inputs", "Hi."}});
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].back()["special"], true);
  EXPECT_EQ(tokens[0].back()["start"], nullptr);
  EXPECT_EQ(tokens[0][0]["start"], 0);
  EXPECT_EQ(PostJson("/tokenize", {{"inputs", {"Hi.", "Ho."}},
                                   {"add_special_tokens", false}})
                .size(),
            2u);

  const json info = Get("/info");
  EXPECT_EQ(info["model_id"], "en-de");
  EXPECT_EQ(info["model_dtype"], "float32");
  EXPECT_TRUE(info["model_type"].contains("embedding"));

  const auto refusal = [](const char* path, const json& body) {
    return Refusal(path, body, 422)["error"].get<std::string>();
  };
  for (const char* path : {"/embed", "/predict", "/tokenize"}) {
    EXPECT_EQ(Refusal(path, json::object(), 422)["error_type"], "Validation");
    EXPECT_THAT(refusal(path, {{"inputs", 7}}), ErrorAt("inputs"));
    EXPECT_THAT(refusal(path, {{"inputs", "a"}, {"fast", true}}),
                ErrorAt("fast"));
  }
  EXPECT_THAT(refusal("/rerank", {{"texts", {"a"}}}), ErrorAt("query"));
  EXPECT_THAT(
      refusal("/embed", {{"inputs", "a"}, {"truncation_direction", "Up"}}),
      ErrorAt("truncation_direction"));
}

TEST_F(HttpTest, ReranksLikeCohereAndJina) {
  json body = {{"model", "bert.rank"},
               {"query", "ab"},
               {"documents", {"c d", {{"text", "e"}}}},
               {"return_documents", true},
               {"top_n", 1}};
  const json one = PostJson("/v1/rerank", body);
  ASSERT_EQ(one["results"].size(), 1u);
  EXPECT_EQ(one["model"], "bert.rank");
  EXPECT_EQ(one["results"][0]["document"]["text"],
            one["results"][0]["index"] == 0 ? "c d" : "e");
  EXPECT_GT(one["usage"]["total_tokens"], 0);
  body.erase("top_n");
  body.erase("model");  // uses the first model that can rerank
  body.erase("return_documents");
  const json both = PostJson("/v1/rerank", body);
  EXPECT_EQ(both["results"].size(), 2u);
  EXPECT_FALSE(both["results"][0].contains("document"));
  body["rank_fields"] = {"title"};
  EXPECT_THAT(Refusal("/v1/rerank", body)["message"].get<std::string>(),
              ErrorAt("rank_fields"));
  body = {{"query", "a"}, {"documents", {1}}};
  EXPECT_THAT(Refusal("/v1/rerank", body)["message"].get<std::string>(),
              ErrorAt("documents[0]"));
}

TEST_F(HttpTest, TranslatesLikeLibreTranslate) {
  const json answer = PostJson("/translate", {{"q", "The house is big."},
                                              {"source", "en"},
                                              {"target", "de"},
                                              {"format", "text"}});
  EXPECT_THAT(answer["translatedText"], HasSubstr("Haus"));
  const json many = PostJson("/translate", {{"q", {"Good morning.", "Hi."}},
                                            {"source", "en"},
                                            {"target", "de"},
                                            {"alternatives", 2},
                                            {"api_key", ""}});
  EXPECT_EQ(many["translatedText"].size(), 2u);
  EXPECT_EQ(many["alternatives"][0].size(), 2u);
  const json marked =
      PostJson("/translate", {{"q", "<p>Tom &amp; the <b id=x>house</b>.</p>"},
                              {"source", "en"},
                              {"target", "de"},
                              {"format", "html"}});
  EXPECT_THAT(marked["translatedText"],
              testing::MatchesRegex("<p>Tom .*<b id=x>.*Haus</b>.*</p>"));
  const json languages = Get("/languages");
  bool english = false;
  for (const json& language : languages) {
    if (language["code"] != "en") continue;
    english = true;
    EXPECT_EQ(language["name"], "English");
    EXPECT_THAT(language["targets"].get<std::vector<std::string>>(),
                testing::Contains("de"));
  }
  EXPECT_TRUE(english) << languages;
  const json detected =
      PostJson("/translate", {{"q", {"The red house is old.", " "}},
                              {"source", "auto"},
                              {"target", "de"}});
  EXPECT_EQ(detected["detectedLanguage"][0]["language"], "en");
  EXPECT_GT(detected["detectedLanguage"][0]["confidence"], 80);
  EXPECT_EQ(detected["detectedLanguage"][1], nullptr);
  const json guesses =
      PostJson("/detect", {{"q", "Die Katze sitzt auf der Matte."}});
  EXPECT_EQ(guesses[0]["language"], "de");
  EXPECT_EQ(PostJson("/detect", {{"q",
                                  {"Die Katze sitzt auf der Matte.",
                                   "Der Hund liegt daneben."}}})[0]["language"],
            "de");
  EXPECT_EQ(PostJson("/detect", {{"q", "12345"}}), json::array());
  const json settings = Get("/frontend/settings");
  EXPECT_EQ(settings["language"]["source"]["code"], "auto");
  EXPECT_EQ(settings["language"]["target"]["name"], "English");
  EXPECT_THAT(settings["supportedFilesFormat"].get<std::vector<std::string>>(),
              testing::Contains(".docx"));
  json wrong = {{"q", "a"}, {"source", "en"}, {"target", "xx"}};
  EXPECT_THAT(Refusal("/translate", wrong)["error"].get<std::string>(),
              ErrorAt("xx"));
  wrong["target"] = "de";
  wrong["format"] = "pdf";
  EXPECT_THAT(Refusal("/translate", wrong)["error"].get<std::string>(),
              ErrorAt("format"));
}

// What BrowserPageTest tries at a port, by the server's flags.
TEST(PageFlagTest, BrowsersGetThePageUnlessTheServerHasNone) {
  const auto is_page = [](const ServerProcess& server) {
    HttpSocket socket(server.http_port());
    socket.Send(
        "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n"
        "Connection: close\r\n\r\n");
    const HttpResult answer = ParseHttpResult(socket.Receive());
    EXPECT_EQ(answer.status, 200);
    return answer.body.starts_with("<!DOCTYPE html>");
  };
  const ServerProcess with({"--http-listen", "127.0.0.1:0"});
  EXPECT_TRUE(is_page(with));
  EXPECT_EQ(HttpGet(with.http_port(), "/openapi.json").status, 200);
  const ServerProcess without({"--http-listen", "127.0.0.1:0", "--no-page"});
  EXPECT_FALSE(is_page(without));
  EXPECT_EQ(HttpGet(without.http_port(), "/openapi.json").status, 404);
}

}  // namespace
}  // namespace trivium
