#ifndef TRIVIUM_SERVER_ADAPTERS_TGI_H_
#define TRIVIUM_SERVER_ADAPTERS_TGI_H_

#include "server/adapters/codec.h"

namespace trivium {

// The shapes of Hugging Face's Text Generation Inference, TGI
// (https://huggingface.github.io/text-generation-inference), for prompts.
// `inputs` is the text, and `parameters` say how to continue it: greedily,
// unless one of them is about drawing. TGI serves one model, so its clients
// name none, and get the first that generates; `model` may name another. Texts
// end before a stop string, where TGI's end with it.

// POST /generate: answers with the whole text, and its tokens if asked.
NewCodec NewTgiGenerateCodec;
// POST /generate_stream: answers with an event for each token. The last has the
// whole text.
NewCodec NewTgiStreamCodec;
// POST /: one of the two, as `stream` says. The whole text comes in a list.
NewCodec NewTgiRootCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_TGI_H_
