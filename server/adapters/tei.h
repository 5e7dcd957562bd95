#ifndef TRIVIUM_SERVER_ADAPTERS_TEI_H_
#define TRIVIUM_SERVER_ADAPTERS_TEI_H_

#include "server/adapters/codec.h"

namespace trivium {

// The HTTP shapes of Hugging Face's Text Embeddings Inference, TEI
// (https://huggingface.github.io/text-embeddings-inference). TEI serves one
// model, so its clients name none, and get the first model here that serves
// such calls; `model` may name another. Texts that are too long are cut unless
// `truncate` is false.

// POST /embed: makes vectors of texts or ids, or of a list of both.
NewCodec NewTeiEmbedCodec;
// POST /: the same, or sparse embeddings if the first model makes no others.
NewCodec NewTeiRootEmbedCodec;
// POST /embed_all: makes the vectors of their tokens.
NewCodec NewTeiEmbedAllCodec;
// POST /embed_sparse: makes sparse embeddings of texts or ids.
NewCodec NewTeiEmbedSparseCodec;
// POST /similarity: compares a sentence with others, by the cosine of their
// vectors; by the products of sparse embeddings or by MaxSim if the model makes
// no others.
NewCodec NewTeiSimilarityCodec;
// POST /rerank: sorts texts by how well they answer a query.
NewCodec NewTeiRerankCodec;
// POST /predict: finds the labels of texts or pairs of texts. `inputs` is one
// text, a list of one text or two (a pair), or a list of such lists.
NewCodec NewTeiPredictCodec;
// POST /tokenize: makes tokens of texts. Offsets count bytes. Only tokens that
// the tokenizer added are special, and have none.
NewCodec NewTeiTokenizeCodec;
// POST /decode: makes texts of ids.
NewCodec NewTeiDecodeCodec;
// GET /info: the model that /embed asks, or if there is none /rerank, else
// /predict.
NewCodec NewTeiInfoCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_TEI_H_
