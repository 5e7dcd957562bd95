// OpenAI's chats: tools, tool calls and thoughts, without a network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "server/adapters/openai.h"
#include "server/errors/status.h"
#include "tests/support/error_texts.h"
#include "tests/support/puppet_model.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Piece = v1::GenerateResponse::Piece;

const json kFunction = {
    {"type", "function"},
    {"function",
     {{"name", "look"},
      {"parameters",
       {{"type", "object"}, {"properties", {{"x", {{"type", "string"}}}}}}}}}};

Piece Text(const std::string& text) {
  Piece piece;
  piece.set_text(text);
  return piece;
}
Piece Thought(const std::string& text) {
  Piece piece;
  piece.set_reasoning(text);
  return piece;
}
void AddCall(uint32_t index, const std::string& name, const std::string& id,
             const std::string& arguments, Piece* piece) {
  auto* const call = piece->add_tool_calls();
  call->set_index(index);
  call->set_name(name);
  call->set_id(id);
  call->set_arguments(arguments);
}
Piece Call(uint32_t index, const std::string& name, const std::string& id,
           const std::string& arguments) {
  Piece piece;
  AddCall(index, name, id, arguments, &piece);
  return piece;
}
Piece More(uint32_t index, const std::string& arguments) {
  return Call(index, "", "", arguments);
}

// Joins a delta as OpenAI's clients do: texts are appended, and the items of
// lists are found by their `index`.
void Join(const json& delta, json* message) {
  for (const auto& [key, value] : delta.items()) {
    json& place = (*message)[key];
    if (value.is_array()) {
      std::set<int> seen;
      for (const json& item : value) {
        const int index = item.at("index");
        EXPECT_TRUE(seen.insert(index).second) << delta;
        Join(item, &place[index]);
      }
    } else if (value.is_object()) {
      Join(value, &place);
    } else if (value.is_string() && place.is_string()) {
      place = place.get<std::string>() + value.get<std::string>();
    } else {
      place = value;
    }
  }
}

class OpenAiChatTest : public testing::Test {
 protected:
  OpenAiChatTest() { Serve("chat", "{{ messages }}{{ tools }}"); }

  void Serve(const std::string& name, const std::string& chat_template) {
    auto model = std::make_unique<PuppetModel>(Design::kDecoder);
    model->mutable_chat_templates() =
        *ChatTemplates::FromConfig({{"chat_template", chat_template}}, "x");
    ASSERT_TRUE(
        environment_.models.Add(ServedPuppet(name, std::move(model))).ok());
  }

