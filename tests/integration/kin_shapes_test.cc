// What clients of kin servers send beside the APIs that these servers share:
// options at values that change nothing, other names of options and paths, and
// requests for which one of several models is meant.

#include <algorithm>
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

constexpr char kKinModels[] = "tests/golden/retrieval/";

// The models with heads; then one that makes sparse embeddings alone, and one
// that tells entailment.
class KinShapesTest : public ChatHttpTest {
 protected:
  static void SetUpTestSuite() {
    Start("kin_shapes_test", [](const std::filesystem::path& folder) {
      std::vector<std::string> flags = HeadModels(folder.string());
      for (const char* name : {"splade.bert", "zero_shot.bert"}) {
        flags.insert(flags.end(),
                     {"--model", std::string(name) + "=" + kKinModels + name});
      }
      return flags;
    });
  }

  static json Chat(const json& more) {
    json body = {{"messages", {{{"role", "user"}, {"content", "Hello"}}}},
                 {"max_tokens", 4},
                 {"temperature", 0}};
    body.update(more);
    return body;
  }
  // The words of an error, in whichever shape.
  static std::string ErrorOf(const std::string& path, const json& body,
                             int status = 400) {
    const json answer = Refusal(path, body, status);
    const json error = answer.value("error", answer);
    return error.is_string() ? error : error["message"];
  }
  static std::string TextOf(const json& answer) {
    return answer["choices"][0]["message"]["content"];
  }
};

// Many clients send all options that they know.
TEST_F(KinShapesTest, OptionsAtValuesThatChangeNothingAreAccepted) {
  const json all = {{"ignore_eos", false},
                    {"skip_special_tokens", true},
                    {"stop_token_ids", json::array()},
                    {"best_of", 1},
                    {"use_beam_search", false},
                    {"length_penalty", 1.0},
                    {"min_tokens", 0},
                    {"include_stop_str_in_output", false},
                    {"priority", 0},
                    {"request_id", "a"},
                    {"mirostat", 0},
                    {"mirostat_tau", 5.0},
                    {"tfs_z", 1},
                    {"typical_p", 1.0},
                    {"xtc_probability", 0.0},
                    {"xtc_threshold", 0.1},
                    {"dry_multiplier", 0},
                    {"dry_base", 1.75},
                    {"dynatemp_range", 0},
                    {"repeat_penalty", 1},
                    {"repeat_last_n", 64},
                    {"n_keep", 0},
                    {"timings_per_token", true},
                    {"reasoning_format", "auto"},
                    {"verbosity", "medium"},
                    {"top_logprobs", 0},
                    {"echo", false},
                    {"keep_alive", "5m"}};
  const json plain = Post("/v1/chat/completions", Chat(json::object()));
  EXPECT_EQ(TextOf(Post("/v1/chat/completions", Chat(all))), TextOf(plain));
  for (const auto& [name, value] : std::vector<std::pair<std::string, json>>{
           {"ignore_eos", 1},
           {"mirostat", 2},
           {"xtc_probability", 0.5},
           {"stop_token_ids", {"a"}},
           {"bad_words", {"a"}},
           {"verbosity", "low"},
           {"best_of", 2},
           {"web_search_options", json::object()}}) {
    EXPECT_THAT(ErrorOf("/v1/chat/completions", Chat({{name, value}})),
                ErrorAt(name));
  }
}

TEST_F(KinShapesTest, OtherNamesOfOptionsAreTheSameOptions) {
  json body = Chat({{"repetition_penalty", 1.3}, {"max_tokens", 6}});
  const json expected = Post("/v1/chat/completions", body);
  body = Chat({{"repeat_penalty", 1.3}, {"repeat_last_n", -1}});
  body.erase("max_tokens");
  body["n_predict"] = 6;
  EXPECT_EQ(TextOf(Post("/v1/chat/completions", body)), TextOf(expected));
  body["max_tokens"] = 6;
  EXPECT_THAT(ErrorOf("/v1/chat/completions", body), ErrorAt("n_predict"));
  // A window of more tokens than there are changes nothing, one of none is no
  // penalty.
  body = Chat({{"repeat_penalty", 1.3}, {"max_tokens", 6}});
  body["repeat_last_n"] = 1000;
  EXPECT_EQ(TextOf(Post("/v1/chat/completions", body)), TextOf(expected));
  body["repeat_last_n"] = 0;
  EXPECT_EQ(TextOf(Post("/v1/chat/completions", body)),
            TextOf(Post("/v1/chat/completions", Chat({{"max_tokens", 6}}))));
  const json least = Post("/v1/completions", {{"model", "chat"},
                                              {"prompt", "Hello"},
                                              {"temperature", 0},
                                              {"min_tokens", 5},
                                              {"max_tokens", 5}});
  EXPECT_EQ(least["usage"]["completion_tokens"], 5);
}

