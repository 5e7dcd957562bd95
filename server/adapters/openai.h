#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_H_

#include <span>

#include "nlohmann/json.hpp"
#include "server/adapters/codec.h"
#include "server/adapters/http_status.h"

namespace trivium {

// The shapes of OpenAI's API (https://platform.openai.com/docs/api-reference)
// that this server has calls for. `model` may be left out: the server's first.
// An option that is not supported is an error unless it says what is done
// anyhow.

// GET /v1/models, and /v1/models/NAME.
NewCodec NewOpenAiModelsCodec;
NewCodec NewOpenAiModelCodec;

// POST /v1/embeddings: `input` a text, several, or ids of tokens; as floats, or
// in base64 (four bytes each, little endian).
NewCodec NewOpenAiEmbeddingsCodec;

// POST /v1/completions: prompts, each a text or ids (internal.Completions).
// POST /v1/chat/completions: texts of messages, for models that take chats.
// Both also take top_k, min_p and repetition_penalty. As OpenAI's, they draw
// tokens unless temperature is 0. Log-probabilities have tokens as the
// tokenizer writes them.
NewCodec NewOpenAiCompletionsCodec;
NewCodec NewOpenAiChatCodec;

// The body of an error, and what a codec of theirs answers where a call fails;
// `names` of the request's fields.
nlohmann::ordered_json OpenAiError(const Ending& ending,
                                   std::span<const FieldName> names = {});
HttpAnswer OpenAiFailure(const Ending& ending,
                         std::span<const FieldName> names = {});

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_H_
