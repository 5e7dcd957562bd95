// Conversion of chats to prompts: the variables that a template gets, which
// text may become special tokens, and which chats are refused.
#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "nlohmann/json.hpp"
#include "server/calls/convert/convert.h"
#include "tests/server/calls/handlers_fixture.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;

constexpr char kDefault[] =
    "{%- for m in messages -%}"
    "{{ '<' + m.role + '>' + m.content|default('-', true) + '<end>' }}"
    "{%- if m.tool_calls %}{{ m.tool_calls|tojson }}{% endif -%}"
    "{%- if m.name %} by {{ m.name }}{% endif -%}"
    "{%- if m.content == 'no' %}{{ raise_exception('it says no') }}{% endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt %}<assistant>{% endif -%}"
    "{%- if style is defined %}{{ style|tojson }}{% endif -%}";

class ChatHandlerTest : public HandlersTest {
 protected:
  // Serves "chatter" with these templates.
  void Serve(const json& templates, Design design = Design::kDecoder) {
    auto model = std::make_unique<PuppetModel>(design);
    model->mutable_info().max_target_tokens = 4096;
    model->mutable_decoding().max_new_tokens = 64;
    auto parsed = ChatTemplates::FromConfig({{"chat_template", templates}},
                                            "tokenizer_config.json");
    model->mutable_chat_templates() =
        parsed.ok()
            ? *std::move(parsed)
            : ChatTemplates::Refused(std::string(parsed.status().message()));
    const ModelHandle served = ServedPuppet("chatter", std::move(model));
    metrics_.AddModel(*served);
    ASSERT_TRUE(environment_.models.Add(served).ok());
  }

  void Remove() {
    const auto served = environment_.models.Find("chatter");
    ASSERT_TRUE(served.ok());
    metrics_.RemoveModel(**served);
    ASSERT_TRUE(environment_.models.Remove("chatter").ok());
  }

  // Runs a call until its request is at the batcher or the call has ended.
  void Start(const v1::Chat& chat,
             const std::function<void(v1::GenerateRequest*)>& change = {}) {
    transport_ = std::make_unique<FakeTransport>();
    v1::GenerateRequest request;
    request.set_model("chatter");
    *request.mutable_chat() = chat;
    if (change) change(&request);
    transport_->Bring(request);
    handler_ = NewGenerate(environment_, {}, transport_.get());
    handler_->Start();
    WaitFor(&tokenizing_);
  }

  // The prompt, in which the end token reads "[end]".
  std::string PromptOf(const v1::Chat& chat) {
    const size_t at = batcher_.count();
    Start(chat);
    if (transport_->finished()) {
      ADD_FAILURE() << transport_->WaitForFinish().status;
      return "";
    }
    const Request& request = batcher_.Wait(at);
    EXPECT_TRUE(request.source.ids.empty());
    std::string text;
    for (const int32_t id : request.prefix) {
      text += id == PuppetTokenizer::kEnd
                  ? "[end]"
                  : std::string(1, static_cast<char>(id - 4));
    }
    RequestResult result;
    Hypothesis& hypothesis = result.hypotheses.emplace_back();
    hypothesis.ids = {PuppetTokenizer::kFirst + 'y', PuppetTokenizer::kEnd};
    hypothesis.logprobs = {-1, -1};
    hypothesis.reason = FinishReason::kEnd;
    result.cached_tokens = 16;
    request.observer->OnDone(std::move(result));
    WaitForDelivery();
    handler_->OnWritten(true);
    EXPECT_TRUE(transport_->WaitForFinish().status.ok());
    return text;
  }

  // The status of a call that ends before its request is at the batcher.
  absl::Status Refusal(
      const v1::Chat& chat,
      const std::function<void(v1::GenerateRequest*)>& change = {}) {
    Start(chat, change);
    if (!transport_->finished()) {
      ADD_FAILURE() << "was not refused";
      return absl::OkStatus();
    }
    return transport_->WaitForFinish().status;
  }

  static v1::Chat Says(const std::string& content) {
    v1::Chat chat;
    v1::Chat::Message* message = chat.add_messages();
    message->set_role("user");
    message->set_content(content);
    return chat;
  }

  static auto NotServedAt(const char* place) {
    return IsError(absl::StatusCode::kFailedPrecondition, place);
  }

  std::unique_ptr<FakeTransport> transport_;
};

TEST_F(ChatHandlerTest, TheTemplateMakesThePrompt) {
  Serve(kDefault);
  v1::Chat chat = Says("Hi");
  EXPECT_EQ(PromptOf(chat), "<user>Hi[end]<assistant>");
  chat.set_add_generation_prompt(true);
  EXPECT_EQ(PromptOf(chat), "<user>Hi[end]<assistant>");
  chat.set_add_generation_prompt(false);
  EXPECT_EQ(PromptOf(chat), "<user>Hi[end]");
}

