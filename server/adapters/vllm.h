#ifndef TRIVIUM_SERVER_ADAPTERS_VLLM_H_
#define TRIVIUM_SERVER_ADAPTERS_VLLM_H_

#include "server/adapters/codec.h"

namespace trivium {

// The HTTP shapes of vLLM's pooling models that OpenAI's API lacks
// (https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html).

// POST /score, /v1/score: scores texts (text_2) by how well they answer one
// text (text_1), in the order of the request.
NewCodec NewVllmScoreCodec;
// POST /classify: the probabilities of all labels of texts, in the model's
// order.
NewCodec NewVllmClassifyCodec;

// POST /tokenize: makes ids of a text, `prompt` (vLLM) or `content`
// (llama-server).
NewCodec NewVllmTokenizeCodec;
NewCodec NewLlamaTokenizeCodec;
// POST /tokenize with `messages`: makes ids of the prompt of a chat, and POST
// /apply-template, which is llama-server's, makes its text. The bodies are
// those of /v1/chat/completions (MakePrompt).
NewCodec NewVllmChatTokensCodec;
NewCodec NewLlamaTemplateCodec;
// POST /detokenize: makes a text of ids, `tokens`. The answer has it under the
// names of both servers.
NewCodec NewVllmDetokenizeCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_VLLM_H_
