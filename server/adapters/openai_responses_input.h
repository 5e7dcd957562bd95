#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_INPUT_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_INPUT_H_

#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "server/adapters/json_fields.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Makes messages of a chat of the input of OpenAI's Responses API, which is a
// text of the user or a list of items:
//
//   message               a message; developers speak as the system
//   reasoning             thoughts of the assistant's message that follows
//   function_call         a call of that message; calls in a row are of one
//   function_call_output  a message of the tool
//
// Items that the assistant makes for one answer become one message again:
// reasoning, message, function_call, function_call. Thoughts always begin a
// message.
class ResponsesInput {
 public:
  // `chat` outlives this.
  explicit ResponsesInput(v1::Chat* chat) : chat_(chat) {}

  // Adds the request's `instructions`, as the system's first message.
  void AddInstructions(const std::string& text);
  // Reads `input`. Called once.
  void Read(JsonFields* fields);

  // The request's name for each message: "instructions", "input[3]".
  const std::vector<std::string>& fields() const { return fields_; }

 private:
  void ReadItem(const nlohmann::json& item, const std::string& path,
                JsonFields* fields);
  void ReadMessageItem(JsonFields* item, const std::string& path);
  void ReadReasoning(JsonFields* item, const std::string& path);
  void ReadCall(JsonFields* item, const std::string& path);
  void ReadCallOutput(JsonFields* item, const std::string& path);

  v1::Chat::Message* Begin(const char* role, const std::string& path);
  // Begins a message of the assistant, with the thoughts before it.
  v1::Chat::Message* BeginAssistant(const std::string& path);
  // The last message if the assistant may go on with it, else null.
  v1::Chat::Message* OpenAssistant();
  // Makes thoughts that no message follows a message without content.
  void EndThoughts();

  v1::Chat* const chat_;
  std::vector<std::string> fields_;                // [messages]
  std::string thoughts_;                           // of the next message
  std::string thoughts_path_;                      // their item
  std::map<std::string, std::string> call_names_;  // from call_id
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_INPUT_H_
