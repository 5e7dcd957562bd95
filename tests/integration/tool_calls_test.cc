// Answers in parts with a real server: tiny models with random weights and the
// chat templates of several styles. Such a model would write no call by itself,
// so every call is one because the answer is held to its form.
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/chat_folder.h"
#include "tests/integration/folder_server.h"
#include "tests/model/chat_format/templates.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using nlohmann::json;

// Tokens of tests/integration/chats.
constexpr uint32_t kLessSign = 27, kBrace = 90;
constexpr uint32_t kThought = 267, kThoughtEnd = 268, kCall = 269;

constexpr char kWeatherTool[] = R"({"type": "function", "function": {
  "name": "weather", "description": "Tells the weather.",
  "parameters": {"type": "object", "properties": {
    "city": {"type": "string", "enum": ["Paris", "Bern", "Oslo"]},
    "days": {"type": "integer", "minimum": 1, "maximum": 14}},
   "required": ["city", "days"], "additionalProperties": false}}})";
constexpr char kTime[] = R"({"type": "function", "function": {
  "name": "time", "parameters": {"type": "object", "properties": {
    "utc": {"type": "boolean"}}, "required": ["utc"],
    "additionalProperties": false}}})";

struct Call {
  std::string name, id, arguments;
  bool complete = false;
  bool operator==(const Call&) const = default;
};

// An answer with its pieces joined.
struct Answer {
  absl::Status status;
  std::string content, reasoning;
  std::vector<Call> calls;
  std::vector<uint32_t> ids;
  v1::GenerateResponse::Done done;
};

std::vector<Answer> AnswersOf(Client& client,
                              const v1::GenerateRequest& request) {
  std::vector<Answer> answers(1);
  const absl::Status status =
      client.Generate(request, [&](const v1::GenerateResponse& response) {
        if (answers.size() <= response.index()) {
          answers.resize(response.index() + 1);
        }
        Answer& answer = answers[response.index()];
        const v1::GenerateResponse::Piece& piece = response.piece();
        answer.content += piece.text();
        answer.reasoning += piece.reasoning();
        answer.ids.insert(answer.ids.end(), piece.ids().begin(),
                          piece.ids().end());
        for (const auto& part : piece.tool_calls()) {
          if (part.index() == answer.calls.size()) {
            EXPECT_NE(part.name(), "");
            answer.calls.push_back({part.name(), part.id(), ""});
          } else {
            EXPECT_EQ(part.index() + 1, answer.calls.size());
            EXPECT_EQ(part.name(), "");
          }
          Call& call = answer.calls.back();
          EXPECT_FALSE(call.complete);
          call.arguments += part.arguments();
          call.complete = part.complete();
        }
        if (response.has_done()) answer.done = response.done();
        return absl::OkStatus();
      });
  for (Answer& answer : answers) answer.status = status;
  return answers;
}

void ExpectCall(const Call& call) {
  EXPECT_TRUE(call.complete) << call.arguments;
  const json arguments = json::parse(call.arguments, nullptr, false);
  ASSERT_TRUE(arguments.is_object()) << call.arguments;
  if (call.name == "time") {
    EXPECT_TRUE(arguments.at("utc").is_boolean());
    EXPECT_EQ(arguments.size(), 1u);
    return;
  }
  EXPECT_EQ(call.name, "weather");
  EXPECT_THAT(arguments.at("city"), testing::AnyOf("Paris", "Bern", "Oslo"));
  EXPECT_THAT(arguments.at("days").get<int>(),
              testing::AllOf(testing::Ge(1), testing::Le(14)));
  EXPECT_EQ(arguments.size(), 2u);
}

class ToolCallsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new FolderServer(
        "tool_calls_test", [](const std::filesystem::path& folder) {
          std::vector<std::string> flags = {"--precision", "f32"};
          const auto add = [&](const char* name, const char* chat_template) {
            MakeChatFolder(folder / name);
            if (chat_template != nullptr) {
              std::ofstream(folder / name / "chat_template.jinja")
                  << chat_template;
            }
            flags.insert(flags.end(), {"--model", (folder / name).string()});
          };
          add("chat", nullptr);
          add("tagged", kTagged);
          add("parameters", kParameters);
          add("bare", kBare);
          add("quoted", kQuoted);
          add("silent", "{{ tools }}{{ messages[0].content }}");
          // Marks that are special tokens, which decoders drop.
          add("marks", kTagged);
          const auto path = folder / "marks" / "tokenizer.json";
          std::ifstream file(path);
          json tokenizer = json::parse(file);
          file.close();
          for (json& token : tokenizer["added_tokens"]) {
            token["special"] = true;
          }
          std::ofstream(path) << tokenizer;
          return flags;
        });
  }
  static void TearDownTestSuite() { delete server_; }

  static v1::GenerateRequest Request(const char* model) {
    v1::GenerateRequest request;
    request.set_model(model);
    v1::Chat& chat = *request.mutable_chat();
    auto* message = chat.add_messages();
    message->set_role("user");
    message->set_content("Hello you");
    chat.add_tools(kWeatherTool);
    chat.add_tools(kTime);
    chat.set_answer_parts(true);
    request.mutable_decoding()->set_max_new_tokens(300);
    return request;
  }
  static v1::GenerateRequest Required(const char* model) {
    v1::GenerateRequest request = Request(model);
    request.mutable_chat()->set_tool_choice(v1::Chat::TOOL_CHOICE_REQUIRED);
    return request;
  }
  // The same request searched in each way.
  static std::vector<v1::GenerateRequest> Searches(
      const v1::GenerateRequest& greedy) {
    std::vector<v1::GenerateRequest> all(4, greedy);
    all[1].mutable_decoding()->set_beam_size(3);
    all[1].mutable_decoding()->set_num_hypotheses(2);
    for (int i : {2, 3}) {
      all[i].mutable_decoding()->set_sample(true);
      all[i].mutable_decoding()->set_seed(i);
    }
    return all;
  }
  static void Bias(uint32_t token, float bias, v1::GenerateRequest* request) {
    (*request->mutable_decoding()->mutable_logit_bias())[token] = bias;
  }
  // Random weights do not end a thought, in one token or spelled.
  static void NoThoughts(v1::GenerateRequest* request) {
    Bias(kThought, -100, request);
    Bias(kLessSign, -100, request);
  }
  std::vector<Answer> Answers(const v1::GenerateRequest& request) {
    std::vector<Answer> answers = AnswersOf(*client_, request);
    EXPECT_TRUE(answers[0].status.ok()) << answers[0].status;
    return answers;
  }
  Answer One(const v1::GenerateRequest& request) {
    return Answers(request).front();
  }
  template <typename Change>
  absl::Status Refused(v1::GenerateRequest request, const Change& change) {
    change(&request);
    return AnswersOf(*client_, request)[0].status;
  }

  static FolderServer* server_;
  const std::unique_ptr<Client> client_ = (*server_)->NewClient();
};

FolderServer* ToolCallsTest::server_ = nullptr;

TEST_F(ToolCallsTest, ARequiredCallIsOne) {
  for (const char* model : {"chat", "tagged", "marks", "bare"}) {
    SCOPED_TRACE(model);
    v1::GenerateRequest required = Required(model);
    NoThoughts(&required);
    required.mutable_chat()->set_parallel_tool_calls(false);
    for (const v1::GenerateRequest& request : Searches(required)) {
      for (const Answer& answer : Answers(request)) {
        EXPECT_EQ(answer.done.finish_reason(), v1::FINISH_REASON_END);
        EXPECT_EQ(answer.content, "");
        EXPECT_EQ(answer.reasoning, "");
        ASSERT_EQ(answer.calls.size(), 1u);
        ExpectCall(answer.calls[0]);
      }
    }
  }
}

TEST_F(ToolCallsTest, ANamedToolIsTheOneCalled) {
  for (const char* name : {"weather", "time"}) {
    v1::GenerateRequest named = Required("tagged");
    NoThoughts(&named);
    named.mutable_chat()->set_tool_name(name);
    named.mutable_chat()->set_parallel_tool_calls(false);
    const Answer answer = One(named);
    ASSERT_EQ(answer.calls.size(), 1u);
    EXPECT_EQ(answer.calls[0].name, name);
    ExpectCall(answer.calls[0]);
  }
}

// However a call comes about, it is well formed.
TEST_F(ToolCallsTest, CallsOfFreeAnswersAreHeld) {
  int calls = 0, contents = 0;
  for (const char* model : {"chat", "tagged", "marks", "bare"}) {
    SCOPED_TRACE(model);
    for (int seed = 0; seed < 12; ++seed) {
      v1::GenerateRequest request = Request(model);
      request.mutable_decoding()->set_sample(true);
      request.mutable_decoding()->set_seed(seed);
      const bool bare = std::string_view(model) == "bare";
      Bias(kThought, -100, &request);
      if (seed % 3 == 1) Bias(bare ? kBrace : kCall, 4, &request);
      if (seed % 3 == 2) {
        request.mutable_decoding()->set_forced_first_id(bare ? kBrace : kCall);
      }
      request.mutable_chat()->set_parallel_tool_calls(false);
      const Answer answer = One(request);
      contents += !answer.content.empty();
      if (bare) {
        EXPECT_FALSE(answer.content.starts_with('{'));
      } else {
        EXPECT_EQ(answer.content.find("<tool_call>"), std::string::npos);
      }
      const bool cut = answer.done.finish_reason() == v1::FINISH_REASON_LENGTH;
      for (const Call& call : answer.calls) {
        if (call.complete || !cut) ExpectCall(call);
        ++calls;
      }
    }
  }
  EXPECT_GT(calls, 8);
  EXPECT_GT(contents, 8);
}

