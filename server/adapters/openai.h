#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_H_

#include <span>

#include "nlohmann/json.hpp"
#include "server/adapters/codec.h"
#include "server/adapters/http_status.h"

namespace trivium {

// The HTTP shapes of OpenAI's API
// (https://platform.openai.com/docs/api-reference) that this server has calls
// for. A request without `model` asks the first one that does such calls. An
// option that is not supported is an error, unless its value asks for what is
// done anyway.

// GET /v1/models, and /v1/models/NAME.
NewCodec NewOpenAiModelsCodec;
NewCodec NewOpenAiModelCodec;

// POST /v1/embeddings: `input` is a text, several, or token ids. Embeddings are
// floats, or base64 of them (four bytes each, little endian).
NewCodec NewOpenAiEmbeddingsCodec;

// POST /v1/completions: prompts, each a text or ids (internal.Completions).
// POST /v1/chat/completions: texts of messages, for models that take chats.
// Both also know top_k, min_p and repetition_penalty. Like OpenAI's, they draw
// tokens unless temperature is 0. Log-probabilities have the texts of tokens;
// parts of characters are written as \xE2.
NewCodec NewOpenAiCompletionsCodec;
NewCodec NewOpenAiChatCodec;

// The body of an error, and the whole answer to a call that failed. `names` are
// those of the request's fields.
nlohmann::ordered_json OpenAiError(const Ending& ending,
                                   std::span<const FieldName> names = {});
HttpAnswer OpenAiFailure(const Ending& ending,
                         std::span<const FieldName> names = {});

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_H_
