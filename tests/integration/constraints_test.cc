// Generate under a constraint with a real server: a tiny model with random
// weights, which would write no such text by itself. Every text that ends has
// its form; every other one is the beginning of such a text.
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
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

// An object that this schema accepts takes few tokens, whatever they are.
constexpr char kSchema[] = R"({
  "type": "object",
  "properties": {
    "city": {"enum": ["Paris", "Bern", "Oslo"]},
    "sights": {"type": "array", "items": {"type": "integer", "minimum": 0,
               "maximum": 99}, "minItems": 1, "maxItems": 3},
    "capital": {"type": "boolean"}
  },
  "required": ["city", "sights", "capital"],
  "additionalProperties": false
})";

void ExpectCity(const json& city) {
  ASSERT_TRUE(city.is_object());
  EXPECT_EQ(city.size(), 3u);
  EXPECT_THAT(city.at("city"), testing::AnyOf("Paris", "Bern", "Oslo"));
  EXPECT_TRUE(city.at("capital").is_boolean());
  const json& sights = city.at("sights");
  EXPECT_GE(sights.size(), 1u);
  EXPECT_LE(sights.size(), 3u);
  for (const json& sight : sights) {
    EXPECT_TRUE(sight.is_number_integer());
    EXPECT_GE(sight.get<int>(), 0);
    EXPECT_LE(sight.get<int>(), 99);
  }
}

class ConstraintsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new FolderServer(
        "constraints_test", [](const std::filesystem::path& folder) {
          MakeChatFolder(folder / "chat");
          return std::vector<std::string>{
              "--http-listen", "127.0.0.1:0", "--precision",
              "f32",           "--model",     (folder / "chat").string()};
        });
  }
  static void TearDownTestSuite() { delete server_; }

  static v1::GenerateRequest Request() {
    v1::GenerateRequest request;
    request.set_model("chat");
    request.mutable_input()->set_text("Hello you");
    request.mutable_decoding()->set_max_new_tokens(400);
    return request;
  }
  // The same request searched in each way.
  static std::vector<v1::GenerateRequest> Searches(
      const v1::GenerateRequest& greedy) {
    std::vector<v1::GenerateRequest> all(3, greedy);
    all[1].mutable_decoding()->set_beam_size(3);
    all[2].mutable_decoding()->set_sample(true);
    all[2].mutable_decoding()->set_seed(7);
    return all;
  }
  WholeAnswer Generate(const v1::GenerateRequest& request) {
    return GenerateWhole(*client_, request);
  }
  // The text of an answer that must come to its end.
  std::string Text(const v1::GenerateRequest& request) {
    const WholeAnswer answer = Generate(request);
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    EXPECT_EQ(answer.done.finish_reason(), v1::FINISH_REASON_END)
        << answer.text;
    return answer.text;
  }
  static HttpResult Post(const std::string& path, const json& body) {
    return HttpPost((*server_)->http_port(), path, body.dump(),
                    "Content-Type: application/json\r\n");
  }
  // Thoughts before the content are free, so none may begin: a bias is against
  // <think> and its first letter.
  static json Chat(const json& more) {
    json body = {{"model", "chat"},
                 {"logit_bias", {{"267", -100}, {"27", -100}}},
                 {"messages", {{{"role", "user"}, {"content", "Hello you"}}}},
                 {"temperature", 0},
                 {"max_tokens", 400}};
    body.update(more);
    return body;
  }
  static std::string Said(const json& body) {
    const HttpResult answer = Post("/v1/chat/completions", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    if (answer.status != 200) return "";
    const json whole = json::parse(answer.body);
    EXPECT_EQ(whole["choices"][0]["finish_reason"], "stop");
    return whole["choices"][0]["message"]["content"];
  }

  static FolderServer* server_;
  const std::unique_ptr<Client> client_ = (*server_)->NewClient();
};

FolderServer* ConstraintsTest::server_ = nullptr;

TEST_F(ConstraintsTest, TextsHaveTheFormOfTheirSchema) {
  v1::GenerateRequest request = Request();
  v1::Constraint& constraint =
      *request.mutable_decoding()->mutable_constraint();
  constraint.set_json_schema(kSchema);
  for (const v1::JsonSpace space :
       {v1::JSON_SPACE_COMPACT, v1::JSON_SPACE_SPACED}) {
    constraint.set_json_space(space);
    for (const v1::GenerateRequest& search : Searches(request)) {
      const std::string text = Text(search);
      const auto city = nlohmann::ordered_json::parse(text, nullptr, false);
      ASSERT_FALSE(city.is_discarded()) << text;
      ExpectCity(json(city));
      EXPECT_EQ(city.begin().key(), "city");  // in declared order
      EXPECT_EQ(text.find(' ') == std::string::npos,
                space == v1::JSON_SPACE_COMPACT);
    }
  }
}

