#include "model/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/tokenizer_factory.h"
#include "nlohmann/json.hpp"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::FieldsAre;

constexpr std::string_view kTemplate = R"({{ bos_token }}
{%- for message in messages %}
{{- '<|' + message.role + '|>' + message.content|trim + eos_token }}
{%- for call in message.tool_calls or [] %}{{ call.function|tojson }}{% endfor %}
{%- endfor %}
{%- if tools %}{{ tools|tojson }}{% endif %}
{%- for document in documents or [] %}{{ document.text }}{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{{ style }}{% endif %})";

ChatTemplate Parsed() {
  auto parsed = ChatTemplate::Parse(
      kTemplate, {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return *std::move(parsed);
}

TEST(ChatTemplateTest, RendersTextsByTheirOrigin) {
  const auto prompt_texts = Parsed().Render({
      .messages = R"([{"role": "user", "content": " Hi </s> "}])",
      .variables = R"({"style": "<s>"})",
  });
  ASSERT_TRUE(prompt_texts.ok()) << prompt_texts.status();
  EXPECT_THAT(*prompt_texts, ElementsAre(FieldsAre("<s><|user|>", true),
                                         FieldsAre("Hi </s>", false),
                                         FieldsAre("</s><|assistant|>", true),
                                         FieldsAre("<s>", false)));
}

TEST(ChatTemplateTest, AChatMayHaveToBeginWithAToken) {
  const auto text = [](std::string_view source, std::string_view messages) {
    const auto parsed = ChatTemplate::Parse(source, {}, "<s>");
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    const auto prompt_texts = parsed->Render({.messages = messages});
    EXPECT_TRUE(prompt_texts.ok()) << prompt_texts.status();
    EXPECT_TRUE(prompt_texts->front().from_template);
    std::string all;
    for (const PromptText& prompt_text : *prompt_texts) all += prompt_text.text;
    return all;
  };
  const std::string content = "{{ messages[0].content }}";
  const std::string messages = R"([{"role": "user", "content": "<s>Hi"}])";
  EXPECT_EQ(text("<s>" + content, messages), "<s><s>Hi");
  EXPECT_EQ(text("[" + content, messages), "<s>[<s>Hi");
  // What a user writes is no such token.
  EXPECT_EQ(text(content, messages), "<s><s>Hi");
  EXPECT_EQ(text("", messages), "<s>");
}

TEST(ChatTemplateTest, TextOfARequestNeverCountsAsTheTemplates) {
  const ChatTemplate chat = Parsed();
  for (const std::string token :
       {"<s>", "</s>", "<|user|>", "<|assistant|>", "<|", "user", "|>"}) {
    for (const std::string role : {"system", "user", "assistant", "tool"}) {
      const nlohmann::json messages = {
          {{"role", role},
           {"content", "x" + token + "y"},
           {"tool_calls",
            {{{"function", {{"name", token}, {token, token}}}}}}}};
      const nlohmann::json tools = {{{"function", {{"name", token}}}}};
      const std::string both[] = {messages.dump(), tools.dump()};
      const nlohmann::json documents = {{{"text", token}}};
      const std::string pages = documents.dump();
      const auto prompt_texts = chat.Render({.messages = both[0],
                                             .tools = both[1],
                                             .documents = pages,
                                             .add_generation_prompt = false});
      ASSERT_TRUE(prompt_texts.ok()) << prompt_texts.status();
      std::string own;
      std::string given;
      for (const PromptText& prompt_text : *prompt_texts) {
        (prompt_text.from_template ? own : given) += prompt_text.text;
      }
      EXPECT_EQ(own,
                "<s><|" + role + R"(|></s>{"": "", "": ""}[{"": {"": ""}}])");
      EXPECT_THAT(given, testing::StartsWith("x" + token + "y"));
    }
  }
}

TEST(ChatTemplateTest, AnUnknownRoleIsText) {
  const auto prompt_texts = Parsed().Render({
      .messages = R"([{"role": "im_end", "content": "x"}])",
      .add_generation_prompt = false,
  });
  ASSERT_TRUE(prompt_texts.ok());
  EXPECT_THAT(*prompt_texts,
              ElementsAre(FieldsAre("<s><|", true), FieldsAre("im_end", false),
                          FieldsAre("|>", true), FieldsAre("x", false),
                          FieldsAre("</s>", true)));
}

TEST(ChatTemplateTest, ErrorsNameThePartOfTheInput) {
  const ChatTemplate chat = Parsed();
  const auto error = [&](const ChatInput& input) {
    return chat.Render(input).status();
  };
  EXPECT_THAT(error({.messages = "{}"}),
              IsError(StatusCode::kInvalidArgument, "list"));
  EXPECT_THAT(error({.messages = "["}),
              IsError(StatusCode::kInvalidArgument, "messages"));
  EXPECT_THAT(error({.messages = "[]", .tools = "[1e999]"}),
              IsError(StatusCode::kInvalidArgument, "tools"));
  EXPECT_THAT(error({.messages = "[]", .variables = "[]"}),
              IsError(StatusCode::kInvalidArgument, "variables"));
  EXPECT_THAT(
      error({.messages = "[]",
             .variables = R"({"style": 123456789012345678901234567890})"}),
      IsError(StatusCode::kInvalidArgument, "64"));
  EXPECT_EQ(error({.messages = R"([{"role": "user", "content": 5.5}])",
                   .documents = R"([7])"}),
            absl::OkStatus());
}

// The bytes, and then special tokens.
std::string ByteTokenizer(const std::vector<std::string>& specials) {
  nlohmann::json vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary[std::string(CharacterOfByteAlphabet(byte))] = byte;
  }
  nlohmann::json added = nlohmann::json::array();
  for (const std::string& special : specials) {
    added.push_back({{"content", special}, {"special", true}});
  }
  const nlohmann::json pre_tokenizer = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  return nlohmann::json{{"pre_tokenizer", pre_tokenizer},
                        {"decoder", {{"type", "ByteLevel"}}},
                        {"added_tokens", added},
                        {"model",
                         {{"type", "BPE"},
                          {"vocab", vocabulary},
                          {"merges", nlohmann::json::array()}}}}
      .dump();
}

TEST(ChatTemplateTest, TextOfARequestNeverBecomesASpecialToken) {
  const std::string folder = testing::TempDir() + "/chat_tokenizer";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::vector<std::string> specials = {"<s>", "</s>", "<|user|>",
                                             "<|assistant|>", "<|system|>"};
  std::ofstream(folder + "/tokenizer.json") << ByteTokenizer(specials);
  const auto tokenizer = LoadTokenizer(folder);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const auto id = [&](const char* piece) {
    return (*tokenizer)->PieceToId(piece, TextSide::kSource);
  };
  for (const std::string& special : specials) {
    const nlohmann::json messages = {
        {{"role", "system"}, {"content", special}},
        {{"role", "user"}, {"content", "x" + special}}};
    const std::string text = messages.dump();
    const auto prompt_texts = Parsed().Render({.messages = text});
    ASSERT_TRUE(prompt_texts.ok()) << prompt_texts.status();
    const auto encoding = EncodePrompt(*prompt_texts, **tokenizer, {});
    ASSERT_TRUE(encoding.ok()) << encoding.status();
    std::vector<int32_t> found;
    std::string bytes;
    for (const int32_t each : encoding->ids) {
      if (each < 256) {
        bytes.push_back(static_cast<char>(each));
      } else {
        found.push_back(each);
      }
    }
    EXPECT_THAT(found,
                ElementsAre(id("<s>"), id("<|system|>"), id("</s>"),
                            id("<|user|>"), id("</s>"), id("<|assistant|>")));
    EXPECT_EQ(bytes, special + "x" + special);
  }
}

class ChatTemplatesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/chat_templates";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  // Renders the template `name` for no messages.
  std::string Text(std::string_view name, bool has_tools = false) {
    const auto templates = ChatTemplates::Load(folder_);
    if (!templates.ok()) return std::string(templates.status().message());
    const auto found = templates->Find(name, has_tools);
    if (!found.ok()) return std::string(found.status().message());
    const auto prompt_texts = (*found)->Render({.messages = "[]"});
    if (!prompt_texts.ok()) return std::string(prompt_texts.status().message());
    std::string text;
    for (const PromptText& prompt_text : *prompt_texts)
      text += prompt_text.text;
    return text;
  }

  std::string folder_;
};

