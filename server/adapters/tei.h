#ifndef TRIVIUM_SERVER_ADAPTERS_TEI_H_
#define TRIVIUM_SERVER_ADAPTERS_TEI_H_

#include "server/adapters/codec.h"

namespace trivium {

// The shapes of Hugging Face's Text Embeddings Inference (https://
// huggingface.github.io/text-embeddings-inference). It serves one model and its
// requests name none: each gets the first model here that does such calls.

// POST /embed: texts, or ids, to vectors.
NewCodec NewTeiEmbedCodec;
// POST /rerank: texts in the order in which they answer a query.
NewCodec NewTeiRerankCodec;
// POST /predict: texts, or pairs of them, to labels. `inputs` is one text, or a
// list of lists of one text or two.
NewCodec NewTeiPredictCodec;
// POST /tokenize: texts to tokens. Offsets are of characters.
NewCodec NewTeiTokenizeCodec;
// GET /info: the model that /embed, /rerank or /predict asks, whichever is
// there first.
NewCodec NewTeiInfoCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_TEI_H_