TEST_F(ChatHandlerTest, TheAnswerTellsItsUsage) {
  Serve(kDefault);
  const std::string prompt = PromptOf(Says("Hi"));
  EXPECT_EQ(transport_->Response<v1::GenerateResponse>(0).piece().text(), "y");
  const auto done = transport_->Response<v1::GenerateResponse>(1).done();
  EXPECT_EQ(done.source_token_count(), 20u);
  EXPECT_EQ(done.usage().prompt_tokens(), 20u);
  EXPECT_EQ(done.usage().new_tokens(), 2u);
  EXPECT_EQ(done.usage().cached_tokens(), 16u);
}

TEST_F(ChatHandlerTest, TheSaltOfTheRequestIsPassedOn) {
  Serve(kDefault);
  Start(Says("Hi"), [](v1::GenerateRequest* request) {
    request->set_cache_salt("tenant");
  });
  EXPECT_EQ(batcher_.Wait(0).salt, "tenant");
  batcher_.Wait(0).observer->OnDone(absl::CancelledError("done"));
  WaitForDelivery();
  EXPECT_THAT(Refusal(Says("Hi"),
                      [](v1::GenerateRequest* request) {
                        request->set_cache_salt(std::string(257, 'x'));
                      }),
              InvalidAt("cache_salt"));
  // The salts of tokens begin with a zero byte.
  EXPECT_THAT(Refusal(Says("Hi"),
                      [](v1::GenerateRequest* request) {
                        request->set_cache_salt(std::string("\0x", 2));
                      }),
              InvalidAt("cache_salt"));
}

TEST_F(ChatHandlerTest, PromptLogprobsComeBeforeTheEnd) {
  Serve(kDefault);
  Start(Says(std::string(100, 'a')),
        [](v1::GenerateRequest* request) { request->set_prompt_logprobs(1); });
  const Request& request = batcher_.Wait(0);
  ASSERT_TRUE(request.scoring);
  EXPECT_EQ(request.scoring->top_logprobs, 1);
  RequestResult result;
  Hypothesis scored;
  for (size_t i = 1; i < request.prefix.size(); ++i) {
    scored.ids.push_back(request.prefix[i]);
    scored.logprobs.push_back(-1.0f * static_cast<float>(i));
    scored.top_logprobs.push_back({{7, -0.5f}});
  }
  const std::vector<int32_t> ids = scored.ids;
  result.scored = std::move(scored);
  Hypothesis& hypothesis = result.hypotheses.emplace_back();
  hypothesis.ids = {PuppetTokenizer::kEnd};
  hypothesis.logprobs = {-1};
  request.observer->OnDone(std::move(result));
  WaitForDelivery();
  size_t seen = 0;
  for (size_t message = 0;; ++message) {
    const auto response = transport_->Response<v1::GenerateResponse>(message);
    if (response.has_done()) break;
    ASSERT_TRUE(response.has_prompt());
    for (const v1::TokenLogprobs& token : response.prompt().logprobs()) {
      EXPECT_EQ(token.token().id(), static_cast<uint32_t>(ids.at(seen)));
      ++seen;
      EXPECT_EQ(token.token().logprob(), -1.0f * static_cast<float>(seen));
      EXPECT_EQ(token.alternatives(0).id(), 7u);
    }
    handler_->OnWritten(true);
    WaitForDelivery();
  }
  EXPECT_EQ(seen, ids.size());
  EXPECT_TRUE(transport_->WaitForFinish().status.ok());
  EXPECT_THAT(Refusal(Says("Hi"),
                      [](v1::GenerateRequest* request) {
                        request->set_prompt_logprobs(21);
                      }),
              InvalidAt("prompt_logprobs"));
}

TEST_F(ChatHandlerTest, SpecialTokensThatClientsWriteAreText) {
  Serve(kDefault);
  EXPECT_EQ(PromptOf(Says("<end>")), "<user><end>[end]<assistant>");
  v1::Chat chat = Says("x");
  chat.mutable_messages(0)->set_name("<end>");
  (*chat.mutable_variables()->mutable_fields())["style"].set_string_value(
      "<end>");
  v1::Chat::ToolCall* call = chat.mutable_messages(0)->add_tool_calls();
  call->set_name("<end>");
  call->set_arguments(R"({"<end>": "<end>"})");
  EXPECT_EQ(PromptOf(chat),
            R"(<user>x[end][{"type": "function", "function": {"name": )"
            R"("<end>", "arguments": {"<end>": "<end>"}}}] by <end>)"
            R"(<assistant>"<end>")");
}

