#ifndef TRIVIUM_CLIENT_COMMANDS_CONVERSATION_H_
#define TRIVIUM_CLIENT_COMMANDS_CONVERSATION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The messages of a conversation so far, and the commands that change them. A
// line that begins with / is a command; a line that begins with // is a text
// that begins with /.
//
//   Conversation conversation(chat);
//   auto turn = conversation.Read(line);
//   if (turn->next == Conversation::kAnswer) {
//     ... request an answer to conversation.chat(), then call Answered or
//         Unanswered
//   }
//
// After an answer with tool calls, the user tells the result of each with
// /result TEXT; the last one asks for the next answer.
class Conversation {
 public:
  enum Next { kAnswer, kGoOn, kQuit };
  struct Turn {
    Next next = kGoOn;
    std::string note;  // to show to the user; empty: nothing
  };

  // `chat` has the fields that all its requests share; `system`, the system
  // message, may be empty.
  Conversation(v1::Chat chat, std::string_view system);

  // Adds a line of the user, or obeys it if it is a command. Returns
  // INVALID_ARGUMENT for a command that does not exist or is not possible now.
  absl::StatusOr<Turn> Read(std::string_view line);

  // The conversation. After kAnswer it ends with the message to answer.
  const v1::Chat& chat() const { return chat_; }
  void Answered(v1::Chat::Message answer);
  // Removes the last message, which got no answer. /retry adds it again.
  void Unanswered();

 private:
  v1::Chat::Message* Add(const char* role, std::string_view content);
  void Begin(std::string_view system);
  absl::StatusOr<Turn> Retry();
  absl::StatusOr<Turn> AddResult(std::string_view text);
  // The calls of the last answer that have no result yet, first to last.
  std::vector<v1::Chat::ToolCall> OpenCalls() const;

  v1::Chat chat_;
  std::optional<v1::Chat::Message> failed_;  // the last, if it got no answer
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_CONVERSATION_H_
