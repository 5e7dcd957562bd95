#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "client/commands/command.h"
#include "client/commands/conversation.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake_server.h"
#include "tests/client/run_command.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Said(const v1::Chat& chat) {
  std::vector<std::string> said;
  for (const v1::Chat::Message& message : chat.messages()) {
    said.push_back(message.role() + ": " + message.content());
  }
  return said;
}

v1::Chat::Message Answer(const char* text) {
  v1::Chat::Message answer;
  answer.set_content(text);
  return answer;
}

TEST(ConversationTest, KeepsAllMessages) {
  Conversation conversation({}, "be brief");
  EXPECT_EQ(conversation.Read("")->next, Conversation::kGoOn);
  EXPECT_EQ(conversation.Read("Hi")->next, Conversation::kAnswer);
  conversation.Answered(Answer("Hello"));
  EXPECT_EQ(conversation.Read("//etc/hosts?")->next, Conversation::kAnswer);
  EXPECT_THAT(Said(conversation.chat()),
              ElementsAre("system: be brief", "user: Hi", "assistant: Hello",
                          "user: /etc/hosts?"));
  conversation.Answered(Answer("a file"));
  EXPECT_EQ(conversation.Read("/clear")->next, Conversation::kGoOn);
  EXPECT_THAT(Said(conversation.chat()), ElementsAre("system: be brief"));
  EXPECT_EQ(conversation.Read("/system  be long")->next, Conversation::kGoOn);
  EXPECT_THAT(Said(conversation.chat()), ElementsAre("system: be long"));
  EXPECT_EQ(conversation.Read("/system")->next, Conversation::kGoOn);
  EXPECT_THAT(Said(conversation.chat()), ElementsAre());
  EXPECT_EQ(conversation.Read("/clear")->next, Conversation::kGoOn);
  EXPECT_EQ(conversation.Read("/quit")->next, Conversation::kQuit);
}

