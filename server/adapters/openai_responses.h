#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_H_

#include "server/adapters/codec.h"

namespace trivium {

// POST /v1/responses: OpenAI's Responses API
// (https://platform.openai.com/docs/api-reference/responses), for models that
// take chats. An answer has items: the model's thoughts, messages and calls of
// the client's functions. With stream, events tell them as they grow
// (ResponsesOutput). Nothing is stored, so each request brings its whole
// conversation.
// With logprobs an answer is one message, the thoughts within its text.
NewCodec NewOpenAiResponsesCodec;
// POST /v1/responses/input_tokens: how many tokens the prompt of such a request
// has. It may have all members of one.
NewCodec NewOpenAiResponsesTokensCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_RESPONSES_H_
