// The shapes of other APIs as their clients really send them: names of models,
// paths, members and inputs that this server did not choose.

#include <algorithm>
#include <cmath>
#include <set>
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

class ShapesTest : public ChatHttpTest {
 protected:
  static void SetUpTestSuite() {
    Start("shapes_test",
          [](const std::filesystem::path& folder) {
            return HeadModels(folder.string());
          },
          {"--model-alias", "gpt-4o=chat", "--any-model"});
  }

  static std::string ChatRefusal(const json& more) {
    json body = {{"messages", {{{"role", "user"}, {"content", "Hello"}}}},
                 {"max_tokens", 4}};
    body.update(more);
    return Refusal("/v1/chat/completions", body)["error"]["message"];
  }
};

double Length(const json& vector) {
  double sum = 0;
  for (const json& value : vector)
    sum += value.get<double>() * value.get<double>();
  return std::sqrt(sum);
}

TEST_F(ShapesTest, AnyNameOfAModelIsAnswered) {
  const json chat = {{"messages", {{{"role", "user"}, {"content", "Hello"}}}},
                     {"max_tokens", 4},
                     {"temperature", 0}};
  json named = chat;
  named["model"] = "chat";
  const json expected = Post("/v1/chat/completions", named);
  // Without a name, a chat goes to the first model that takes chats, although
  // the first that generates is a translator.
  for (const char* name : {"", "gpt-4o", "dummy", "tgi"}) {
    named["model"] = name;
    const json answer = Post("/v1/chat/completions", named);
    EXPECT_EQ(answer["model"], "chat") << name;
    EXPECT_EQ(answer["choices"], expected["choices"]) << name;
  }
  EXPECT_EQ(Post("/v1/embeddings", {{"model", "text-embedding-ada-002"},
                                    {"input", "Hello"}})["model"],
            "en-de");
  EXPECT_EQ(Post("/v1/rerank", {{"model", "rerank-v3.5"},
                                {"query", "a"},
                                {"documents", {"b"}}})["model"],
            "bert.rank");
}

TEST_F(ShapesTest, SlashesTooManyAreIgnored) {
  const json body = {{"input", "Hello"}};
  const json expected = Post("/v1/embeddings", body);
  for (const char* path : {"/v1//embeddings", "/v1/embeddings/",
                           "//v1/embeddings", "/embeddings"}) {
    EXPECT_EQ(Post(path, body), expected) << path;
  }
}