TEST_F(ConstraintsTest, TextsMatchAnExpressionAChoiceOrAGrammar) {
  v1::GenerateRequest request = Request();
  v1::Constraint& constraint =
      *request.mutable_decoding()->mutable_constraint();
  constraint.set_regex("[A-Z][a-z]{2,5} (von|zu) [A-Z][a-z]{1,4}\\.");
  for (const v1::GenerateRequest& search : Searches(request)) {
    const std::string text = Text(search);
    EXPECT_THAT(text, testing::MatchesRegex(
                          "[A-Z][a-z]{2,5} (von|zu) [A-Z][a-z]{1,4}\\."));
  }
  for (const char* const choice : {"yes", "no", "Москва", "na\xc3\xafve"}) {
    constraint.mutable_choices()->add_texts(choice);
  }
  for (const v1::GenerateRequest& search : Searches(request)) {
    EXPECT_THAT(Text(search),
                testing::AnyOf("yes", "no", "Москва", "na\xc3\xafve"));
  }
  constraint.set_grammar(
      "root ::= sum \"=\"\nsum ::= [0-9]{1,3} (\"+\" [0-9]{1,3}){1,2}\n");
  for (const v1::GenerateRequest& search : Searches(request)) {
    const std::string text = Text(search);
    EXPECT_THAT(text, testing::MatchesRegex("[0-9]{1,3}(\\+[0-9]{1,3}){1,2}="));
  }
}

TEST_F(ConstraintsTest, ATextThatIsCutIsABeginning) {
  v1::GenerateRequest request = Request();
  request.mutable_decoding()
      ->mutable_constraint()
      ->mutable_choices()
      ->add_texts("abcdefghijklmnopqrstuvwxyz");
  request.mutable_decoding()->set_max_new_tokens(5);
  const WholeAnswer answer = Generate(request);
  EXPECT_EQ(answer.done.finish_reason(), v1::FINISH_REASON_LENGTH);
  EXPECT_TRUE(
      std::string_view("abcdefghijklmnopqrstuvwxyz").starts_with(answer.text))
      << answer.text;
  EXPECT_FALSE(answer.text.empty());
}

