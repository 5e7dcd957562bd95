#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_THINKING_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_THINKING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/adapters/chat_request.h"
#include "server/adapters/json_fields.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// A request says here how much the model thinks before it answers.
struct OpenAiThinking {
  std::optional<std::string> effort;  // `reasoning_effort`
  // `enable_thinking`, or DeepSeek's and GLM's `thinking`.
  const char* enabled_name = "enable_thinking";
  std::optional<bool> enabled;
  // The most tokens of thoughts: vLLM's `thinking_token_budget` or
  // llama-server's `thinking_budget_tokens`, whichever the request has.
  const char* budget_name = "thinking_token_budget";
  std::optional<uint32_t> budget;
};

OpenAiThinking ReadOpenAiThinking(JsonFields* fields);

// Sets the variables of the chat's template that say so (SetThinking), and the
// bound of its thoughts.
absl::Status SetOpenAiThinking(const OpenAiThinking& thinking,
                               const Model& model, v1::Chat* chat);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_THINKING_H_