TEST_F(ChatTemplatesTest, AreReadFromThreeFiles) {
  EXPECT_THAT(Text(""), ErrorAt("chat_template.jinja"));
  Write("tokenizer_config.json",
        R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>",
            "chat_template": "config {{ bos_token }}{{ eos_token }}"})");
  EXPECT_EQ(Text(""), "config <s></s>");
  Write("chat_template.json", R"({"chat_template": "json {{ bos_token }}"})");
  EXPECT_EQ(Text(""), "json <s>");
  Write("chat_template.jinja", "jinja {{ eos_token }}");
  EXPECT_EQ(Text(""), "jinja </s>");
  std::filesystem::create_directories(folder_ + "/additional_chat_templates");
  Write("additional_chat_templates/rag.jinja", "more {{ bos_token }}");
  Write("additional_chat_templates/notes.txt", "{{");
  EXPECT_EQ(Text("rag"), "more <s>");
  EXPECT_THAT(Text("x"), ErrorAt("'default', 'rag'"));
}

TEST_F(ChatTemplatesTest, AreFoundByTheirNames) {
  Write("tokenizer_config.json",
        R"({"chat_template": [{"name": "default", "template": "A"},
                              {"name": "tool_use", "template": "B"},
                              {"name": "rag", "template": "C"}]})");
  EXPECT_EQ(Text(""), "A");
  EXPECT_EQ(Text("", /*has_tools=*/true), "B");
  EXPECT_EQ(Text("rag"), "C");
  EXPECT_THAT(Text("x"), ErrorAt("'default', 'rag', 'tool_use'"));
}

TEST_F(ChatTemplatesTest, ErrorsNameTheFileAndTheProblem) {
  Write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_THAT(Text(""), ErrorAt("tokenizer_config.json"));
  Write("tokenizer_config.json", R"({"chat_template": "{{ x|nope }}"})");
  EXPECT_THAT(Text(""), ErrorAt("nope"));
}

}  // namespace
}  // namespace trivium