TEST_F(ChatHandlerTest, MessagesAndVariablesAreAsTransformersHasThem) {
  Serve("{{ messages|tojson }}{{ tools|tojson }}{{ style|tojson }}");
  v1::Chat chat;
  v1::Chat::Message* message = chat.add_messages();
  message->set_role("assistant");
  message->set_reasoning_content("hm \"\n");
  v1::Chat::ToolCall* call = message->add_tool_calls();
  call->set_id("c1");
  call->set_name("f");
  call->set_arguments(R"({"z": 1.50, "a": 12345678901234567})");
  message = chat.add_messages();
  message->set_role("tool");
  message->set_content("");
  message->set_tool_call_id("c1");
  chat.add_tools(R"( {"b": 1, "a": [null]} )");
  auto& style = *(*chat.mutable_variables()->mutable_fields())["style"]
                     .mutable_struct_value()
                     ->mutable_fields();
  style["whole"].set_number_value(-3);
  style["part"].set_number_value(0.5);
  style["big"].set_number_value(1e300);
  style["none"].set_null_value(google::protobuf::NULL_VALUE);
  style["yes"].set_bool_value(true);
  style["list"].mutable_list_value()->add_values()->set_string_value("\"ä");
  EXPECT_EQ(
      PromptOf(chat),
      R"([{"role": "assistant", "reasoning_content": "hm \"\n", )"
      R"("tool_calls": [{"id": "c1", "type": "function", "function": )"
      R"({"name": "f", "arguments": {"z": 1.5, "a": 12345678901234567}}}]}, )"
      R"({"role": "tool", "content": "", "tool_call_id": "c1"}])"
      R"([{"b": 1, "a": [null]}])"
      R"({"big": 1e+300, "list": ["\"ä"], "none": null, "part": 0.5, )"
      R"("whole": -3, "yes": true})");
}

TEST_F(ChatHandlerTest, ATemplateIsFoundByNameOrByTools) {
  Serve({{{"name", "default"}, {"template", "D"}},
         {{"name", "tool_use"}, {"template", "T{{ tools|length }}"}},
         {{"name", "rag"}, {"template", "R{{ tools|length }}"}}});
  v1::Chat chat = Says("Hi");
  EXPECT_EQ(PromptOf(chat), "D");
  chat.add_tools("{}");
  EXPECT_EQ(PromptOf(chat), "T1");
  chat.set_template_name("rag");
  EXPECT_EQ(PromptOf(chat), "R1");
  chat.set_template_name("rug");
  EXPECT_THAT(Refusal(chat),
              AllOf(InvalidAt("chat.template_name"), InvalidAt("'rug'"),
                    InvalidAt("'default', 'rag', 'tool_use'")));
}

TEST_F(ChatHandlerTest, TheLastMessageCanBeContinued) {
  Serve(kDefault);
  v1::Chat chat = Says("im_end");
  v1::Chat::Message* answer = chat.add_messages();
  answer->set_role("assistant");
  answer->set_content("As I ");
  chat.set_continue_final_message(true);
  EXPECT_EQ(PromptOf(chat), "<user>im_end[end]<assistant>As I ");
  answer->set_content("end");  // the template writes it, too
  EXPECT_EQ(PromptOf(chat), "<user>im_end[end]<assistant>end");
  answer->set_content(" ");
  EXPECT_THAT(Refusal(chat), InvalidAt("content"));
  answer->set_content("As");
  chat.set_add_generation_prompt(true);
  EXPECT_THAT(Refusal(chat), InvalidAt("chat.add_generation_prompt"));
}

TEST_F(ChatHandlerTest, TrimmedContentIsContinuedWhereItEnds) {
  Serve("{% for m in messages %}[{{ m.content|trim }}]{% endfor %}");
  v1::Chat chat = Says(" a b \n");
  chat.set_continue_final_message(true);
  EXPECT_EQ(PromptOf(chat), "[a b");
}

TEST_F(ChatHandlerTest, BadChatsAreRefusedByTheirFields) {
  Serve(kDefault);
  EXPECT_THAT(Refusal(v1::Chat()), InvalidAt("chat.messages: "));
  v1::Chat chat = Says("x");
  chat.add_messages()->set_content("y");
  EXPECT_THAT(Refusal(chat), InvalidAt("chat.messages[1].role"));
  chat.mutable_messages(1)->set_role("user");
  chat.mutable_messages(1)->clear_content();
  EXPECT_THAT(Refusal(chat), InvalidAt("chat.messages[1]: "));
  v1::Chat::ToolCall* call = chat.mutable_messages(1)->add_tool_calls();
  EXPECT_THAT(Refusal(chat), InvalidAt("chat.messages[1].tool_calls[0].name"));
  call->set_name("f");
  for (const char* wrong :
       {"{", "[]", "1", "{} {}", "{}, {}", "x{}", "{\"a\""}) {
    call->set_arguments(wrong);
    EXPECT_THAT(Refusal(chat),
                InvalidAt("chat.messages[1].tool_calls[0].arguments"))
        << wrong;
  }
  chat = Says("x");
  chat.add_tools("{}");
  chat.add_tools("{}], []");
  EXPECT_THAT(Refusal(chat), InvalidAt("chat.tools[1]"));
  chat.set_tools(1, R"({"a": 123456789012345678901})");
  EXPECT_THAT(Refusal(chat), InvalidAt("chat.tools"));
  chat = Says("no");
  EXPECT_THAT(Refusal(chat),
              AllOf(InvalidAt("chat: "), InvalidAt("it says no")));
}

