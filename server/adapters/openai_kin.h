#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_KIN_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_KIN_H_

#include "server/adapters/json_fields.h"
#include "server/adapters/openai_request.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Members that clients of other servers with OpenAI's API send: vLLM,
// llama-server, LM Studio. Many clients send all of their options, most of them
// at values that change nothing. Those are accepted; other values of an option
// that this server does not have are errors.

// Reads those of texts and chats: other names of options here (`repeat_penalty`
// is repetition_penalty), and options at values that change nothing.
void ReadKinOptions(JsonFields* fields, IgnoredMembers* ignored,
                    v1::GenerateRequest* request, CompletionOptions* options);
// Sets how many of the last tokens penalties look at, as llama.cpp counts: -1
// all, 0 none. Called after the penalties are set.
void SetPenaltyWindow(int last, v1::DecodingOptions* decoding);
// True if `truncate_prompt_tokens`, which is vLLM's, asks to cut what is too
// long. Other numbers than -1, and 0 for none, are errors.
bool CutsPrompts(JsonFields* fields);
// Reads those of chats alone.
void ReadKinChatOptions(JsonFields* fields);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_KIN_H_