  absl::StatusOr<v1::GenerateRequest> ReadText(const std::string& body) {
    RequestHead head;
    head.header = [](const char*) { return std::string(); };
    codec_ = NewOpenAiChatCodec(environment_, head);
    v1::GenerateRequest request;
    if (absl::Status status = codec_->Read(body, &request); !status.ok()) {
      return status;
    }
    return request;
  }
  absl::StatusOr<v1::GenerateRequest> Read(const json& more) {
    json body = {{"model", "chat"},
                 {"messages", {{{"role", "user"}, {"content", "Hi"}}}}};
    body.update(more);
    return ReadText(body.dump());
  }
  v1::Chat Chat(const json& more) {
    const auto request = Read(more);
    EXPECT_TRUE(request.ok()) << more << request.status();
    return request.ok() ? request->chat() : v1::Chat();
  }
  // The member that the error names; checks that the text has `word`.
  std::string Refused(const json& more, const std::string& word = "") {
    const auto request = Read(more);
    EXPECT_FALSE(request.ok()) << more;
    const json error = Failure(request.status());
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(word)) << more;
    return error["param"].is_string() ? error["param"] : json("");
  }
  json Failure(const absl::Status& status) {
    const HttpAnswer answer = codec_->Finish({status, "id"}, nullptr);
    EXPECT_EQ(answer.status, 400) << status;
    return json::parse(answer.body)["error"];
  }

  // The answer to `options` whose hypotheses have these pieces.
  json Whole(const std::vector<std::vector<Piece>>& pieces,
             v1::FinishReason reason, json options = json::object()) {
    options["n"] = pieces.size();
    EXPECT_TRUE(Read(options).ok());
    for (const v1::GenerateResponse& response : Responses(pieces, reason)) {
      EXPECT_EQ(codec_->Write(response), "");
    }
    return json::parse(codec_->Finish({}, nullptr).body);
  }
  json Choice(const std::vector<Piece>& pieces,
              v1::FinishReason reason = v1::FINISH_REASON_END) {
    return Whole({pieces}, reason)["choices"][0];
  }

  // The same as a stream: the chunks.
  std::vector<json> Chunks(const std::vector<std::vector<Piece>>& pieces,
                           v1::FinishReason reason) {
    EXPECT_TRUE(Read({{"n", pieces.size()}, {"stream", true}}).ok());
    std::string events;
    for (const v1::GenerateResponse& response : Responses(pieces, reason)) {
      events += codec_->Write(response);
    }
    events += codec_->EndStream({}, nullptr);
    std::vector<json> chunks;
    for (absl::string_view event :
         absl::StrSplit(events, "\n\n", absl::SkipEmpty())) {
      EXPECT_TRUE(absl::ConsumePrefix(&event, "data: "));
      if (event != "[DONE]") chunks.push_back(json::parse(std::string(event)));
    }
    return chunks;
  }
  // The messages of the choices, from joined deltas, and their reasons.
  static std::vector<std::pair<json, std::string>> Joined(
      const std::vector<json>& chunks, size_t choices) {
    std::vector<std::pair<json, std::string>> joined(choices);
    for (const json& chunk : chunks) {
      const json& choice = chunk["choices"][0];
      auto& [message, reason] = joined.at(choice["index"]);
      EXPECT_EQ(choice["delta"].contains("role"), message.is_null());
      Join(choice["delta"], &message);
      EXPECT_EQ(reason, "");
      if (choice["finish_reason"].is_string()) reason = choice["finish_reason"];
    }
    return joined;
  }

  Environment environment_;
  std::unique_ptr<Codec> codec_;

 private:
  // Piece by piece, the hypotheses in turns.
  static std::vector<v1::GenerateResponse> Responses(
      const std::vector<std::vector<Piece>>& pieces, v1::FinishReason reason) {
    std::vector<v1::GenerateResponse> responses;
    for (size_t k = 0, left = 1; left > 0; ++k) {
      left = 0;
      for (size_t i = 0; i < pieces.size(); ++i) {
        if (k > pieces[i].size()) continue;
        ++left;
        v1::GenerateResponse& response = responses.emplace_back();
        response.set_index(static_cast<uint32_t>(i));
        if (k < pieces[i].size()) {
          *response.mutable_piece() = pieces[i][k];
        } else {
          response.mutable_done()->set_finish_reason(reason);
        }
      }
    }
    return responses;
  }
};

TEST_F(OpenAiChatTest, ToolsReachTheTemplateAsTheyAreWritten) {
  const auto request = ReadText(
      R"({"model": "chat", "messages": [{"role": "user", "content": "Hi"}],
          "tools": [{"type": "function", "cache_control": {"type": "x"},
                     "function": {"strict": true, "name": "look",
                       "description": null, "parameters":
                         {"type": "object", "properties":
                           {"z": {"type": "string"}, "a": {"strict": 1.50}}}}}],
          "parallel_tool_calls": false})");
  ASSERT_TRUE(request.ok()) << request.status();
  // `strict` and null are no part of what a model knows of a function.
  EXPECT_THAT(
      request->chat().tools(),
      ElementsAre(
          R"({"type":"function","function":{"name":"look","parameters":)"
          R"({"type":"object","properties":{"z":{"type":"string"},)"
          R"("a":{"strict":1.5}}}}})"));
  EXPECT_TRUE(request->chat().answer_parts());
  EXPECT_EQ(request->chat().tool_choice(), v1::Chat::TOOL_CHOICE_UNSPECIFIED);
  EXPECT_TRUE(request->chat().has_parallel_tool_calls());
  EXPECT_FALSE(request->chat().parallel_tool_calls());
}

