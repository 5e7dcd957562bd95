#ifndef TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_H_
#define TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_H_

#include <string_view>

#include "server/adapters/codec.h"

namespace trivium {

// The HTTP shapes of Anthropic's Messages API
// (https://docs.anthropic.com/en/api/messages), for models that take chats. A
// token comes in Authorization or as x-api-key. Like Anthropic's, they draw
// tokens unless temperature is 0, and a model thinks only if `thinking` asks
// for it. An option that is not supported is an error.

// POST /v1/messages: an answer in blocks of thoughts, text and tool calls,
// whole or as a stream of named events.
NewCodec NewAnthropicMessagesCodec;
// POST /v1/messages/count_tokens: the tokens of the prompt that the same
// messages make (MakePrompt).
NewCodec NewAnthropicCountTokensCodec;
// GET /v1/models, and /v1/models/NAME: of clients that send this header.
inline constexpr std::string_view kAnthropicVersion = "anthropic-version";
NewCodec NewAnthropicModelsCodec;
NewCodec NewAnthropicModelCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_H_