TEST_F(ToolCallsTest, WithNoneTheTemplateSeesNoTools) {
  v1::GenerateRequest none = Request("tagged");
  none.mutable_chat()->set_tool_choice(v1::Chat::TOOL_CHOICE_NONE);
  none.set_tokens(true);
  none.mutable_decoding()->set_max_new_tokens(20);
  v1::GenerateRequest without = none;
  without.mutable_chat()->clear_tools();
  without.mutable_chat()->clear_tool_choice();
  const Answer answer = One(none), same = One(without);
  EXPECT_EQ(answer.ids, same.ids);
  EXPECT_EQ(answer.content, same.content);
  EXPECT_TRUE(answer.calls.empty());
  EXPECT_EQ(answer.done.source_token_count(), same.done.source_token_count());
  // So do answers that are one text.
  none.mutable_chat()->set_answer_parts(false);
  EXPECT_EQ(One(none).ids, same.ids);
}

// The prompt opens a thought, and the call comes behind it.
TEST_F(ToolCallsTest, AThoughtComesBeforeTheCall) {
  v1::GenerateRequest request = Required("parameters");
  request.mutable_decoding()->set_sample(true);
  Bias(kThoughtEnd, 5, &request);
  int thoughts = 0;
  for (int seed = 0; seed < 6; ++seed) {
    request.mutable_decoding()->set_seed(seed);
    request.mutable_chat()->set_parallel_tool_calls(false);
    const Answer answer = One(request);
    if (answer.done.finish_reason() == v1::FINISH_REASON_LENGTH) continue;
    EXPECT_EQ(answer.content, "");
    thoughts += !answer.reasoning.empty();
    ASSERT_EQ(answer.calls.size(), 1u);
    ExpectCall(answer.calls[0]);
  }
  EXPECT_GT(thoughts, 0);
}

TEST_F(ToolCallsTest, ThoughtsAreNoContent) {
  for (const char* model : {"tagged", "marks"}) {
    v1::GenerateRequest request = Request(model);
    request.mutable_chat()->clear_tools();
    request.mutable_decoding()->set_max_new_tokens(60);
    request.mutable_decoding()->set_sample(true);
    request.mutable_decoding()->set_forced_first_id(kThought);
    Bias(kThoughtEnd, 4, &request);
    Bias(kThought, -100, &request);
    int both = 0;
    for (int seed = 0; seed < 6; ++seed) {
      request.mutable_decoding()->set_seed(seed);
      const Answer answer = One(request);
      EXPECT_FALSE(answer.content.starts_with("<think>"));
      EXPECT_EQ(answer.reasoning.find("</think>"), std::string::npos);
      both += !answer.reasoning.empty() && !answer.content.empty();
    }
    EXPECT_GT(both, 0) << model;
  }
}

// The mark of their end follows, whether the prompt or the model opened them.
TEST_F(ToolCallsTest, ThoughtsAreBounded) {
  for (const uint32_t most : {0, 7}) {
    v1::GenerateRequest opened = Required("parameters");
    opened.mutable_chat()->set_parallel_tool_calls(false);
    opened.mutable_chat()->set_max_thinking_tokens(most);
    opened.set_tokens(true);
    Bias(kThoughtEnd, -50, &opened);
    Bias(kLessSign, -100, &opened);
    for (const v1::GenerateRequest& request : Searches(opened)) {
      for (const Answer& answer : Answers(request)) {
        EXPECT_EQ(answer.done.finish_reason(), v1::FINISH_REASON_END);
        ASSERT_GT(answer.ids.size(), most);
        EXPECT_EQ(answer.ids[most], kThoughtEnd);
        EXPECT_EQ(answer.reasoning.empty(), most == 0);
        ASSERT_EQ(answer.calls.size(), 1u);
        ExpectCall(answer.calls[0]);
      }
    }
    const Answer one = One(opened);
    EXPECT_EQ(one.done.usage().reasoning_tokens(), most);

    v1::GenerateRequest free = Request("tagged");
    free.mutable_chat()->clear_tools();
    free.mutable_chat()->set_max_thinking_tokens(most);
    free.mutable_decoding()->set_max_new_tokens(20);
    free.mutable_decoding()->set_forced_first_id(kThought);
    free.set_tokens(true);
    Bias(kThoughtEnd, -50, &free);
    Bias(kLessSign, -100, &free);
    const Answer answer = One(free);
    EXPECT_EQ(answer.ids[0], kThought);
    EXPECT_EQ(answer.ids[most + 1], kThoughtEnd);
    EXPECT_NE(answer.content, "");
  }
}

