#ifndef TRIVIUM_SERVER_ADAPTERS_LLAMA_SERVER_H_
#define TRIVIUM_SERVER_ADAPTERS_LLAMA_SERVER_H_

#include "server/adapters/codec.h"

namespace trivium {

// POST /completion of llama.cpp's llama-server
// (https://github.com/ggml-org/llama.cpp/tree/master/tools/server): continues
// `prompt`, a text or ids. Options are those of /v1/completions under
// llama-server's names (openai_kin.h), and its defaults are those of chats. A
// stream has an object for each piece; the last has `stop` true. Errors are
// OpenAI's.
NewCodec NewLlamaCompletionCodec;
// GET /props: the model that continues texts, or that of `?model=`: how much it
// reads, and its chat template.
NewCodec NewLlamaPropsCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_LLAMA_SERVER_H_
