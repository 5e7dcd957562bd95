#ifndef TRIVIUM_CLIENT_COMMANDS_CONVERSATION_H_
#define TRIVIUM_CLIENT_COMMANDS_CONVERSATION_H_

#include <string>
#include <string_view>

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
  void Answered(const std::string& text) { Add("assistant", text); }
  // Removes the last message, which got no answer. /retry adds it again.
  void Unanswered();

 private:
  void Add(const char* role, std::string_view content);
  void Begin(std::string_view system);
  absl::StatusOr<Turn> Retry();

  v1::Chat chat_;
  std::string failed_;  // the last message, if it got no answer
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_CONVERSATION_H_