TEST_F(ShapesTest, AnswersTheOtherPathsOfTei) {
  const json one = Post("/embed", {{"inputs", "Hi."}});
  // The root is the path of the model's kind: the first one encodes.
  EXPECT_EQ(Post("/", {{"inputs", "Hi."}}), one);
  EXPECT_EQ(Post("/", {{"query", "ab"}, {"texts", {"c d"}}}).size(), 1u);
  // A text and ids, mixed.
  const json mixed = Post("/embed", {{"inputs", {"Hi.", {5, 6, 0}}}});
  ASSERT_EQ(mixed.size(), 2u);
  EXPECT_EQ(mixed[0], one[0]);
  EXPECT_EQ(mixed[1], Post("/embed", {{"inputs", {5, 6, 0}}})[0]);

  const json all = Post("/embed_all", {{"inputs", {"Hi.", "Good morning."}}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_GT(all[1].size(), all[0].size());
  EXPECT_EQ(all[0].size(), Post("/tokenize", {{"inputs", "Hi."}})[0].size());
  EXPECT_EQ(all[0][0].size(), one[0].size());

  const json similar =
      Post("/similarity", {{"inputs",
                            {{"source_sentence", "Hi."},
                             {"sentences", {"Hi.", "The house is big."}}}},
                           {"parameters", {{"truncate", true}}}});
  ASSERT_EQ(similar.size(), 2u);
  EXPECT_NEAR(similar[0].get<double>(), 1, 1e-5);
  EXPECT_LT(similar[1], similar[0]);
  EXPECT_THAT(
      Refusal("/similarity", {{"inputs", {{"sentences", {"a"}}}}}, 422)["error"]
          .get<std::string>(),
      ErrorAt("inputs.source_sentence"));
  const json wrong = {
      {"inputs", {{"source_sentence", "a"}, {"sentences", {"a", "b"}}}},
      {"parameters", {{"prompt_name", "unknown"}}}};
  EXPECT_THAT(Refusal("/similarity", wrong, 422)["error"].get<std::string>(),
              ErrorAt("parameters.prompt_name"));

  std::vector<int> ids;
  const json tokens = Post("/tokenize", {{"inputs", "Guten Morgen."},
                                         {"add_special_tokens", false}});
  for (const json& token : tokens[0]) ids.push_back(token["id"]);
  EXPECT_EQ(Post("/decode", {{"ids", ids}}).size(), 1u);
  EXPECT_EQ(Post("/decode", {{"ids", {ids, ids}}}).size(), 2u);
  EXPECT_TRUE(Post("/decode", {{"ids", ids}})[0].is_string());
  Refusal("/decode", {{"ids", ids}, {"skip_special_tokens", false}}, 422);
}

TEST_F(ShapesTest, TeiTellsEmptyInputs) {
  const std::vector<std::pair<std::string, json>> empty = {
      {"/embed", {{"inputs", json::array()}}},
      {"/embed", {{"inputs", ""}}},
      {"/embed", {{"inputs", json::array({"a", ""})}}},
      {"/embed_all", {{"inputs", json::array()}}},
      {"/predict", {{"inputs", json::array()}}},
      {"/tokenize", {{"inputs", json::array()}}},
      {"/decode", {{"ids", json::array()}}},
      {"/rerank", {{"query", "a"}, {"texts", json::array()}}},
      {"/similarity",
       {{"inputs", {{"source_sentence", "a"}, {"sentences", json::array()}}}}}};
  for (const auto& [path, body] : empty) {
    EXPECT_EQ(Refusal(path, body)["error_type"], "Empty") << path;
  }
}

TEST_F(ShapesTest, TeiCutsTextsUnlessToldOtherwise) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "house ";
  json body = {{"inputs", text}};
  const json cut = Post("/embed", body);
  body["truncation_direction"] = "LEFT";
  EXPECT_EQ(Post("/embed", body).size(), cut.size());
  body["truncate"] = false;
  EXPECT_EQ(Refusal("/embed", body, 422)["error_type"], "Validation");
  // Where the error suggests truncate, it is a member.
  json input = {{"input", text}};
  EXPECT_THAT(
      Refusal("/v1/embeddings", input)["error"]["message"].get<std::string>(),
      HasSubstr("truncate"));
  input["truncate"] = true;
  Post("/v1/embeddings", input);
}

TEST_F(ShapesTest, TeiTokensHaveOffsetsInBytes) {
  const json tokens = Post("/tokenize", {{"inputs", "K\xC3\xB6nig Otto"}})[0];
  std::string text;
  for (const json& token : tokens) {
    if (token["special"]) {
      EXPECT_EQ(token["start"], nullptr);
      continue;
    }
    EXPECT_LE(token["start"], token["stop"]);
    text = token["text"];
  }
  const json& last = tokens[tokens.size() - 2];
  EXPECT_EQ(last["stop"], 11) << tokens;  // bytes; characters would be 10
}

TEST_F(ShapesTest, TeiDescribesItsModel) {
  const HttpResult answer = HttpGet((*server_)->http_port(), "/info");
  const json info = json::parse(answer.body);
  for (const char* number :
       {"max_concurrent_requests", "max_input_length", "max_batch_tokens",
        "max_client_batch_size", "tokenization_workers"}) {
    EXPECT_GT(info[number], 0) << number;
  }
  EXPECT_EQ(info["served_model_name"], "en-de");
  EXPECT_EQ(info["model_type"]["embedding"]["pooling"], "mean");
  EXPECT_EQ(info["auto_truncate"], true);
}

TEST_F(ShapesTest, RerankKnowsBothShapesOfItsPath) {
  const json body = {{"query", "ab"}, {"documents", {"c d", "e"}}};
  json expected = Post("/v1/rerank", body);
  json answer = Post("/rerank", body);
  expected.erase("id");
  answer.erase("id");
  EXPECT_EQ(answer, expected);
  EXPECT_TRUE(
      Post("/rerank", {{"query", "ab"}, {"texts", {"c d"}}})[0].contains(
          "score"));
  EXPECT_THAT(Refusal("/v1/rerank",
                      {{"query", "a"}, {"documents", {1, 2, 3}}})["message"]
                  .get<std::string>(),
              ErrorAt("documents[0]"));
}

TEST_F(ShapesTest, AnswersCoheresSecondVersion) {
  json body = {{"model", "rerank-v3.5"},
               {"query", "ab"},
               {"documents", {"c d e f", "e"}},
               {"priority", 1}};
  const json ranks = Post("/v2/rerank", body);
  ASSERT_EQ(ranks["results"].size(), 2u);
  EXPECT_EQ(ranks["meta"]["api_version"]["version"], "2");
  body["max_tokens_per_doc"] = 1;
  const json cut = Post("/v2/rerank", body);
  EXPECT_LT(cut["usage"]["total_tokens"], ranks["usage"]["total_tokens"]);
  // Long documents are cut.
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "a ";
  Post("/v2/rerank", {{"query", "ab"}, {"documents", {text}}});

  const json embeddings =
      Post("/v2/embed",
           {{"model", "embed-v4.0"},
            {"input_type", "search_query"},
            {"texts", {"Hi.", "The house is big."}},
            {"embedding_types",
             {"float", "int8", "uint8", "binary", "ubinary", "base64"}}});
  const json& floats = embeddings["embeddings"]["float"];
  ASSERT_EQ(floats.size(), 2u);
  EXPECT_NEAR(Length(floats[0]), 1, 1e-4);
  const json& bytes = embeddings["embeddings"]["int8"][0];
  ASSERT_EQ(bytes.size(), floats[0].size());
  int most = 0;
  for (const json& byte : bytes)
    most = std::max(most, std::abs(byte.get<int>()));
  EXPECT_EQ(most, 127);
  const json& bits = embeddings["embeddings"]["ubinary"][0];
  ASSERT_EQ(bits.size(), floats[0].size() / 8);
  for (size_t i = 0; i < floats[0].size(); ++i) {
    const bool set = (bits[i / 8].get<int>() >> (7 - i % 8) & 1) != 0;
    EXPECT_EQ(set, floats[0][i].get<float>() > 0) << i;
  }
  EXPECT_EQ(embeddings["embeddings"]["binary"][0][0].get<int>() + 128, bits[0]);
  EXPECT_EQ(embeddings["embeddings"]["uint8"][0][0].get<int>() - 128, bytes[0]);
  EXPECT_EQ(embeddings["response_type"], "embeddings_by_type");
  // The default is floats.
  EXPECT_EQ(Post("/v2/embed", {{"texts", {"Hi."}}})["embeddings"]["float"][0],
            floats[0]);
  for (const json& bad : {json{{"texts", json::array()}},
                          json{{"texts", {"a"}}, {"input_type", "x"}},
                          json{{"texts", {"a"}}, {"embedding_types", {"int4"}}},
                          json{{"texts", {"a"}}, {"truncate", "MIDDLE"}}}) {
    EXPECT_TRUE(Refusal("/v2/embed", bad)["message"].is_string());
  }
}

TEST_F(ShapesTest, LogprobsOfOpenAiHaveTextsAndBytes) {
  json body = {{"model", "chat"},
               {"prompt", "Hello \xE2\x82\xAC"},
               {"max_tokens", 12},
               {"temperature", 0},
               {"logprobs", 2}};
  const json choice = Post("/v1/completions", body)["choices"][0];
  const json& logprobs = choice["logprobs"];
  ASSERT_EQ(logprobs["text_offset"].size(), logprobs["tokens"].size());
  EXPECT_EQ(logprobs["text_offset"][0], 0);
  const json chat = Post("/v1/chat/completions",
                         {{"messages", {{{"role", "user"}, {"content", "Hi"}}}},
                          {"max_tokens", 12},
                          {"temperature", 0},
                          {"logprobs", true}})["choices"][0];
  std::string text;
  for (const json& token : chat["logprobs"]["content"]) {
    std::string bytes;
    for (const json& byte : token["bytes"]) {
      bytes += static_cast<char>(byte.get<int>());
    }
    text += bytes;
    if (static_cast<unsigned char>(bytes[0]) >= 0x80 && bytes.size() == 1) {
      EXPECT_THAT(token["token"].get<std::string>(), HasSubstr("\\x"));
    }
  }
  const std::string content = chat["message"]["content"];
  if (content.find("\xEF\xBF\xBD") == content.npos) {
    EXPECT_EQ(text.substr(0, content.size()), content);
  }
}

TEST_F(ShapesTest, EchoesThePromptWithItsLogprobs) {
  json body = {{"model", "chat"}, {"prompt", "Hello \xE2\x82\xAC you"},
               {"max_tokens", 0}, {"echo", true},
               {"logprobs", 1},   {"temperature", 0}};
  const json whole = Post("/v1/completions", body);
  const json& choice = whole["choices"][0];
  EXPECT_EQ(choice["text"], body["prompt"]);
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(whole["usage"]["completion_tokens"], 0);
  const json& logprobs = choice["logprobs"];
  EXPECT_EQ(logprobs["tokens"].size(), whole["usage"]["prompt_tokens"]);
  EXPECT_EQ(logprobs["token_logprobs"][0], nullptr);
  EXPECT_EQ(logprobs["top_logprobs"][0], nullptr);
  EXPECT_LT(logprobs["token_logprobs"][1], 0);
  // The euro sign is several tokens, parts of a character.
  bool part = false;
  for (const json& token : logprobs["tokens"]) {
    part = part || token.get<std::string>().starts_with("bytes:\\xe2");
  }
  EXPECT_TRUE(part) << logprobs["tokens"];
  const json& offsets = logprobs["text_offset"];
  EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));

  // As lm-evaluation-harness asks: ids, and a new token that it drops.
  std::vector<int> ids;
  const json tokenized = Post("/trivium.v1.Inference/Tokenize",
                              {{"model", "chat"}, {"texts", {body["prompt"]}}});
  for (const json& token : tokenized["results"][0]["tokens"]) {
    ids.push_back(token["id"].get<int>());
  }
  body["prompt"] = {ids};
  body["max_tokens"] = 1;
  const json by_ids = Post("/v1/completions", body)["choices"][0]["logprobs"];
  ASSERT_EQ(by_ids["token_logprobs"].size(), ids.size() + 1);
  for (size_t i = 1; i < ids.size(); ++i) {
    EXPECT_EQ(by_ids["token_logprobs"][i], logprobs["token_logprobs"][i]) << i;
  }
  body["stream"] = true;
  EXPECT_THAT(
      Refusal("/v1/completions", body)["error"]["message"].get<std::string>(),
      ErrorAt("echo"));
  body.erase("logprobs");
  EXPECT_EQ(Send("/v1/completions", body).status, 200);
}