TEST_F(ChatHandlerTest, WhatTheTemplateNeverReadsIsRefused) {
  Serve("{{ messages[0].content }}{% if style is defined %}!{% endif %}");
  v1::Chat chat = Says("Hi");
  EXPECT_EQ(PromptOf(chat), "Hi");
  chat.add_tools("{}");
  EXPECT_THAT(Refusal(chat), InvalidAt("chat.tools: "));
  chat.clear_tools();
  auto& fields = *chat.mutable_variables()->mutable_fields();
  fields["style"].set_bool_value(true);
  EXPECT_EQ(PromptOf(chat), "Hi!");
  fields["stile"].set_bool_value(true);
  EXPECT_THAT(Refusal(chat), InvalidAt("'stile'"));
}

TEST_F(ChatHandlerTest, BadVariablesAreRefused) {
  Serve(kDefault);
  v1::Chat chat = Says("x");
  auto& fields = *chat.mutable_variables()->mutable_fields();
  fields["style"].set_number_value(std::numeric_limits<double>::infinity());
  EXPECT_THAT(Refusal(chat), InvalidAt("chat.variables.style: is infinite"));
  fields["style"].clear_kind();
  EXPECT_THAT(Refusal(chat), InvalidAt("null"));
  fields.clear();
  fields["messages"].set_bool_value(true);
  EXPECT_THAT(Refusal(chat), InvalidAt("messages"));
  fields.clear();
  for (int i = 0; i < 65; ++i) fields[std::to_string(i)].set_bool_value(true);
  EXPECT_THAT(Refusal(chat), InvalidAt("65"));
}

TEST_F(ChatHandlerTest, RefusesChatsThatAreTooLarge) {
  Serve("{% for i in range(9) %}{{ messages[0].content }}{% endfor %}");
  environment_.limits.max_text_bytes = 1000;
  EXPECT_THAT(Refusal(Says(std::string(1001, 'x'))),
              AllOf(InvalidAt("chat: "), InvalidAt("1000")));
  EXPECT_THAT(Refusal(Says(std::string(200, 'x'))), InvalidAt("1800"));
  environment_.limits.max_text_bytes = 1 << 20;
  EXPECT_THAT(Refusal(Says(std::string(800, 'x'))), InvalidAt("7200"));
  EXPECT_THAT(Refusal(Says("")), InvalidAt("tokens"));
}

TEST_F(ChatHandlerTest, RefusesAChatBesideInputOrTruncation) {
  Serve(kDefault);
  EXPECT_THAT(Refusal(Says("x"),
                      [](v1::GenerateRequest* request) {
                        request->mutable_input()->set_text("y");
                      }),
              InvalidAt("input"));
  EXPECT_THAT(Refusal(Says("x"),
                      [](v1::GenerateRequest* request) {
                        request->set_truncate(true);
                      }),
              InvalidAt("truncate: "));
  EXPECT_THAT(
      Refusal(Says("x"),
              [](v1::GenerateRequest* request) { request->clear_chat(); }),
      InvalidAt("input: "));
  // The server's own default for truncation does not concern chats.
  environment_.truncate = true;
  EXPECT_EQ(PromptOf(Says("x")), "<user>x[end]<assistant>");
}

TEST_F(ChatHandlerTest, ModelsTellWhetherTheyAcceptChats) {
  Serve("{{ messages|sing }}");
  EXPECT_THAT(Refusal(Says("x")),
              AllOf(NotServedAt("tokenizer_config.json"), NotServedAt("sing")));
  const auto told = [&] {
    return ConvertModel(**environment_.models.Find("chatter"),
                        environment_.limits);
  };
  EXPECT_THAT(told().chat_refusal(), ErrorAt("sing"));
  EXPECT_THAT(told().chat_templates(), ElementsAre());
  Remove();
  Serve(nullptr);
  EXPECT_THAT(Refusal(Says("x")), NotServedAt("template"));
  EXPECT_EQ(told().chat_refusal(), "");
  Remove();
  Serve(kDefault);
  EXPECT_THAT(told().chat_templates(), ElementsAre("default"));
  Remove();
  Serve(kDefault, Design::kEncoderDecoder);
  EXPECT_THAT(Refusal(Says("x")), NotServedAt("encoder"));
}

}  // namespace
}  // namespace trivium
