// Tests chats with a real server and a tiny Qwen 3 with a chat template. Its
// prompts and answers must be those of jinja2 and Transformers
// (chats/make_chats.py).
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/chat_folder.h"
#include "tests/integration/folder_server.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void SetText(const ordered_json& in, const char* key, auto set) {
  if (in.contains(key)) set(in.at(key).get<std::string>());
}

v1::Chat::Message MessageOf(const ordered_json& in) {
  v1::Chat::Message out;
  SetText(in, "role", [&](const std::string& text) { out.set_role(text); });
  SetText(in, "content",
          [&](const std::string& text) { out.set_content(text); });
  SetText(in, "reasoning_content",
          [&](const std::string& text) { out.set_reasoning_content(text); });
  SetText(in, "tool_call_id",
          [&](const std::string& text) { out.set_tool_call_id(text); });
  if (!in.contains("tool_calls")) return out;
  for (const ordered_json& call : in.at("tool_calls")) {
    v1::Chat::ToolCall* one = out.add_tool_calls();
    one->set_id(call.at("id").get<std::string>());
    one->set_name(call.at("function").at("name").get<std::string>());
    one->set_arguments(call.at("function").at("arguments").dump());
  }
  return out;
}

v1::Chat ChatOf(const ordered_json& in) {
  v1::Chat chat;
  for (const ordered_json& message : in.at("messages")) {
    *chat.add_messages() = MessageOf(message);
  }
  if (in.contains("tools")) {
    for (const ordered_json& tool : in.at("tools")) {
      chat.add_tools(tool.dump());
    }
  }
  if (in.contains("variables")) {
    for (const auto& [name, value] : in.at("variables").items()) {
      google::protobuf::Value& place =
          (*chat.mutable_variables()->mutable_fields())[name];
      if (value.is_boolean()) {
        place.set_bool_value(value.get<bool>());
      } else {
        place.set_string_value(value.get<std::string>());
      }
    }
  }
  if (in.contains("add_generation_prompt")) {
    chat.set_add_generation_prompt(in.at("add_generation_prompt").get<bool>());
  }
  if (in.contains("continue_final_message")) {
    chat.set_continue_final_message(
        in.at("continue_final_message").get<bool>());
  }
  return chat;
}

class ChatsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new FolderServer("chats_test", [](const fs::path& folder) {
      MakeChatFolder(folder / "chat");
      // A model whose template uses a feature that we lack. It serves prompts
      // only.
      MakeChatFolder(folder / "odd");
      std::ofstream(folder / "odd" / "chat_template.jinja")
          << "{{ messages | sing }}";
      return std::vector<std::string>{"--precision", "f32",
                                      "--model",     (folder / "chat").string(),
                                      "--model",     (folder / "odd").string()};
    });
  }
  static void TearDownTestSuite() { delete server_; }

  WholeAnswer Generate(const v1::GenerateRequest& request) {
    return GenerateWhole(*client_, request);
  }

  static FolderServer* server_;
  const std::unique_ptr<Client> client_ = (*server_)->NewClient();
};

FolderServer* ChatsTest::server_ = nullptr;

TEST_F(ChatsTest, AnswersLikeTransformers) {
  std::ifstream file(std::string(kChats) + "/chats.json");
  const ordered_json chats = ordered_json::parse(file);
  EXPECT_GE(chats.size(), 14u);
  for (const ordered_json& chat : chats) {
    v1::GenerateRequest request;
    request.set_model("chat");
    request.set_tokens(true);
    *request.mutable_chat() = ChatOf(chat);
    auto& variables = *request.mutable_chat()->mutable_variables();
    if (variables.fields().contains("x")) {
      // The template never reads it. Transformers ignores it.
      EXPECT_TRUE(absl::IsInvalidArgument(Generate(request).status));
      variables.mutable_fields()->erase("x");
    }
    const auto expected = chat.at("answer_ids").get<std::vector<uint32_t>>();
    request.mutable_decoding()->set_max_new_tokens(expected.size());
    request.mutable_decoding()->set_min_new_tokens(expected.size());
    const WholeAnswer answer = Generate(request);
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    EXPECT_EQ(answer.ids, expected) << chat;
    EXPECT_EQ(answer.done.usage().prompt_tokens(), chat.at("ids").size());
    EXPECT_EQ(answer.done.usage().new_tokens(), expected.size());
    // The same prompt as ids.
    request.clear_chat();
    for (const uint32_t id : chat.at("ids")) {
      request.mutable_input()->mutable_ids()->add_ids(id);
    }
    const WholeAnswer same = Generate(request);
    EXPECT_EQ(same.ids, expected);
    EXPECT_EQ(same.text, answer.text);
    EXPECT_EQ(same.done.score(), answer.done.score());
  }
}

TEST_F(ChatsTest, ReportsTheTemplatesRefusal) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  v1::GenerateRequest request;
  request.set_model("chat");
  v1::Chat::Message* message = request.mutable_chat()->add_messages();
  message->set_role("assistant");
  message->set_content("x");
  // The template's own words.
  EXPECT_THAT(Generate(request).status,
              IsError(kInvalid, "A conversation begins with a user"));
  message->set_role("boss");
  EXPECT_THAT(Generate(request).status, IsError(kInvalid, "boss"));
  message->set_role("user");
  message->set_content(std::string(3000, 'x'));
  EXPECT_THAT(Generate(request).status, IsError(kInvalid, "messages"));
}

TEST_F(ChatsTest, ListsTheTemplatesOfModels) {
  const auto chat = client_->GetModel("chat");
  ASSERT_TRUE(chat.ok()) << chat.status();
  EXPECT_THAT(chat->chat_templates(), ElementsAre("default"));
  EXPECT_EQ(chat->chat_refusal(), "");
  const auto odd = client_->GetModel("odd");
  ASSERT_TRUE(odd.ok()) << odd.status();
  EXPECT_THAT(odd->chat_templates(), ElementsAre());
  EXPECT_THAT(odd->chat_refusal(),
              testing::AllOf(ErrorAt("chat_template.jinja"), ErrorAt("sing")));
  v1::GenerateRequest request;
  request.set_model("odd");
  v1::Chat::Message* message = request.mutable_chat()->add_messages();
  message->set_role("user");
  message->set_content("x");
  EXPECT_THAT(Generate(request).status,
              IsError(absl::StatusCode::kFailedPrecondition, "sing"));
  request.clear_chat();
  request.mutable_input()->set_text("x");
  request.mutable_decoding()->set_max_new_tokens(1);
  EXPECT_TRUE(Generate(request).status.ok());
  const ProcessResult check =
      RunProgram({TRIVIUM_SERVER_PROGRAM, "--check",
                  (server_->folder() / "odd").string()});
  EXPECT_EQ(check.exit_code, 0);
  EXPECT_THAT(check.out, AllOf(StartsWith("warning: "), HasSubstr("sing")));
}

TEST_F(ChatsTest, TalksWithTheProgram) {
  const ProcessResult run =
      RunProgram({TRIVIUM_PROGRAM, "chat", "--address", (*server_)->address(),
                  "--model", "chat", "--max-new-tokens", "5", "--temperature",
                  "0", "--variable", "enable_thinking=false"},
                 "Hi\n/retry\n");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const size_t end = run.out.find('\n');
  EXPECT_EQ(run.out.substr(0, end + 1), run.out.substr(end + 1));
  EXPECT_GT(end, 1u);
}

}  // namespace
}  // namespace trivium