TEST_F(ShapesTest, TokensWithLogprobsAreStreamedAsTheyCome) {
  const HttpResult answer =
      Send("/v1/completions", {{"model", "chat"},
                               {"prompt", "Hello"},
                               {"max_tokens", 900},
                               {"temperature", 0},
                               {"logprobs", 1},
                               {"stream", true},
                               {"logit_bias", {{"0", -100}, {"2", -100}}}});
  ASSERT_EQ(answer.status, 200);
  std::vector<size_t> tokens;  // of each chunk
  for (size_t at = answer.body.find("data: {"); at != answer.body.npos;
       at = answer.body.find("data: {", at + 1)) {
    const size_t end = answer.body.find("\n\n", at);
    const json chunk = json::parse(answer.body.substr(at + 6, end - at - 6));
    tokens.push_back(chunk["choices"][0]["logprobs"]["tokens"].size());
  }
  ASSERT_GT(tokens.size(), 2u);
  // A message has at most 64 tokens. If all came at the end, all but the last
  // would have as many; in a stream, those that end an iteration do not.
  EXPECT_TRUE(std::any_of(tokens.begin(), tokens.end() - 2,
                          [](size_t count) { return count < 64; }));
}

TEST_F(ShapesTest, OpenAiTellsWhatIsTooLong) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "Hello ";
  json error = Refusal("/v1/chat/completions",
                       {{"messages", {{{"role", "user"}, {"content", text}}}}});
  EXPECT_EQ(error["error"]["code"], "context_length_exceeded");
  EXPECT_EQ(error["error"]["param"], "messages");
  error = Refusal("/v1/completions", {{"model", "chat"}, {"prompt", text}});
  EXPECT_EQ(error["error"]["code"], "context_length_exceeded");
  EXPECT_THAT(error["error"]["param"].get<std::string>(), HasSubstr("prompt"));
  error = Refusal("/v1/chat/completions",
                  {{"messages", {{{"role", "user"}, {"content", "Hi"}}}},
                   {"max_completion_tokens", 1020}});
  EXPECT_EQ(error["error"]["code"], "context_length_exceeded");
  EXPECT_THAT(error["error"]["message"].get<std::string>(),
              HasSubstr("max_completion_tokens"));
}