// The same greedy answer in the shapes of four servers.
TEST_F(KinShapesTest, ShapesOfPromptsAgree) {
  const json tgi =
      Post("/generate",
           {{"model", "chat"},
            {"inputs", "Hello"},
            {"parameters", {{"max_new_tokens", 5}, {"details", true}}}});
  const std::string text = tgi["generated_text"];
  std::string joined;
  for (const json& token : tgi["details"]["tokens"]) {
    if (!token["special"]) joined += token["text"];
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(
      Post("/", {{"model", "chat"},
                 {"inputs", "Hello"},
                 {"stream", false},
                 {"parameters", {{"max_new_tokens", 5}}}})[0]["generated_text"],
      text);
  const json llama = Post("/completion", {{"model", "chat"},
                                          {"prompt", "Hello"},
                                          {"temperature", 0},
                                          {"n_predict", 5}});
  EXPECT_EQ(llama["content"], text);
  EXPECT_EQ(llama["tokens_predicted"], tgi["details"]["generated_tokens"]);
  json body = {{"model", "chat"},
               {"prompt", "Hello"},
               {"temperature", 0},
               {"max_tokens", 5}};
  EXPECT_EQ(Post("/v1/completions", body)["choices"][0]["text"], text);
  // Its third token ends the text, unless it came before.
  body["stop_token_ids"] = {tgi["details"]["tokens"][2]["id"]};
  const json stopped = Post("/v1/completions", body);
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  EXPECT_LE(stopped["usage"]["completion_tokens"], 3);
}

// A stop string ends before it, or with it where the request or the shape says
// so; each shape tells which.
TEST_F(KinShapesTest, TellsWhichStopStringEndedAText) {
  json body = {{"model", "chat"},
               {"prompt", "Hello"},
               {"temperature", 0},
               {"max_tokens", 24}};
  const std::string whole = Post("/v1/completions", body)["choices"][0]["text"];
  // A character that is whole whatever comes before it, and not the first.
  const auto found = static_cast<size_t>(
      std::find_if(
          whole.begin(), whole.end(),
          [&](char c) { return c > ' ' && c < '\x7f' && c != whole.front(); }) -
      whole.begin());
  ASSERT_LT(found, whole.size()) << whole;
  const std::string stop = whole.substr(found, 1);
  body["stop"] = {"none of it", stop};
  const json cut = Post("/v1/completions", body)["choices"][0];
  EXPECT_EQ(cut["text"], whole.substr(0, found));
  EXPECT_EQ(cut["stop_reason"], stop);
  body["include_stop_str_in_output"] = true;
  const json kept = Post("/v1/completions", body)["choices"][0];
  EXPECT_EQ(kept["text"], whole.substr(0, found + stop.size()));
  EXPECT_EQ(kept["stop_reason"], stop);
  const json llama = Post("/completion", {{"model", "chat"},
                                          {"prompt", "Hello"},
                                          {"temperature", 0},
                                          {"stop", {stop}}});
  EXPECT_EQ(llama["content"], cut["text"]);
  EXPECT_EQ(llama["stopping_word"], stop);
  const json tgi =
      Post("/generate",
           {{"model", "chat"},
            {"inputs", "Hello"},
            {"parameters", {{"max_new_tokens", 24}, {"stop", {stop}}}}});
  EXPECT_EQ(tgi["generated_text"], kept["text"]);
}

TEST_F(KinShapesTest, LogprobsOfAPromptAreThoseOfItsEcho) {
  json body = {{"model", "chat"}, {"prompt", "Hello you"}, {"temperature", 0},
               {"max_tokens", 1}, {"logprobs", 0},         {"echo", true}};
  const json echo = Post("/v1/completions", body)["choices"][0]["logprobs"];
  body.erase("echo");
  body.erase("logprobs");
  body["prompt_logprobs"] = 2;
  const json prompt =
      Post("/v1/completions", body)["choices"][0]["prompt_logprobs"];
  ASSERT_GE(prompt.size(), 2u);
  EXPECT_EQ(prompt[0], nullptr);
  for (size_t i = 1; i < prompt.size(); ++i) {
    bool found = false;
    for (const json& token : prompt[i]) {
      found |= token["logprob"] == echo["token_logprobs"][i];
    }
    EXPECT_TRUE(found) << prompt[i] << echo["token_logprobs"][i];
  }
  const json chat =
      Post("/v1/chat/completions", Chat({{"prompt_logprobs", 0}}));
  EXPECT_EQ(chat["prompt_logprobs"].size(), chat["usage"]["prompt_tokens"]);
}

TEST_F(KinShapesTest, PromptsOfChatsAreThoseThatAreAnswered) {
  const json chat = Chat(json::object());
  const int count =
      Post("/v1/chat/completions", chat)["usage"]["prompt_tokens"];
  const std::string text = Post("/apply-template", chat)["prompt"];
  EXPECT_THAT(text, HasSubstr("Hello"));
  json asked = chat;
  asked["return_token_strs"] = true;
  const json tokens = Post("/tokenize", asked);
  EXPECT_EQ(tokens["count"], count);
  EXPECT_EQ(tokens["tokens"].size(), static_cast<size_t>(count));
  EXPECT_EQ(tokens["token_strs"].size(), static_cast<size_t>(count));
  asked = chat;
  asked["messages"] = json::array();
  EXPECT_THAT(ErrorOf("/apply-template", asked), ErrorAt("messages"));
}

TEST_F(KinShapesTest, TokensAreThoseOfTei) {
  const json tei =
      Post("/tokenize", {{"model", "chat"}, {"inputs", "Hello you"}})[0];
  json ids = json::array();
  for (const json& token : tei) ids.push_back(token["id"]);
  EXPECT_EQ(
      Post("/tokenize", {{"model", "chat"}, {"prompt", "Hello you"}})["tokens"],
      ids);
  EXPECT_EQ(Post("/tokenize", {{"model", "chat"},
                               {"content", "Hello you"},
                               {"add_special", true}})["tokens"],
            ids);
  EXPECT_EQ(Post("/detokenize", {{"model", "chat"}, {"tokens", ids}})["prompt"],
            "Hello you");
}

TEST_F(KinShapesTest, ErrorsNameTheMemberThatTheClientWrote) {
  constexpr int kMany = 99'999;
  for (const auto& [name, value] : std::vector<std::pair<std::string, json>>{
           {"repeat_penalty", -1},
           {"repetition_penalty", 2000},
           {"max_tokens", kMany},
           {"max_completion_tokens", kMany},
           {"n_predict", kMany},
           {"n_predict", 0},
           {"min_tokens", kMany},
           {"typical_p", 2},
           {"truncate", true},
           {"truncate_prompt_tokens", -1}}) {
    json body = Chat(json::object());
    body.erase("max_tokens");
    body[name] = value;
    EXPECT_THAT(ErrorOf("/v1/chat/completions", body), ErrorAt(name));
  }
  json body = {{"model", "chat"}, {"prompt", "Hello"}, {"n_predict", 0}};
  EXPECT_THAT(ErrorOf("/v1/completions", body), ErrorAt("n_predict"));
  body = {{"model", "chat"}, {"input", "Hello"}, {"n_predict", kMany}};
  EXPECT_THAT(ErrorOf("/v1/responses", body), ErrorAt("n_predict"));
  body = {{"texts", {"ab"}}, {"dimensions", 2}};
  EXPECT_THAT(ErrorOf("/v2/embed", body), ErrorAt("dimensions"));
  body = {{"texts", {"ab"}}, {"output_dimension", kMany}};
  EXPECT_THAT(ErrorOf("/v2/embed", body), ErrorAt("output_dimension"));
}

// One of them would be ignored.
TEST_F(KinShapesTest, TwoNamesOfOneOptionAreAnError) {
  const json thinking = {{"type", "disabled"}};
  for (const json& both :
       {json{{"repetition_penalty", 1}, {"repeat_penalty", 1}},
        json{{"max_tokens", 4}, {"max_completion_tokens", 4}},
        json{{"enable_thinking", false}, {"thinking", thinking}},
        json{{"truncate", false}, {"truncate_prompt_tokens", -1}}}) {
    EXPECT_THAT(ErrorOf("/v1/chat/completions", Chat(both)),
                HasSubstr(" is there beside "))
        << both;
  }
  json body = {{"input", "ab"}, {"kind", "query"}, {"input_type", "query"}};
  EXPECT_THAT(ErrorOf("/v1/embeddings", body), ErrorAt("input_type"));
  body = {{"input", "ab"}, {"softmax", true}, {"activation", false}};
  EXPECT_THAT(ErrorOf("/classify", body), ErrorAt("activation"));
  body = {{"queries", "ab"}, {"documents", {"a"}}, {"data_2", {"b"}}};
  EXPECT_THAT(ErrorOf("/score", body), ErrorAt("documents"));
  body = {{"query", "ab"},
          {"documents", {"a"}},
          {"truncation", true},
          {"truncate", true}};
  EXPECT_THAT(ErrorOf("/v1/rerank", body), ErrorAt("truncate"));
}

// Text Generation Inference's form, in which huggingface_hub sends schemas.
TEST_F(KinShapesTest, ASchemaMayBeTheValueOfAFormat) {
  const json schema = {{"type", "object"},
                       {"properties", {{"a", {{"enum", {"b"}}}}}},
                       {"required", {"a"}},
                       {"additionalProperties", false}};
  const auto written = [](const json& format) -> json {
    return Post("/v1/completions", {{"model", "chat"},
                                    {"prompt", "Hello"},
                                    {"max_tokens", 60},
                                    {"temperature", 0},
                                    {"response_format", format}})["choices"];
  };
  EXPECT_EQ(written({{"type", "json_object"}, {"value", schema}}),
            written({{"type", "json_schema"},
                     {"json_schema", {{"name", "a"}, {"schema", schema}}}}));
  EXPECT_THAT(written({{"type", "regex"}, {"value", "[xy]{3}"}})[0]["text"]
                  .get<std::string>(),
              ::testing::MatchesRegex("[xy][xy][xy]"));
  EXPECT_THAT(
      ErrorOf("/v1/chat/completions",
              Chat({{"response_format", {{"type", "xml"}, {"value", "a"}}}})),
      ErrorAt("response_format.type"));
}

TEST_F(KinShapesTest, PathsOfKinServersAreTheSamePaths) {
  EXPECT_EQ(TextOf(Post("/chat/completions", Chat(json::object()))),
            TextOf(Post("/v1/chat/completions", Chat(json::object()))));
  const json documents = {{"query", "a"}, {"documents", {"a b", "c"}}};
  const json ranked = Post("/v1/rerank", documents)["results"];
  for (const char* path : {"/reranking", "/v1/reranking"}) {
    EXPECT_EQ(Post(path, documents)["results"], ranked) << path;
  }
  const json texts = {{"query", "a"}, {"texts", {"a b", "c"}}};
  EXPECT_EQ(Post("/invocations", texts), Post("/rerank", texts));
  const int port = (*server_)->http_port();
  EXPECT_EQ(HttpGet(port, "/models").body, HttpGet(port, "/v1/models").body);
  for (const char* path : {"/spec", "/api-doc/openapi.json"}) {
    EXPECT_EQ(HttpGet(port, path).body, HttpGet(port, "/openapi.json").body);
  }
  EXPECT_THAT(ErrorOf("/v1/v1/chat/completions", Chat(json::object()), 404),
              HasSubstr("base URL"));
}

// A request that names no model goes to the first that does what it asks for.
TEST_F(KinShapesTest, TheFirstModelThatFitsAnswers) {
  const json sparse = Post("/embed_sparse", {{"inputs", "the team"}});
  EXPECT_FALSE(sparse[0].empty());
  EXPECT_EQ(
      Post("/embed_sparse", {{"inputs", "the team"}, {"model", "splade.bert"}}),
      sparse);
  const json labels =
      Post("/pipeline/zero-shot-classification",
           {{"inputs", "the team won"},
            {"parameters", {{"candidate_labels", {"sport", "music"}}}}});
  EXPECT_EQ(labels.size(), 2);
  const json encoded = Post(
      "/trivium.v1.Inference/Encode",
      {{"inputs", {{{"text", "a"}}}}, {"outputs", {"ENCODE_OUTPUT_SPARSE"}}});
  EXPECT_EQ(encoded["model"]["name"], "splade.bert");
}

TEST_F(KinShapesTest, TeisBodiesMayNameAModel) {
  const json labels =
      Post("/predict", {{"inputs", "a"}, {"model", "zero_shot.bert"}});
  EXPECT_NE(labels, Post("/predict", {{"inputs", "a"}}));
  EXPECT_THAT(ErrorOf("/predict", {{"inputs", "a"}, {"model", "none"}}, 404),
              HasSubstr("none"));
  EXPECT_THAT(
      ErrorOf("/embed", {{"inputs", "a"}, {"model", "splade.bert"}}, 422),
      HasSubstr("sparse"));
}

// Errors have the names that the request has.
TEST_F(KinShapesTest, IdsThatAreNoneAreNamedAsTheRequestHasThem) {
  constexpr int kNone = 99'999'999;
  EXPECT_THAT(ErrorOf("/embed", {{"inputs", {2, kNone}}}, 422),
              ErrorAt("inputs[1]"));
  EXPECT_THAT(ErrorOf("/embed", {{"inputs", {{2}, {2, kNone}}}}, 422),
              ErrorAt("inputs[1][1]"));
  EXPECT_THAT(ErrorOf("/embed", {{"inputs", {2, -1}}}, 422), ErrorAt("inputs"));
  EXPECT_THAT(ErrorOf("/decode", {{"ids", {2, kNone}}}, 422),
              ErrorAt("ids[1]"));
  EXPECT_THAT(ErrorOf("/decode", {{"ids", {{2}, {2, kNone}}}}, 422),
              ErrorAt("ids[1][1]"));
}

TEST_F(KinShapesTest, EmbeddingsOfOtherShapesOfTexts) {
  const json plain =
      Post("/v1/embeddings", {{"input", {"ab"}}, {"truncate", true}})["data"];
  EXPECT_EQ(Post("/v1/embeddings", {{"input", {{{"text", "ab"}}}},
                                    {"input_type", "passage"},
                                    {"truncate", "END"},
                                    {"add_special_tokens", true}})["data"],
            plain);
  EXPECT_EQ(Post("/v1/embeddings",
                 {{"input", "ab"}, {"truncate_prompt_tokens", -1}})["data"],
            plain);
  for (const auto& [name, value] : std::vector<std::pair<std::string, json>>{
           {"truncate", "MIDDLE"},
           {"input_type", "poem"},
           {"truncate_prompt_tokens", 5},
           {"add_special_tokens", false}}) {
    json body = {{"input", "ab"}};
    body[name] = value;
    EXPECT_THAT(ErrorOf("/v1/embeddings", body), ErrorAt(name));
  }
  const json cohere = Post("/v1/embed", {{"texts", {"ab"}}});
  EXPECT_EQ(cohere["response_type"], "embeddings_floats");
  EXPECT_EQ(cohere["embeddings"][0], plain[0]["embedding"]);
  EXPECT_TRUE(
      Post("/v1/embed", {{"texts", {"ab"}},
                         {"embedding_types", {"float", "int8"}}})["embeddings"]
          .contains("int8"));
}

TEST_F(KinShapesTest, DocumentsMayHaveMoreThanTheirText) {
  const json plain =
      Post("/v1/rerank", {{"query", "a"}, {"documents", {"b", "c"}}});
  const json rich =
      Post("/v1/rerank", {{"query", "a"},
                          {"documents", {{{"text", "b"}, {"id", 7}}, "c"}},
                          {"truncate_prompt_tokens", -1}});
  EXPECT_EQ(rich["results"], plain["results"]);
  EXPECT_THAT(ErrorOf("/v1/rerank", {{"query", "a"},
                                     {"documents", {{{"text", "b"}}}},
                                     {"rank_fields", {"title", "text"}}}),
              ErrorAt("rank_fields"));
  const json raw =
      Post("/infinity/rerank",
           {{"query", "a"}, {"documents", {"b", "c"}}, {"raw_scores", true}});
  EXPECT_NE(raw["results"][0]["relevance_score"],
            plain["results"][0]["relevance_score"]);
  EXPECT_EQ(Post("/score", {{"data_1", "a"}, {"data_2", {"b"}}})["data"],
            Post("/score", {{"queries", "a"}, {"items", {"b"}}})["data"]);
}

// Ollama's clients load a model by a request without a text.
TEST_F(KinShapesTest, OllamasRequestsWithoutATextLoadTheModel) {
  for (const json& input : {json(""), json::array(), json()}) {
    EXPECT_EQ(Post("/api/embed",
                   {{"model", "bert.tag"}, {"input", input}})["embeddings"],
              json::array());
  }
  EXPECT_EQ(Post("/api/embeddings", {{"model", "bert.tag"}, {"prompt", ""}}),
            json({{"embedding", json::array()}}));
  EXPECT_THAT(ErrorOf("/api/embed", {{"model", "none"}}, 404),
              HasSubstr("none"));
  EXPECT_THAT(ErrorOf("/api/embed", {{"model", "bert.tag"}, {"inptu", "a"}}),
              ErrorAt("inptu"));
}

}  // namespace
}  // namespace trivium
