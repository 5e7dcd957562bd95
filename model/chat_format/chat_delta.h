#ifndef TRIVIUM_MODEL_CHAT_FORMAT_CHAT_DELTA_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_CHAT_DELTA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// A piece of a message.
struct ChatDelta {
  enum class Kind : uint8_t {
    kContent,    // text
    kReasoning,  // text
    kCallBegin,  // text: the tool's name; id, if the model wrote one
    kArguments,  // text: a piece of the call's arguments, a JSON object
    kCallEnd,    // the arguments are whole
  };
  Kind kind = Kind::kContent;
  std::string text = {};  // UTF-8, never a part of a character
  int index = 0;          // of the call, from 0
  std::string id = {};
};

// A message made of its deltas.
struct ReadMessage {
  struct Call {
    std::string id = {}, name = {}, arguments = {};
    bool complete = false;  // false: `arguments` is the beginning of an object
  };
  std::string content, reasoning;
  std::vector<Call> calls;

  void Add(const ChatDelta& delta);
};

// Collects deltas. Texts of one kind that follow one another are joined, and an
// incomplete character at the end waits for its rest.
class DeltaCollector {
 public:
  void Text(ChatDelta::Kind kind, std::string_view text);
  void BeginCall(std::string name, std::string id);
  void EndCall();

  // Returns what has come since the last call; at the end of the text all.
  std::vector<ChatDelta> Take(bool at_end);

 private:
  std::vector<ChatDelta> deltas_;
  int calls_ = 0;  // begun
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_CHAT_DELTA_H_
