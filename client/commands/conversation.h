#ifndef TRIVIUM_CLIENT_COMMANDS_CONVERSATION_H_
#define TRIVIUM_CLIENT_COMMANDS_CONVERSATION_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// What was said so far, and the commands that change it: a line that begins
// with / is one, two of them begin a text with /.
//
//   Conversation conversation(chat);
//   auto turn = conversation.Take(line);
//   if (turn->next == Conversation::kAnswer) {
//     ... conversation.chat() is the request's; then Answered or Unanswered
//   }
class Conversation {
 public:
  enum Next { kAnswer, kGoOn, kQuit };
  struct Turn {
    Next next = kGoOn;
    std::string note;  // to be told, if anything
  };

  // `chat` has what every request of it has; `system` may be empty.
  Conversation(v1::Chat chat, std::string_view system);

  // INVALID_ARGUMENT for a command that there is not, or not now.
  absl::StatusOr<Turn> Take(std::string_view line);

  // Ends with what is to be answered, after kAnswer.
  const v1::Chat& chat() const { return chat_; }
  void Answered(const std::string& text) { Add("assistant", text); }
  // It is as if it had not been said, but /retry says it again.
  void Unanswered();

 private:
  void Add(const char* role, std::string_view content);
  void Begin(std::string_view system);
  absl::StatusOr<Turn> Retry();

  v1::Chat chat_;
  std::string failed_;  // what was said last and has no answer
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_CONVERSATION_H_