TEST_F(OpenAiChatTest, ChoicesOfToolsAreRead) {
  const json tools = {kFunction};
  const std::pair<const char*, v1::Chat::ToolChoice> names[] = {
      {"none", v1::Chat::TOOL_CHOICE_NONE},
      {"auto", v1::Chat::TOOL_CHOICE_AUTO},
      {"required", v1::Chat::TOOL_CHOICE_REQUIRED}};
  for (const auto& [name, choice] : names) {
    const v1::Chat chat = Chat({{"tools", tools}, {"tool_choice", name}});
    EXPECT_EQ(chat.tool_choice(), choice);
    EXPECT_FALSE(chat.has_tool_name());
  }
  const v1::Chat named =
      Chat({{"tools", tools},
            {"parallel_tool_calls", true},
            {"tool_choice",
             {{"type", "function"}, {"function", {{"name", "look"}}}}}});
  EXPECT_EQ(named.tool_choice(), v1::Chat::TOOL_CHOICE_REQUIRED);
  EXPECT_EQ(named.tool_name(), "look");
  // A named function is called once.
  EXPECT_TRUE(named.has_parallel_tool_calls());
  EXPECT_FALSE(named.parallel_tool_calls());
  // Without tools they ask for what is done anyway.
  const v1::Chat chat = Chat({{"tools", json::array()},
                              {"tool_choice", "none"},
                              {"parallel_tool_calls", true},
                              {"function_call", "none"}});
  EXPECT_TRUE(chat.tools().empty());
  EXPECT_EQ(chat.tool_choice(), v1::Chat::TOOL_CHOICE_UNSPECIFIED);
  EXPECT_FALSE(chat.has_parallel_tool_calls());
}

TEST_F(OpenAiChatTest, OnlyToolsThatAreAllowedAreOffered) {
  json walk = kFunction;
  walk["function"]["name"] = "walk";
  const json name = {{"type", "function"}, {"function", {{"name", "walk"}}}};
  const auto choice = [&](const char* mode) -> json {
    return {{"tools", {kFunction, walk}},
            {"tool_choice",
             {{"type", "allowed_tools"},
              {"allowed_tools", {{"mode", mode}, {"tools", {name}}}}}}};
  };
  const v1::Chat chat = Chat(choice("auto"));
  ASSERT_EQ(chat.tools_size(), 1);
  EXPECT_THAT(chat.tools(0), HasSubstr("walk"));
  EXPECT_EQ(chat.tool_choice(), v1::Chat::TOOL_CHOICE_UNSPECIFIED);
  EXPECT_EQ(Chat(choice("required")).tool_choice(),
            v1::Chat::TOOL_CHOICE_REQUIRED);
  // An error about the tool has its place in the request.
  EXPECT_EQ(Failure(InvalidField("chat.tools[0].function.parameters",
                                 "is bad"))["param"],
            "tools[1].function.parameters");
}

TEST_F(OpenAiChatTest, PartsOfMessagesAreTexts) {
  const auto chat = [this](const json& content) {
    return Chat({{"messages",
                  {{{"role", "user"}, {"content", "Hi"}},
                   {{"role", "assistant"}, {"content", content}}}}})
        .messages(1)
        .content();
  };
  EXPECT_EQ(chat(json::array({{{"type", "refusal"}, {"refusal", "No."}}})),
            "No.");
  const auto file = [](const char* data) -> json {
    return {{"type", "file"},
            {"file", {{"filename", "a.txt"}, {"file_data", data}}}};
  };
  const json question = {{"type", "text"}, {"text", "What is it?"}};
  EXPECT_EQ(chat(json::array(
                {file("data:text/plain;charset=utf-8;base64,SGk="), question})),
            "a.txt\n\nHi\n\nWhat is it?");
  EXPECT_EQ(chat(json::array({file("SGk=")})), "a.txt\n\nHi\n\n");

  const auto refused = [this](const json& part) {
    return Refused(
        {{"messages", {{{"role", "user"}, {"content", json::array({part})}}}}});
  };
  const std::string place = "messages[0].content[0].";
  EXPECT_EQ(refused({{"type", "image_url"}}), place + "type");
  EXPECT_EQ(refused(file("data:application/pdf;base64,SGk=")),
            place + "file.file_data");
  EXPECT_EQ(refused(file("data:text/plain,Hi")), place + "file.file_data");
  EXPECT_EQ(refused(file("*")), place + "file.file_data");
  EXPECT_EQ(refused(file("/w==")), place + "file.file_data");      // no UTF-8
  EXPECT_EQ(refused(file("JVBERi0=")), place + "file.file_data");  // a PDF
  EXPECT_EQ(refused({{"type", "file"}, {"file", {{"file_id", "f"}}}}),
            place + "file.file_id");
}

