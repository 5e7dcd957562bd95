#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_THINKING_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_THINKING_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "model/chat_template.h"
#include "server/adapters/json_fields.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// A request says here how much the model thinks before it answers.
struct OpenAiThinking {
  std::optional<std::string> effort;  // `reasoning_effort`
  std::optional<bool> enabled;        // `enable_thinking`
};

OpenAiThinking ReadOpenAiThinking(JsonFields* fields);

// Sets the variables of the chat's template that say so:
// - enable_thinking as it is;
// - an effort of none or minimal switches thinking off, where the template has
//   a switch (`enable_thinking` or `thinking`), and others switch it on;
// - a template that reads reasoning_effort gets an effort that is not told by
//   the switch.
// INVALID_ARGUMENT if the template reads none of them, or if the chat has
// another value already (`chat_template_kwargs`).
absl::Status SetOpenAiThinking(const OpenAiThinking& thinking,
                               const ChatTemplate& chat_template,
                               v1::Chat* chat);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_THINKING_H_
