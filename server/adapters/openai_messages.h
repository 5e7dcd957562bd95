#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_MESSAGES_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_MESSAGES_H_

#include "server/adapters/json_fields.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Reads `messages`, OpenAI's list of a conversation's messages: texts, the
// assistant's tool calls and thoughts, and the tools' answers. `ignored` may be
// null (JsonFields::Ignore).
void ReadOpenAiMessages(JsonFields* fields, IgnoredMembers* ignored,
                        v1::Chat* chat);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_MESSAGES_H_