TEST_F(ConstraintsTest, AnAnswerIsTheSameBesideOthers) {
  std::vector<v1::GenerateRequest> requests;
  for (int i = 0; i < 4; ++i) {
    v1::GenerateRequest request = Request();
    request.set_tokens(true);
    request.mutable_decoding()->set_sample(true);
    request.mutable_decoding()->set_seed(i);
    v1::Constraint& constraint =
        *request.mutable_decoding()->mutable_constraint();
    if (i % 2 == 0) {
      constraint.set_json_schema(kSchema);
    } else {
      constraint.set_regex("[a-z ]{40,60}");
    }
    requests.push_back(request);
  }
  std::vector<WholeAnswer> alone;
  for (const v1::GenerateRequest& request : requests) {
    alone.push_back(Generate(request));
    EXPECT_TRUE(alone.back().status.ok()) << alone.back().status;
  }
  std::vector<WholeAnswer> together(requests.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < requests.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::unique_ptr<Client> client = (*server_)->NewClient();
      together[i] = GenerateWhole(*client, requests[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(together[i].ids, alone[i].ids);
    EXPECT_EQ(together[i].text, alone[i].text);
    EXPECT_EQ(together[i].done.score(), alone[i].done.score());
  }
}

TEST_F(ConstraintsTest, ErrorsNameTheFieldAndThePlace) {
  const auto refused = [&](auto change) {
    v1::GenerateRequest request = Request();
    change(*request.mutable_decoding());
    return Generate(request).status;
  };
  const std::string field = "decoding.constraint";
  EXPECT_THAT(refused([](v1::DecodingOptions& decoding) {
                decoding.mutable_constraint();
              }),
              IsError(absl::StatusCode::kInvalidArgument, field));
  EXPECT_THAT(
      refused([](v1::DecodingOptions& decoding) {
        decoding.mutable_constraint()->set_json_schema(
            R"({"properties": {"a": {"not": {"format": "date"}}}})");
      }),
      IsError(absl::StatusCode::kInvalidArgument, field + ".json_schema"));
  EXPECT_THAT(refused([](v1::DecodingOptions& decoding) {
                decoding.mutable_constraint()->set_regex("a(");
              }),
              IsError(absl::StatusCode::kInvalidArgument, field + ".regex"));
  EXPECT_THAT(refused([](v1::DecodingOptions& decoding) {
                decoding.mutable_constraint()->set_grammar("sum ::= \"a\"");
              }),
              IsError(absl::StatusCode::kInvalidArgument, field + ".grammar"));
  EXPECT_THAT(refused([](v1::DecodingOptions& decoding) {
                decoding.mutable_constraint()->mutable_choices();
              }),
              IsError(absl::StatusCode::kInvalidArgument, field + ".choices"));
  EXPECT_THAT(refused([](v1::DecodingOptions& decoding) {
                decoding.mutable_constraint()->set_regex("a");
                decoding.set_ignore_eos(true);
              }),
              IsError(absl::StatusCode::kInvalidArgument, field));
  EXPECT_THAT(refused([](v1::DecodingOptions& decoding) {
                decoding.mutable_constraint()->set_regex("a");
                decoding.set_stop_repetition(true);
              }),
              IsError(absl::StatusCode::kInvalidArgument, field));
  EXPECT_THAT(
      refused([](v1::DecodingOptions& decoding) {
        decoding.mutable_constraint()->set_regex("a");
        decoding.mutable_constraint()->set_json_space(v1::JSON_SPACE_COMPACT);
      }),
      IsError(absl::StatusCode::kInvalidArgument, field + ".json_space"));
  EXPECT_THAT(refused([](v1::DecodingOptions& decoding) {
                decoding.mutable_constraint()->set_regex(
                    "((([a-z ]{0,1000}){0,1000}){0,1000})");
                decoding.set_min_new_tokens(400);
              }),
              IsError(absl::StatusCode::kInvalidArgument, field));
  // The rules forbid what the form needs.
  EXPECT_THAT(refused([](v1::DecodingOptions& decoding) {
                decoding.mutable_constraint()->set_regex("ab?");
                decoding.set_min_new_tokens(5);
              }),
              IsError(absl::StatusCode::kInvalidArgument, field));
}

TEST_F(ConstraintsTest, ModelsWhoseTextsCannotBeHeldSayWhy) {
  v1::GenerateRequest request = Request();
  request.set_model("en-de");
  request.mutable_decoding()->mutable_constraint()->set_regex("a");
  EXPECT_THAT(
      Generate(request).status,
      IsError(absl::StatusCode::kFailedPrecondition, "decoding.constraint"));
  v1::TranslateRequest translate;
  translate.set_model("en-de");
  translate.add_inputs()->set_text("Hello.");
  translate.mutable_options()
      ->mutable_decoding()
      ->mutable_constraint()
      ->set_regex("a");
  EXPECT_THAT(client_->Translate(translate).status(),
              IsError(absl::StatusCode::kInvalidArgument,
                      "options.decoding.constraint"));
}

TEST_F(ConstraintsTest, ChatsOfOpenAiTakeEachShape) {
  const json schema = json::parse(kSchema);
  for (const json& more :
       {json{{"response_format",
              {{"type", "json_schema"},
               {"json_schema",
                {{"name", "city"}, {"strict", true}, {"schema", schema}}}}}},
        json{
            {"response_format", {{"type", "json_object"}, {"schema", schema}}}},
        json{{"structured_outputs", {{"json", schema}}}},
        json{{"guided_json", schema}}, json{{"json_schema", schema}}}) {
    const json city = json::parse(Said(Chat(more)), nullptr, false);
    ASSERT_FALSE(city.is_discarded()) << more;
    ExpectCity(city);
  }
  EXPECT_THAT(
      Said(Chat({{"structured_outputs", {{"choice", {"left", "right"}}}}})),
      testing::AnyOf("left", "right"));
  EXPECT_THAT(Said(Chat({{"structured_outputs", {{"regex", "[ab]{3}"}}}})),
              testing::MatchesRegex("[ab]{3}"));
  EXPECT_THAT(Said(Chat({{"grammar", "root ::= [xy]{4}"}})),
              testing::MatchesRegex("[xy]{4}"));
  const HttpResult text =
      Post("/v1/chat/completions",
           Chat({{"response_format", {{"type", "text"}}}, {"max_tokens", 4}}));
  EXPECT_EQ(text.status, 200) << text.body;
  // Any object: random weights may take long for one.
  const HttpResult object =
      Post("/v1/chat/completions",
           Chat({{"response_format", {{"type", "json_object"}}}}));
  ASSERT_EQ(object.status, 200) << object.body;
  const json choice = json::parse(object.body)["choices"][0];
  const std::string said = choice["message"]["content"];
  if (choice["finish_reason"] == "stop") {
    EXPECT_TRUE(json::parse(said, nullptr, false).is_object()) << said;
  }
  EXPECT_EQ(said.find_first_not_of(" \t\r\n"), said.find('{'));
}

TEST_F(ConstraintsTest, ChatsOfOpenAiTellWhatCannotBeHeld) {
  const auto error = [](const json& more) {
    const HttpResult answer = Post("/v1/chat/completions", Chat(more));
    EXPECT_EQ(answer.status, 400) << answer.body;
    return json::parse(answer.body, nullptr, false)["error"];
  };
  EXPECT_EQ(
      error(
          {{"response_format",
            {{"type", "json_schema"},
             {"json_schema",
              {{"name", "x"}, {"schema", {{"not", {{"format", "date"}}}}}}}}}})
          .at("param"),
      "response_format.json_schema.schema");
  EXPECT_EQ(error({{"structured_outputs", {{"regex", "("}}}}).at("param"),
            "structured_outputs.regex");
  EXPECT_EQ(error({{"response_format", {{"type", "xml"}}}}).at("param"),
            "response_format.type");
  EXPECT_EQ(error({{"response_format", {{"type", "json_schema"}}}}).at("param"),
            "response_format.json_schema");
  EXPECT_EQ(error({{"response_format", {{"type", "json_object"}}},
                   {"grammar", "root ::= \"a\""}})
                .at("param"),
            "grammar");
}

}  // namespace
}  // namespace trivium