TEST_F(OpenAiChatTest, RefusesByName) {
  const json tools = {kFunction};
  const auto tool = [](const json& more) {
    json out = kFunction;
    out.merge_patch(more);
    return json{{"tools", {kFunction, out}}};
  };
  EXPECT_EQ(Refused(tool({{"type", "web_search"}}), "web_search"),
            "tools[1].type");
  EXPECT_EQ(Refused(tool({{"type", nullptr}})), "tools[1].type");
  EXPECT_EQ(Refused(tool({{"function", nullptr}})), "tools[1].function");
  EXPECT_EQ(Refused(tool({{"function", {{"name", ""}}}})),
            "tools[1].function.name");
  EXPECT_EQ(Refused(tool({{"function", {{"name", nullptr}}}})),
            "tools[1].function.name");
  EXPECT_EQ(Refused(tool({{"function", {{"parameters", "{}"}}}})),
            "tools[1].function.parameters");
  EXPECT_EQ(Refused(tool({{"function", {{"color", "red"}}}})),
            "tools[1].function.color");
  EXPECT_EQ(Refused({{"tools", "look"}}), "tools");
  EXPECT_EQ(Refused({{"tools", {"look"}}}), "tools[0]");
  EXPECT_EQ(Refused({{"functions", {kFunction["function"]}}}, "use tools"),
            "functions");
  EXPECT_EQ(Refused({{"function_call", "auto"}}, "use tools"), "function_call");
  EXPECT_EQ(Refused({{"tools", tools}, {"tool_choice", "any"}}, "'any'"),
            "tool_choice");
  EXPECT_EQ(Refused({{"tools", tools}, {"tool_choice", 1}}), "tool_choice");
  EXPECT_EQ(Refused({{"tools", tools},
                     {"tool_choice",
                      {{"type", "allowed_tools"},
                       {"allowed_tools", {{"mode", "auto"}}}}}}),
            "tool_choice.allowed_tools.tools");
  EXPECT_EQ(Refused({{"tools", tools},
                     {"tool_choice",
                      {{"type", "allowed_tools"},
                       {"allowed_tools",
                        {{"mode", "auto"},
                         {"tools",
                          {{{"type", "function"},
                            {"function", {{"name", "walk"}}}}}}}}}}},
                    "'walk'"),
            "tool_choice.allowed_tools.tools[0]");
  EXPECT_EQ(Refused({{"tools", tools}, {"tool_choice", {{"type", "custom"}}}},
                    "custom"),
            "tool_choice.type");
  EXPECT_EQ(
      Refused({{"tools", tools}, {"tool_choice", {{"type", "function"}}}}),
      "tool_choice.function");
  EXPECT_EQ(Refused({{"tools", tools},
                     {"tool_choice",
                      {{"type", "function"}, {"function", json::object()}}}}),
            "tool_choice.function.name");
  EXPECT_EQ(Refused({{"tool_choice", "required"}}), "tool_choice");
}

