#include "client/commands/conversation.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace trivium {
namespace {

constexpr char kHelp[] =
    "/retry        answer again\n"
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

void Conversation::Add(const char* role, std::string_view content) {
  v1::Chat::Message* message = chat_.add_messages();
  message->set_role(role);
  message->set_content(std::string(content));
}

void Conversation::Begin(std::string_view system) {
  chat_.clear_messages();
  failed_.clear();
  if (!system.empty()) Add("system", system);
}

void Conversation::Unanswered() {
  failed_ = chat_.messages().rbegin()->content();
  chat_.mutable_messages()->RemoveLast();
}

absl::StatusOr<Conversation::Turn> Conversation::Read(std::string_view line) {
  if (line.empty()) return Turn();
  if (line[0] != '/' || line.starts_with("//")) {
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
  if (!failed_.empty()) {
    Add("user", std::exchange(failed_, ""));
    return Turn{kAnswer, ""};
  }
  if (chat_.messages().empty() ||
      chat_.messages().rbegin()->role() != "assistant") {
    return absl::InvalidArgumentError("there is nothing to answer again yet");
  }
  chat_.mutable_messages()->RemoveLast();
  return Turn{kAnswer, ""};
}

}  // namespace trivium