TEST(ConversationTest, RetriesAnsweredAndFailedMessages) {
  Conversation conversation({}, "");
  EXPECT_EQ(conversation.Read("/retry").status().code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(conversation.Read("Hi").ok());
  conversation.Answered(Answer("Hello"));
  EXPECT_EQ(conversation.Read("/retry")->next, Conversation::kAnswer);
  EXPECT_THAT(Said(conversation.chat()), ElementsAre("user: Hi"));
  conversation.Unanswered();
  EXPECT_THAT(Said(conversation.chat()), ElementsAre());
  EXPECT_EQ(conversation.Read("/retry")->next, Conversation::kAnswer);
  EXPECT_THAT(Said(conversation.chat()), ElementsAre("user: Hi"));
}

TEST(ConversationTest, CallsWaitForTheirResults) {
  Conversation conversation({}, "");
  EXPECT_THAT(conversation.Read("/result 7"),
              IsError(absl::StatusCode::kInvalidArgument, "tool call"));
  ASSERT_TRUE(conversation.Read("How warm?").ok());
  v1::Chat::Message calls;
  calls.add_tool_calls()->set_name("weather");
  v1::Chat::ToolCall& second = *calls.add_tool_calls();
  second.set_name("time");
  second.set_id("c2");
  conversation.Answered(calls);
  EXPECT_THAT(conversation.Read("Well?"),
              IsError(absl::StatusCode::kInvalidArgument, "weather"));
  const auto turn = conversation.Read("/result 7 degrees");
  EXPECT_EQ(turn->next, Conversation::kGoOn);
  EXPECT_THAT(turn->note, HasSubstr("time"));
  EXPECT_EQ(conversation.Read("/result noon")->next, Conversation::kAnswer);
  EXPECT_THAT(Said(conversation.chat()),
              ElementsAre("user: How warm?", "assistant: ", "tool: 7 degrees",
                          "tool: noon"));
  EXPECT_EQ(conversation.chat().messages(2).name(), "weather");
  EXPECT_FALSE(conversation.chat().messages(2).has_tool_call_id());
  EXPECT_EQ(conversation.chat().messages(3).tool_call_id(), "c2");
  // A result that got no answer may be sent again.
  conversation.Unanswered();
  EXPECT_EQ(conversation.Read("/retry")->next, Conversation::kAnswer);
  EXPECT_THAT(Said(conversation.chat()).back(), "tool: noon");
  conversation.Answered(Answer("7 degrees at noon"));
  EXPECT_EQ(conversation.Read("Thanks")->next, Conversation::kAnswer);
}

TEST(ConversationTest, RetryDropsTheResultsOfItsCalls) {
  Conversation conversation({}, "");
  ASSERT_TRUE(conversation.Read("How warm?").ok());
  v1::Chat::Message calls;
  calls.add_tool_calls()->set_name("weather");
  calls.add_tool_calls()->set_name("time");
  conversation.Answered(calls);
  ASSERT_TRUE(conversation.Read("/result 7").ok());
  EXPECT_EQ(conversation.Read("/retry")->next, Conversation::kAnswer);
  EXPECT_THAT(Said(conversation.chat()), ElementsAre("user: How warm?"));
}

TEST(ConversationTest, ListsItsCommands) {
  Conversation conversation({}, "");
  EXPECT_THAT(conversation.Read("/help")->note, HasSubstr("/retry"));
  EXPECT_THAT(conversation.Read("/fly"),
              IsError(absl::StatusCode::kInvalidArgument, "/fly"));
  EXPECT_THAT(conversation.Read("/quit now"),
              IsError(absl::StatusCode::kInvalidArgument, "/quit"));
  EXPECT_THAT(Said(conversation.chat()), ElementsAre());
}

class ChatTest : public testing::Test {
 protected:
  CommandRun Run(std::vector<std::string> arguments,
                 const std::string& input = "") {
    arguments.insert(arguments.begin(),
                     {"chat", "--address", server_.address()});
    return RunWithFiles([&](const Io& io) { return RunTrivium(arguments, io); },
                        input);
  }

  FakeServer server_;
};

TEST_F(ChatTest, TreatsAPipeAsAConversation) {
  server_.newline = "\n!";
  const CommandRun run = Run({"--system", "s", "--variable", "a=false",
                              "--variable", "b=x=y", "--template-name", "t"},
                             "Hi\n/retry\nbad\nand\n");
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "one two !\none two !\n\none two !\n");
  EXPECT_THAT(run.err, ErrorAt("text 3"));
  const v1::Chat& chat = server_.last_generate.chat();
  EXPECT_THAT(Said(chat), ElementsAre("system: s", "user: Hi",
                                      "assistant: one two\n!", "user: and"));
  EXPECT_FALSE(chat.variables().fields().at("a").bool_value());
  EXPECT_EQ(chat.variables().fields().at("b").string_value(), "x=y");
  EXPECT_EQ(chat.template_name(), "t");
}

TEST_F(ChatTest, TreatsTextsAsTurns) {
  CommandRun run = Run({"--", "Hi", "--you"});
  EXPECT_EQ(run.code, kExitOk);
  EXPECT_EQ(run.out, "one two\none two\n");
  EXPECT_THAT(Said(server_.last_generate.chat()),
              ElementsAre("user: Hi", "assistant: one two", "user: --you"));
  run = Run({"--json", "Hi"});
  const std::string first = run.out.substr(0, run.out.find('\n'));
  EXPECT_EQ(nlohmann::json::parse(first)["piece"]["text"], "one");
}