TEST_F(ShapesTest, ChatsOfOpenAiAsClientsSendThem) {
  const json body = {
      {"messages",
       {{{"role", "developer"}, {"content", "Be kind."}},
        {{"role", "user"},
         {"content",
          {{{"type", "input_text"},
            {"text", "Hello"},
            {"cache_control", {{"type", "ephemeral"}}}}}}},
        {{"role", "assistant"}, {"content", nullptr}, {"refusal", nullptr}},
        {{"role", "user"}, {"content", "And?"}, {"id", "m1"}}}},
      {"max_tokens", 4},
      {"chat_template_kwargs", {{"enable_thinking", false}}},
      {"metadata", {{"a", "b"}}},
      {"store", true}};
  Post("/v1/chat/completions", body);
  json last = {{"messages",
                {{{"role", "user"}, {"content", "Hello"}},
                 {{"role", "assistant"}, {"content", "I am"}}}},
               {"max_tokens", 4},
               {"continue_final_message", true},
               {"add_generation_prompt", false}};
  Post("/v1/chat/completions", last);
  last["add_generation_prompt"] = true;
  EXPECT_EQ(Refusal("/v1/chat/completions", last)["error"]["param"],
            "add_generation_prompt");

  EXPECT_THAT(ChatRefusal({{"temperature", 2.5}}), ErrorAt("temperature"));
  EXPECT_THAT(ChatRefusal({{"stop", {"a", "b", "c", "d", "e"}}}),
              ErrorAt("stop"));
  EXPECT_THAT(
      ChatRefusal({{"messages", {{{"role", "boss"}, {"content", "x"}}}}}),
      ErrorAt("messages[0].role"));
  EXPECT_THAT(ChatRefusal({{"chat_template_kwargs", 1}}),
              ErrorAt("chat_template_kwargs"));
  EXPECT_THAT(ChatRefusal({{"chat_template_kwargs", {{"tools", 1}}}}),
              ErrorAt("chat_template_kwargs"));
  EXPECT_THAT(ChatRefusal({{"model", "bert.tag"}}), ErrorAt("messages"));
  for (const json& empty : {json(""), json{"a", ""}, json::array()}) {
    EXPECT_THAT(Refusal("/v1/embeddings", {{"input", empty}})["error"]["param"]
                    .get<std::string>(),
                HasSubstr("input"));
  }
}

TEST_F(ShapesTest, LibreTranslateAcceptsWhatItsClientsSend) {
  const json answer = Post("/translate", {{"q", "The house is big."},
                                          {"source", "en"},
                                          {"target", "de"},
                                          {"format", ""},
                                          {"alternatives", "2"},
                                          {"api_key", "nobody-asked"}});
  EXPECT_EQ(answer["alternatives"].size(), 2u);
  // Other tokens that make the same text are no alternative.
  const json greeting = Post("/translate", {{"q", "Hello"},
                                            {"source", "en"},
                                            {"target", "de"},
                                            {"alternatives", 3}});
  std::set<std::string> texts = {greeting["translatedText"]};
  for (const json& text : greeting["alternatives"]) {
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
  EXPECT_GT(texts.size(), 1u);
  EXPECT_FALSE(Post("/translate", {{"q", "Hi."},
                                   {"source", "en"},
                                   {"target", "de"},
                                   {"alternatives", -1}})
                   .contains("alternatives"));
}

}  // namespace
}  // namespace trivium