TEST_F(OpenAiChatTest, ReadsTheMessagesOfALoop) {
  const json calls = {
      {{"id", "call_1"},
       {"type", "function"},
       {"index", 0},
       {"function", {{"name", "look"}, {"arguments", R"({"x": "y"})"}}}}};
  const v1::Chat chat =
      Chat({{"messages",
             {{{"role", "user"}, {"content", "Hi"}},
              {{"role", "assistant"},
               {"content", nullptr},
               {"reasoning", "Hm."},
               {"tool_calls", calls},
               {"function_call", nullptr}},
              {{"role", "tool"},
               {"tool_call_id", "call_1"},
               {"content", {{{"type", "text"}, {"text", "seen"}}}}},
              {{"role", "assistant"},
               {"reasoning_content", "So."},
               {"reasoning", "So."}}}}});
  ASSERT_EQ(chat.messages_size(), 4);
  const v1::Chat::Message& call = chat.messages(1);
  EXPECT_FALSE(call.has_content());
  EXPECT_EQ(call.reasoning_content(), "Hm.");
  ASSERT_EQ(call.tool_calls_size(), 1);
  EXPECT_EQ(call.tool_calls(0).id(), "call_1");
  EXPECT_EQ(call.tool_calls(0).name(), "look");
  EXPECT_EQ(call.tool_calls(0).arguments(), R"({"x": "y"})");
  EXPECT_EQ(chat.messages(2).tool_call_id(), "call_1");
  EXPECT_EQ(chat.messages(2).content(), "seen");
  EXPECT_EQ(chat.messages(3).reasoning_content(), "So.");
  EXPECT_TRUE(chat.messages(3).has_content());

  const auto message = [](const json& more) {
    json one = {{"role", "assistant"}, {"content", "x"}};
    one.update(more);
    return json{{"messages", {one}}};
  };
  const auto with_call = [&](const json& more) {
    json one = calls[0];
    one.merge_patch(more);
    return message({{"tool_calls", {one}}});
  };
  EXPECT_EQ(Refused(with_call({{"function", {{"arguments", "[1]"}}}})),
            "messages[0].tool_calls[0].function.arguments");
  EXPECT_EQ(Refused(with_call({{"function", {{"name", ""}}}})),
            "messages[0].tool_calls[0].function.name");
  EXPECT_EQ(Refused(with_call({{"type", "custom"}})),
            "messages[0].tool_calls[0].type");
  EXPECT_EQ(
      Refused(message({{"function_call", {{"name", "look"}}}}), "use tools"),
      "messages[0].function_call");
  EXPECT_EQ(Refused(message({{"role", "function"}}), "use tools"),
            "messages[0].role");
  EXPECT_EQ(Refused(message({{"reasoning", "a"}, {"reasoning_content", "b"}})),
            "messages[0].reasoning");
}

TEST_F(OpenAiChatTest, EffortsSwitchWhatTheTemplateHas) {
  Serve("switch", "{{ messages }}{{ enable_thinking }}");
  Serve("deep", "{{ messages }}{{ thinking }}");
  Serve("graded", "{{ messages }}{{ reasoning_effort }}");
  Serve("both", "{{ messages }}{{ reasoning_effort }}{{ enable_thinking }}");
  // "name=value ..." of the template's variables.
  const auto variables = [&](const char* model, const json& more) {
    json all = {{"model", model}};
    all.update(more);
    std::set<std::string> texts;
    const v1::Chat chat = Chat(all);
    for (const auto& [name, value] : chat.variables().fields()) {
      texts.insert(name + "=" +
                   (value.has_bool_value()
                        ? (value.bool_value() ? "true" : "false")
                        : value.string_value()));
    }
    return absl::StrJoin(texts, " ");
  };
  EXPECT_EQ(variables("switch", {{"enable_thinking", false}}),
            "enable_thinking=false");
  EXPECT_EQ(variables("switch", {{"reasoning_effort", "none"}}),
            "enable_thinking=false");
  EXPECT_EQ(variables("switch", {{"reasoning_effort", "minimal"}}),
            "enable_thinking=false");
  EXPECT_EQ(variables("switch", {{"reasoning_effort", "low"}}),
            "enable_thinking=true");
  EXPECT_EQ(variables("deep", {{"reasoning_effort", "none"}}),
            "thinking=false");
  EXPECT_EQ(variables("graded", {{"reasoning_effort", "high"}}),
            "reasoning_effort=high");
  EXPECT_EQ(variables("graded", {{"reasoning_effort", "none"}}),
            "reasoning_effort=none");
  EXPECT_EQ(variables("both", {{"reasoning_effort", "high"}}),
            "enable_thinking=true reasoning_effort=high");
  EXPECT_EQ(variables("both", {{"reasoning_effort", "none"}}),
            "enable_thinking=false");
  // The same said twice.
  EXPECT_EQ(
      variables("switch", {{"reasoning_effort", "none"},
                           {"enable_thinking", false},
                           {"chat_template_kwargs",
                            {{"enable_thinking", false}, {"other", "x"}}}}),
      "enable_thinking=false other=x");

  EXPECT_EQ(Refused({{"reasoning_effort", "low"}}), "reasoning_effort");
  EXPECT_EQ(Refused({{"enable_thinking", true}}), "enable_thinking");
  EXPECT_EQ(Refused({{"model", "graded"}, {"reasoning_effort", "much"}}),
            "reasoning_effort");
  EXPECT_EQ(Refused({{"model", "switch"},
                     {"reasoning_effort", "high"},
                     {"chat_template_kwargs", {{"enable_thinking", false}}}}),
            "reasoning_effort");
  EXPECT_EQ(Refused({{"model", "switch"},
                     {"enable_thinking", true},
                     {"chat_template_kwargs", {{"enable_thinking", false}}}}),
            "enable_thinking");
}

