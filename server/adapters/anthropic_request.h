#ifndef TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_REQUEST_H_
#define TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_REQUEST_H_

#include <string_view>

#include "server/adapters/chat_request.h"
#include "server/adapters/json_fields.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The thinking that a request asks for.
struct AnthropicThinking {
  ChatThinking thinking;
  bool omitted = false;  // the answer tells that there are thoughts, not which
};

// Reads the members that make the prompt, or say what may follow it: model,
// system, messages, tools, tool_choice, thinking and output_config. `body` is
// the request's text, which keeps the order of names in tools. `ignored` may be
// null (JsonFields::Ignore).
AnthropicThinking ReadAnthropicPrompt(std::string_view body, JsonFields* fields,
                                      IgnoredMembers* ignored,
                                      v1::GenerateRequest* request);

// Reads the other members, which say how the answer is made. Returns true if it
// is a stream.
bool ReadAnthropicOptions(JsonFields* fields, IgnoredMembers* ignored,
                          v1::GenerateRequest* request);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_ANTHROPIC_REQUEST_H_