// A form holds the content and leaves the thought free.
TEST_F(ToolCallsTest, AConstraintHoldsTheContent) {
  v1::GenerateRequest request = Request("parameters");
  request.mutable_decoding()->set_sample(true);
  request.mutable_decoding()
      ->mutable_constraint()
      ->mutable_choices()
      ->add_texts("left");
  request.mutable_chat()->clear_tools();
  Bias(kThoughtEnd, 5, &request);
  int ended = 0;
  for (int seed = 0; seed < 6; ++seed) {
    request.mutable_decoding()->set_seed(seed);
    const Answer answer = One(request);
    if (answer.done.finish_reason() == v1::FINISH_REASON_LENGTH) continue;
    EXPECT_EQ(answer.content, "left");
    ++ended;
  }
  EXPECT_GT(ended, 0);
}

// Beside tools, the answer is JSON of the form or calls.
TEST_F(ToolCallsTest, AnAnswerIsJsonOrCalls) {
  int calls = 0, contents = 0;
  for (int seed = 0; seed < 8; ++seed) {
    v1::GenerateRequest request = Request("tagged");
    request.mutable_decoding()->set_sample(true);
    request.mutable_decoding()->set_seed(seed);
    request.mutable_decoding()->mutable_constraint()->set_json_schema(
        R"({"enum": [true, false]})");
    NoThoughts(&request);
    if (seed % 2 == 0) Bias(kCall, 100, &request);
    request.mutable_chat()->set_parallel_tool_calls(false);
    const Answer answer = One(request);
    EXPECT_EQ(answer.done.finish_reason(), v1::FINISH_REASON_END);
    if (answer.calls.empty()) {
      EXPECT_THAT(answer.content, testing::AnyOf("true", "false"));
      ++contents;
      continue;
    }
    EXPECT_EQ(answer.content, "");
    ExpectCall(answer.calls[0]);
    ++calls;
  }
  EXPECT_GT(calls, 0);
  EXPECT_GT(contents, 0);
}

TEST_F(ToolCallsTest, RequiredCallsLeaveNoContentToHold) {
  v1::GenerateRequest request = Required("tagged");
  request.mutable_decoding()->mutable_constraint()->set_json_schema(
      R"({"enum": [true, false]})");
  NoThoughts(&request);
  const Answer answer = One(request);
  EXPECT_EQ(answer.content, "");
  ASSERT_FALSE(answer.calls.empty());
  ExpectCall(answer.calls[0]);
}