TEST_F(OpenAiChatTest, MessagesHaveTheirParts) {
  const json choice =
      Choice({Thought("Hm"), Thought("."), Text("Let me"), Text(" see."),
              Call(0, "look", "", R"({"x")"), More(0, R"(: "y"})"),
              Call(1, "walk", "functions.walk:1", "{}")});
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  const json& message = choice["message"];
  EXPECT_EQ(message["role"], "assistant");
  EXPECT_EQ(message["content"], "Let me see.");
  EXPECT_EQ(message["reasoning_content"], "Hm.");
  ASSERT_EQ(message["tool_calls"].size(), 2u);
  const json& first = message["tool_calls"][0];
  EXPECT_EQ(first["type"], "function");
  EXPECT_EQ(first["function"],
            json({{"name", "look"}, {"arguments", R"({"x": "y"})"}}));
  const auto id = first["id"].get<std::string>();
  EXPECT_THAT(id, StartsWith("call_"));
  EXPECT_EQ(id.size(), 37u);
  EXPECT_EQ(message["tool_calls"][1]["id"], "functions.walk:1");
  EXPECT_FALSE(first.contains("index"));
}

TEST_F(OpenAiChatTest, WhatAnAnswerLacksIsLeftOut) {
  const json called = Choice({Call(0, "look", "", "{}")});
  EXPECT_TRUE(called["message"]["content"].is_null());
  EXPECT_FALSE(called["message"].contains("reasoning_content"));
  const json plain = Choice({Text("Hello.")});
  EXPECT_EQ(plain["message"], json({{"role", "assistant"},
                                    {"content", "Hello."},
                                    {"refusal", nullptr}}));
  EXPECT_EQ(plain["finish_reason"], "stop");
  EXPECT_EQ(Choice({Thought("Hm")})["message"]["content"], "");
  EXPECT_EQ(Choice({})["message"]["content"], "");
  // A call that is cut is no reason to make it.
  const json cut =
      Choice({Call(0, "look", "", R"({"x)")}, v1::FINISH_REASON_LENGTH);
  EXPECT_EQ(cut["finish_reason"], "length");
  EXPECT_EQ(cut["message"]["tool_calls"][0]["function"]["arguments"], R"({"x)");
}

TEST_F(OpenAiChatTest, IdsOfCallsDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 10; ++i) {
    const json choice =
        Choice({Call(0, "look", "", "{}"), Call(1, "look", "", "{}")});
    for (const json& call : choice["message"]["tool_calls"]) {
      ids.insert(call["id"]);
    }
  }
  EXPECT_EQ(ids.size(), 20u);
  // Those of the model, too.
  const json calls =
      Choice({Call(0, "look", "000000000", "{}"),
              Call(1, "look", "000000000", "{}")})["message"]["tool_calls"];
  EXPECT_EQ(calls[0]["id"], "000000000");
  EXPECT_NE(calls[1]["id"], "000000000");
}

TEST_F(OpenAiChatTest, JoinedDeltasAreTheWhole) {
  Piece mixed = Thought("Then");
  mixed.set_text("Yes.");
  AddCall(0, "look", "", R"({"x")", &mixed);
  AddCall(0, "", "", R"(: 1)", &mixed);
  Piece both = More(0, "}");
  AddCall(1, "walk", "w7", "{", &both);
  AddCall(1, "", "", "}", &both);
  Piece complete;
  complete.add_tool_calls()->set_index(1);
  complete.mutable_tool_calls(0)->set_complete(true);
  const std::vector<std::vector<Piece>> pieces = {
      {Thought("I "), Thought("think."), mixed, both, complete},
      {Text("No"), Text(" calls.")},
      {Call(0, "look", "", ""), More(0, "{"), More(0, "}")}};
  for (const v1::FinishReason reason :
       {v1::FINISH_REASON_END, v1::FINISH_REASON_LENGTH}) {
    json whole = Whole(pieces, reason)["choices"];
    auto joined = Joined(Chunks(pieces, reason), pieces.size());
    ASSERT_EQ(whole.size(), joined.size());
    std::set<std::string> ids;
    for (size_t i = 0; i < joined.size(); ++i) {
      auto& [message, why] = joined[i];
      EXPECT_EQ(why, whole[i]["finish_reason"]);
      json& expected = whole[i]["message"];
      // Members of a stream come only if there are some, and ids are drawn.
      expected.erase("refusal");
      if (expected["content"].is_null()) expected.erase("content");
      for (json* const one : {&message, &expected}) {
        if (!one->contains("tool_calls")) continue;
        for (json& call : (*one)["tool_calls"]) {
          if (call["id"] != "w7") ids.insert(call["id"]);
          call.erase("id");
          call.erase("index");
        }
      }
      EXPECT_EQ(message, expected);
    }
    EXPECT_EQ(ids.size(), 4u);
  }
}

TEST_F(OpenAiChatTest, DeltasOfCallsAreAsClientsExpectThem) {
  Piece complete;
  complete.add_tool_calls()->set_complete(true);
  const std::vector<json> chunks =
      Chunks({{Call(0, "look", "", ""), More(0, "{}"), complete}},
             v1::FINISH_REASON_END);
  // `complete` alone adds nothing.
  ASSERT_EQ(chunks.size(), 3u);
  json begin = chunks[0]["choices"][0]["delta"];
  EXPECT_EQ(begin["role"], "assistant");
  EXPECT_FALSE(begin.contains("content"));
  EXPECT_TRUE(begin["tool_calls"][0]["id"].is_string());
  begin["tool_calls"][0].erase("id");
  EXPECT_EQ(
      begin["tool_calls"],
      json::array({{{"index", 0},
                    {"type", "function"},
                    {"function", {{"name", "look"}, {"arguments", ""}}}}}));
  EXPECT_EQ(chunks[1]["choices"][0]["delta"],
            json({{"tool_calls",
                   json::array({{{"index", 0},
                                 {"function", {{"arguments", "{}"}}}}})}}));
  EXPECT_EQ(chunks[2]["choices"][0]["delta"], json::object());
  EXPECT_EQ(chunks[2]["choices"][0]["finish_reason"], "tool_calls");
}

TEST_F(OpenAiChatTest, ErrorsHaveTheNamesOfTheRequest) {
  ASSERT_TRUE(Read(json::object()).ok());
  const std::pair<const char*, const char*> names[] = {
      {"chat.tools[0]", "tools[0]"},
      {"chat.tool_choice", "tool_choice"},
      {"chat.tool_name", "tool_choice.function.name"},
      {"chat.parallel_tool_calls", "parallel_tool_calls"},
      {"chat.variables", "chat_template_kwargs"},
      {"chat.messages[1].tool_call_id", "messages[1].tool_call_id"}};
  for (const auto& [field, name] : names) {
    const json error = Failure(InvalidField(field, "is wrong"));
    EXPECT_EQ(error["param"], name);
    EXPECT_THAT(error["message"].get<std::string>(), StartsWith(name));
  }
}

TEST_F(OpenAiChatTest, TellsWhatStoppedATextAndMayKeepIt) {
  EXPECT_TRUE(
      Read({{"include_stop_str_in_output", true}})->decoding().keep_stop());
  EXPECT_FALSE(Read(json::object())->decoding().keep_stop());
  v1::GenerateResponse done;
  done.mutable_done()->set_finish_reason(v1::FINISH_REASON_STOP);
  const auto reason = [&](bool stream) {
    EXPECT_TRUE(Read({{"stream", stream}}).ok());
    if (!stream) {
      return json::parse(codec_->Finish({}, &done).body)["choices"][0];
    }
    const std::string event = codec_->Write(done);
    return json::parse(
        event.substr(std::string("data: ").size()))["choices"][0];
  };
  for (const bool stream : {false, true}) {
    done.mutable_done()->set_stop("END");
    EXPECT_EQ(reason(stream)["stop_reason"], "END");
    EXPECT_EQ(reason(stream)["finish_reason"], "stop");
    done.mutable_done()->set_stop_id(7);
    EXPECT_EQ(reason(stream)["stop_reason"], 7);
    done.mutable_done()->clear_stopped_by();
    EXPECT_FALSE(reason(stream).contains("stop_reason"));
  }
}

TEST_F(OpenAiChatTest, TellsTheUsageInEachChunk) {
  const json options = {{"include_usage", true},
                        {"continuous_usage_stats", true}};
  const auto request = Read({{"stream", true}, {"stream_options", options}});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(request->piece_usage());
  v1::GenerateResponse piece, done;
  *piece.mutable_piece() = Text("Hi");
  piece.mutable_piece()->mutable_usage()->set_prompt_tokens(5);
  piece.mutable_piece()->mutable_usage()->set_new_tokens(2);
  done.mutable_done()->set_source_token_count(5);
  done.mutable_done()->set_token_count(3);
  const auto usage = [](const std::string& event) {
    return json::parse(event.substr(std::string("data: ").size()))["usage"];
  };
  EXPECT_EQ(usage(codec_->Write(piece)), json({{"prompt_tokens", 5},
                                               {"completion_tokens", 2},
                                               {"total_tokens", 7}}));
  EXPECT_EQ(usage(codec_->Write(done))["total_tokens"], 8);

  const auto plain =
      Read({{"stream", true}, {"stream_options", {{"include_usage", true}}}});
  EXPECT_FALSE(plain->piece_usage());
  EXPECT_EQ(usage(codec_->Write(piece)), nullptr);
  EXPECT_EQ(Refused({{"stream", true},
                     {"stream_options", {{"continuous_usage_stats", true}}}}),
            "stream_options.continuous_usage_stats");
}

TEST_F(OpenAiChatTest, LogprobsOfThePromptAreObjectsOfIds) {
  EXPECT_FALSE(Read(json::object())->has_prompt_logprobs());
  EXPECT_EQ(Read({{"prompt_logprobs", 0}})->prompt_logprobs(), 0u);
  ASSERT_EQ(Read({{"prompt_logprobs", 1}})->prompt_logprobs(), 1u);
  // The puppet's tokens are bytes. The last of the prompt is none of the best.
  constexpr uint32_t kB = PuppetTokenizer::kFirst + 'b', kC = kB + 1;
  v1::GenerateResponse prompt, done;
  const auto add = [](uint32_t id, float logprob, v1::TokenLogprob* token) {
    token->set_id(id);
    token->set_logprob(logprob);
  };
  for (const uint32_t id : {kB, kC}) {
    auto* const token = prompt.mutable_prompt()->add_logprobs();
    add(id, id == kB ? -0.5f : -4, token->mutable_token());
    add(kB, -0.5f, token->add_alternatives());
  }
  done.mutable_done();
  codec_->Write(prompt);
  const json answer = json::parse(codec_->Finish({}, &done).body);
  const json b = {{"logprob", -0.5}, {"rank", 1}, {"decoded_token", "b"}};
  const json c = {{"logprob", -4}, {"rank", nullptr}, {"decoded_token", "c"}};
  const std::string b_id = std::to_string(kB), c_id = std::to_string(kC);
  EXPECT_EQ(answer["prompt_logprobs"],
            json({nullptr, {{b_id, b}}, {{c_id, c}, {b_id, b}}}));
  EXPECT_EQ(Refused({{"prompt_logprobs", 1}, {"stream", true}}),
            "prompt_logprobs");
  EXPECT_EQ(Refused({{"prompt_logprobs", -1}}), "prompt_logprobs");
}

}  // namespace
}  // namespace trivium