TEST_F(ChatTest, ShowsCallsAndSendsTheirResults) {
  const std::string path = testing::TempDir() + "/chat_tools.json";
  std::ofstream(path) << R"([{"type": "function", "function": {"name": "sum",
                              "description": "adds"}}])";
  const CommandRun run = Run({"--tools", path, "--max-thinking-tokens", "9"},
                             "What?\nNo\n/result 3\n");
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_EQ(run.out, "one two\nsum({\"a\": 1})\n\none two\n");
  EXPECT_THAT(run.err, ErrorAt("text 2"));
  const v1::Chat& chat = server_.last_generate.chat();
  EXPECT_TRUE(chat.answer_parts());
  EXPECT_EQ(chat.max_thinking_tokens(), 9u);
  EXPECT_EQ(chat.tools(0), R"({"type":"function","function":{"name":"sum",)"
                           R"("description":"adds"}})");
  EXPECT_THAT(Said(chat),
              ElementsAre("user: What?", "assistant: one two", "tool: 3"));
  EXPECT_EQ(chat.messages(1).reasoning_content(), "hm");
  EXPECT_EQ(chat.messages(1).tool_calls(0).arguments(), "{\"a\": 1}");
  EXPECT_EQ(chat.messages(2).tool_call_id(), "c1");

  EXPECT_EQ(chat.tool_choice(), v1::Chat::TOOL_CHOICE_UNSPECIFIED);

  // Which tools an answer calls; thoughts in a pipe.
  EXPECT_THAT(run.err, testing::Not(HasSubstr("hm")));
  const CommandRun thoughts =
      Run({"--tools", path, "--tool-choice", "required",
           "--no-parallel-tool-calls", "--thoughts", "Hi"});
  EXPECT_THAT(thoughts.err, HasSubstr("hm\n"));
  const v1::Chat& chosen = server_.last_generate.chat();
  EXPECT_EQ(chosen.tool_choice(), v1::Chat::TOOL_CHOICE_REQUIRED);
  EXPECT_FALSE(chosen.has_tool_name());
  EXPECT_TRUE(chosen.has_parallel_tool_calls());
  EXPECT_FALSE(chosen.parallel_tool_calls());
  Run({"--tools", path, "--tool-choice", "sum", "Hi"});
  EXPECT_EQ(server_.last_generate.chat().tool_choice(),
            v1::Chat::TOOL_CHOICE_REQUIRED);
  EXPECT_EQ(server_.last_generate.chat().tool_name(), "sum");
  Run({"--tools", path, "--tool-choice", "none", "Hi"});
  EXPECT_EQ(server_.last_generate.chat().tool_choice(),
            v1::Chat::TOOL_CHOICE_NONE);
  EXPECT_EQ(Run({"--tool-choice", "", "Hi"}).code, kExitUsage);
  EXPECT_EQ(Run({"--json", "--thoughts", "Hi"}).code, kExitUsage);

  EXPECT_EQ(Run({"--tools", "/nowhere", "Hi"}).code, kExitUsage);
  std::ofstream(path) << "{}";
  EXPECT_EQ(Run({"--tools", path, "Hi"}).code, kExitUsage);
  std::ofstream(path) << std::string(100'000, '[') << std::string(100'000, ']');
  EXPECT_EQ(Run({"--tools", path, "Hi"}).code, kExitUsage);
}

TEST_F(ChatTest, RefusesFlagsThatDoNotApply) {
  EXPECT_EQ(Run({"--num-hypotheses", "2", "Hi"}).code, kExitFailed);
  EXPECT_EQ(Run({"--variable", "x", "Hi"}).code, kExitUsage);
  const CommandRun run = Run({}, "\x96\n/fly\n");
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_THAT(run.err, AllOf(ErrorAt("text 1"), ErrorAt("/fly")));
}

// A person who types at a terminal.
class TerminalTest : public ChatTest {
 protected:
  TerminalTest() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    setenv("TERM", "xterm", 1);
    EXPECT_EQ(grantpt(master_), 0);
    EXPECT_EQ(unlockpt(master_), 0);
    slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY);
  }
  ~TerminalTest() override {
    if (program_.joinable()) program_.join();
    close(slave_);
    close(master_);
  }

  void Start() {
    program_ = std::thread([this] {
      Io io;
      io.in = slave_;
      io.out = fdopen(dup(slave_), "w");
      io.err = fdopen(dup(slave_), "w");
      code_ = RunTrivium({"chat", "--address", server_.address()}, io);
      std::fclose(io.out);
      std::fclose(io.err);
    });
  }
  void Type(const std::string& text) {
    EXPECT_EQ(write(master_, text.data(), text.size()), text.size());
  }
  // Reads until `text` appears; returns what came before it.
  std::string ReadTo(const std::string& text) {
    size_t at;
    while ((at = screen_.find(text)) == std::string::npos) {
      char some[256];
      pollfd ready = {master_, POLLIN, 0};
      const bool came = poll(&ready, 1, /*ms*/ 60'000) == 1;
      const ssize_t count = came ? read(master_, some, sizeof(some)) : 0;
      if (count <= 0) {
        // The program waits for keys that nobody types.
        std::cerr << "no \"" << text << "\" came; the screen: " << screen_;
        std::abort();
      }
      screen_.append(some, count);
    }
    std::string before = screen_.substr(0, at);
    screen_.erase(0, at + text.size());
    return before;
  }
  ExitCode End() {
    program_.join();
    return code_;
  }

 private:
  const int master_;
  int slave_ = -1;
  std::string screen_;
  std::thread program_;
  ExitCode code_ = kExitOk;
};

