#ifndef TRIVIUM_SERVER_ADAPTERS_TEI_H_
#define TRIVIUM_SERVER_ADAPTERS_TEI_H_

#include "server/adapters/codec.h"

namespace trivium {

// The HTTP shapes of Hugging Face's Text Embeddings Inference, TEI
// (https://huggingface.github.io/text-embeddings-inference). TEI serves one
// model, so its requests name none; each gets the first model here that serves
// such calls.

// POST /embed: makes vectors of texts or ids.
NewCodec NewTeiEmbedCodec;
// POST /rerank: sorts texts by how well they answer a query.
NewCodec NewTeiRerankCodec;
// POST /predict: finds the labels of texts or pairs of texts. `inputs` is one
// text, or a list of lists of one text or two.
NewCodec NewTeiPredictCodec;
// POST /tokenize: makes tokens of texts. Offsets count characters.
NewCodec NewTeiTokenizeCodec;
// GET /info: the model that /embed asks, or if there is none /rerank, else
// /predict.
NewCodec NewTeiInfoCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_TEI_H_
