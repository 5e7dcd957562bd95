#include "client/commands/conversation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fmt/format.h"

namespace trivium {
namespace {

constexpr char kHelp[] =
    "/retry        answer again\n"
    "/result TEXT  the result of the next tool call\n"
    "/clear        forget all messages except the system message\n"
    "/system TEXT  begin again with this system message; without TEXT: with "
    "none\n"
    "/help         this\n"
    "/quit         end, as with Ctrl-D; Ctrl-C stops an answer\n"
    "//            begins a text with /";

}  // namespace

Conversation::Conversation(v1::Chat chat, std::string_view system)
    : chat_(std::move(chat)) {
  Begin(system);
}

v1::Chat::Message* Conversation::Add(const char* role,
                                     std::string_view content) {
  v1::Chat::Message* message = chat_.add_messages();
  message->set_role(role);
  message->set_content(std::string(content));
  return message;
}

void Conversation::Answered(v1::Chat::Message answer) {
  answer.set_role("assistant");
  *chat_.add_messages() = std::move(answer);
}

std::vector<v1::Chat::ToolCall> Conversation::OpenCalls() const {
  int at = chat_.messages_size() - 1;
  int results = 0;
  for (; at >= 0 && chat_.messages(at).role() == "tool"; --at) ++results;
  if (at < 0 || chat_.messages(at).role() != "assistant") return {};
  const auto& calls = chat_.messages(at).tool_calls();
  return {calls.begin() + std::min(results, calls.size()), calls.end()};
}

absl::StatusOr<Conversation::Turn> Conversation::AddResult(
    std::string_view text) {
  const std::vector<v1::Chat::ToolCall> calls = OpenCalls();
  if (calls.empty()) {
    return absl::InvalidArgumentError("there is no tool call without a result");
  }
  v1::Chat::Message* const message = Add("tool", text);
  message->set_name(calls.front().name());
  if (calls.front().has_id()) message->set_tool_call_id(calls.front().id());
  if (calls.size() == 1) return Turn{kAnswer, ""};
  return Turn{kGoOn, fmt::format("now the result of {}", calls[1].name())};
}

void Conversation::Begin(std::string_view system) {
  chat_.clear_messages();
  failed_.reset();
  if (!system.empty()) Add("system", system);
}

void Conversation::Unanswered() {
  failed_ = *chat_.messages().rbegin();
  chat_.mutable_messages()->RemoveLast();
}

absl::StatusOr<Conversation::Turn> Conversation::Read(std::string_view line) {
  if (line.empty()) return Turn();
  if (line[0] != '/' || line.starts_with("//")) {
    if (const auto calls = OpenCalls(); !calls.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("the call of {} waits for its result; tell it with "
                      "/result TEXT, or /retry the answer",
                      calls.front().name()));
    }
    Add("user", line[0] == '/' ? line.substr(1) : line);
    return Turn{kAnswer, ""};
  }
  const size_t space = line.find(' ');
  const std::string_view name = line.substr(0, space);
  std::string_view rest =
      space == std::string_view::npos ? "" : line.substr(space);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (name == "/system") {
    Begin(rest);
    return Turn{kGoOn, "a new conversation"};
  }
  if (name == "/result") return AddResult(rest);
  if (!rest.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "{} takes no text; // begins a text with /", std::string(name)));
  }
  if (name == "/help") return Turn{kGoOn, kHelp};
  if (name == "/quit") return Turn{kQuit, ""};
  if (name == "/retry") return Retry();
  if (name == "/clear") {
    const bool system =
        chat_.messages_size() > 0 && chat_.messages(0).role() == "system";
    Begin(system ? std::string(chat_.messages(0).content()) : "");
    return Turn{kGoOn, "a new conversation"};
  }
  return absl::InvalidArgumentError(
      fmt::format("there is no command {}; /help lists them, // begins a text "
                  "with /",
                  std::string(name)));
}

absl::StatusOr<Conversation::Turn> Conversation::Retry() {
  if (failed_) {
    *chat_.add_messages() = *std::exchange(failed_, std::nullopt);
    return Turn{kAnswer, ""};
  }
  // Results of some of its calls go with an answer.
  int at = chat_.messages_size() - 1;
  while (at >= 0 && chat_.messages(at).role() == "tool") --at;
  if (at < 0 || chat_.messages(at).role() != "assistant") {
    return absl::InvalidArgumentError("there is nothing to answer again yet");
  }
  chat_.mutable_messages()->DeleteSubrange(at, chat_.messages_size() - at);
  return Turn{kAnswer, ""};
}

}  // namespace trivium