TEST_F(TerminalTest, ContinuesAfterFailures) {
  server_.newline = "\x1b[2J\nx";
  Start();
  ReadTo("/help lists the commands");
  Type("bad\n");
  ReadTo("trivium: ");
  Type("Hi\n");
  ReadTo("one two");
  // No character of an answer moves the cursor.
  EXPECT_THAT(ReadTo("x"), testing::Not(HasSubstr("\x1b")));
  Type("\x04");  // Ctrl-D
  EXPECT_EQ(End(), kExitOk);
}

TEST_F(TerminalTest, CtrlCStopsTheAnswerButNotTheProgram) {
  // A shell's background jobs, such as tests may be, ignore it.
  const auto before = std::signal(SIGINT, SIG_DFL);
  server_.hang_in_generate = true;
  Start();
  ReadTo("Ctrl-D ends");
  kill(getpid(), SIGINT);
  ReadTo("(Ctrl-D or /quit ends)");
  Type("Hi\n");
  ReadTo("one");
  kill(getpid(), SIGINT);
  ReadTo("(stopped)");
  server_.hang_in_generate = false;
  Type("More\n");
  ReadTo("one two");
  EXPECT_THAT(Said(server_.last_generate.chat()),
              ElementsAre("user: Hi", "assistant: one", "user: More"));
  Type("/quit\n");
  EXPECT_EQ(End(), kExitOk);
  std::signal(SIGINT, before);
}

// Keys have their meaning from the prompt on.
TEST_F(TerminalTest, LinesAreEditedAndKept) {
  Start();
  ReadTo("Ctrl-D ends");
  ReadTo(">");
  // A letter of two bytes is taken back; then the line's begin and end.
  Type("ell\xC3\xA4\x7Fo\x01H\x05!\n");
  ReadTo("one two");
  EXPECT_THAT(Said(server_.last_generate.chat()), ElementsAre("user: Hello!"));
  ReadTo(">");
  Type("\x1b[A?\n");  // the line before
  ReadTo("one two");
  EXPECT_EQ(Said(server_.last_generate.chat()).back(), "user: Hello!?");
  ReadTo(">");
  Type("not this\x03");  // Ctrl-C
  ReadTo("(Ctrl-D or /quit ends)");
  ReadTo(">");
  Type("this\n");
  ReadTo("one two");
  EXPECT_EQ(Said(server_.last_generate.chat()).back(), "user: this");
  ReadTo(">");
  Type("\x04");
  EXPECT_EQ(End(), kExitOk);
}

TEST_F(TerminalTest, ATerminalWithoutACursorGetsLinesAsTheyAre) {
  setenv("TERM", "dumb", 1);
  Start();
  ReadTo("Ctrl-D ends");
  Type("Hi\n");
  ReadTo("one two");
  EXPECT_THAT(Said(server_.last_generate.chat()), ElementsAre("user: Hi"));
  Type("/quit\n");
  EXPECT_EQ(End(), kExitOk);
}

TEST_F(TerminalTest, ReportsAtOnceThatAModelTakesNoChats) {
  server_.chat_refusal = "the template is odd";
  Start();
  ReadTo("takes no chats: the template is odd");
  EXPECT_EQ(End(), kExitFailed);
}

}  // namespace
}  // namespace trivium