TEST_F(ToolCallsTest, AnAnswerIsTheSameBesideOthers) {
  std::vector<v1::GenerateRequest> requests;
  for (const v1::GenerateRequest& request : Searches(Required("marks"))) {
    requests.push_back(request);
    requests.back().set_tokens(true);
    requests.push_back(requests.back());
    requests.back().mutable_chat()->clear_tool_choice();
  }
  std::vector<std::vector<Answer>> alone, together(requests.size());
  for (const v1::GenerateRequest& request : requests) {
    alone.push_back(Answers(request));
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < requests.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::unique_ptr<Client> client = (*server_)->NewClient();
      together[i] = AnswersOf(*client, requests[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(together[i].size(), alone[i].size());
    for (size_t h = 0; h < alone[i].size(); ++h) {
      EXPECT_EQ(together[i][h].ids, alone[i][h].ids);
      EXPECT_EQ(together[i][h].content, alone[i][h].content);
      EXPECT_EQ(together[i][h].reasoning, alone[i][h].reasoning);
      EXPECT_EQ(together[i][h].calls, alone[i][h].calls);
      EXPECT_EQ(together[i][h].done.score(), alone[i][h].done.score());
    }
  }
}

// Calls in a form without a grammar are read, but not held.
TEST_F(ToolCallsTest, CallsThatAreNotJsonCannotBeRequired) {
  v1::GenerateRequest request = Request("quoted");
  request.mutable_decoding()->set_max_new_tokens(20);
  EXPECT_TRUE(One(request).status.ok());
  EXPECT_THAT(Refused(request,
                      [](auto* in) {
                        in->mutable_chat()->set_tool_choice(
                            v1::Chat::TOOL_CHOICE_REQUIRED);
                      }),
              IsError(kFailedPrecondition, "chat.tool_choice"));
  EXPECT_THAT(Refused(request,
                      [](auto* in) {
                        in->mutable_chat()->set_parallel_tool_calls(false);
                      }),
              IsError(kFailedPrecondition, "chat.parallel_tool_calls"));
}

TEST_F(ToolCallsTest, ErrorsNameTheField) {
  const auto chat = [](auto change) {
    return [change](v1::GenerateRequest* in) { change(in->mutable_chat()); };
  };
  const v1::GenerateRequest request = Request("tagged");
  const v1::GenerateRequest required = Required("tagged");
  EXPECT_THAT(
      Refused(request, chat([](v1::Chat* in) {
                in->set_tool_choice(static_cast<v1::Chat::ToolChoice>(9));
              })),
      IsError(kInvalidArgument, "chat.tool_choice"));
  EXPECT_THAT(Refused(required, chat([](v1::Chat* in) { in->clear_tools(); })),
              IsError(kInvalidArgument, "chat.tool_choice"));
  EXPECT_THAT(
      Refused(required, chat([](v1::Chat* in) { in->clear_answer_parts(); })),
      IsError(kInvalidArgument, "chat.tool_choice"));
  EXPECT_THAT(
      Refused(request, chat([](v1::Chat* in) { in->set_tool_name("time"); })),
      IsError(kInvalidArgument, "chat.tool_name"));
  EXPECT_THAT(
      Refused(required, chat([](v1::Chat* in) { in->set_tool_name("none"); })),
      IsError(kInvalidArgument, "chat.tool_name"));
  EXPECT_THAT(Refused(request, chat([](v1::Chat* in) {
                        in->clear_answer_parts();
                        in->set_parallel_tool_calls(true);
                      })),
              IsError(kInvalidArgument, "chat.parallel_tool_calls"));
  EXPECT_THAT(Refused(request, chat([](v1::Chat* in) {
                        in->clear_answer_parts();
                        in->set_max_thinking_tokens(5);
                      })),
              IsError(kInvalidArgument, "chat.max_thinking_tokens"));
  EXPECT_THAT(Refused(Request("silent"), chat([](v1::Chat* in) {
                        in->clear_tools();
                        in->set_max_thinking_tokens(5);
                      })),
              IsError(kFailedPrecondition, "chat.max_thinking_tokens"));
  EXPECT_THAT(Refused(Request("silent"), chat([](v1::Chat*) {})),
              IsError(kFailedPrecondition, "chat.answer_parts"));
  EXPECT_THAT(Refused(request, chat([](v1::Chat* in) {
                        in->set_tools(1, R"({"type": "function"})");
                      })),
              IsError(kInvalidArgument, "chat.tools[1]"));
  const auto schema = [&](const char* text) {
    return Refused(request, chat([text](v1::Chat* in) {
                     in->set_tools(
                         1, std::string(R"({"type": "function", "function": {)"
                                        R"("name": "f", "parameters": )") +
                                text + "}}");
                   }));
  };
  EXPECT_THAT(schema(R"({"not": {"format": "date"}})"),
              IsError(kInvalidArgument, "chat.tools[1]"));
  // A schema that would take for ever.
  EXPECT_THAT(schema(R"({"type": "object", "properties": {"a": {
                         "type": "string", "maxLength": 30,
                         "pattern": "a[ab]{25}$"}}})"),
              IsError(kInvalidArgument, "chat.tools[1]"));
  EXPECT_THAT(
      Refused(request,
              [](auto* in) { in->mutable_decoding()->set_ignore_eos(true); }),
      IsError(kInvalidArgument, "chat.tools"));
  const auto regex = [](v1::GenerateRequest* in) {
    in->mutable_decoding()->mutable_constraint()->set_regex("a");
  };
  EXPECT_THAT(Refused(request, regex),
              IsError(kInvalidArgument, "decoding.constraint"));
  EXPECT_THAT(
      Refused(request,
              [](auto* in) {
                in->mutable_chat()->clear_tools();
                in->mutable_decoding()->mutable_constraint()->set_json_schema(
                    R"({"not": {"format": "date"}})");
              }),
      IsError(kInvalidArgument, "decoding.constraint.json_schema"));
}

}  // namespace
}  // namespace trivium
