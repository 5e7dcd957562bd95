#ifndef TRIVIUM_SERVER_ADAPTERS_COHERE_H_
#define TRIVIUM_SERVER_ADAPTERS_COHERE_H_

#include <string_view>

#include "server/adapters/codec.h"

namespace trivium {

// POST /v1/rerank, as Cohere's first version, Jina and vLLM have it: sorts
// documents (texts, or objects with a text) by how well they answer a query.
// `return_documents` defaults to false, as Cohere's does.
NewCodec NewCohereRerankCodec;
// POST /v2/rerank, Cohere's second version: long documents are cut.
NewCodec NewCohereRerank2Codec;
// POST /infinity/rerank: the first, but a document of the answer is a text and
// no object. Infinity's own path is /rerank, as vLLM's, whose clients read
// objects.
NewCodec NewInfinityRerankCodec;

// POST /v2/embed: vectors of texts, in several types at once. `input_type`
// chooses the model's prompt for queries, documents, ..., if it has one.
NewCodec NewCohereEmbedCodec;
// POST /v1/embed, the first version: floats alone if the request names no type.
NewCodec NewCohereEmbed1Codec;

// The whole answer to a call that failed. `inputs` is the request's name for
// the call's inputs.
HttpAnswer CohereFailure(const Ending& ending, std::string_view inputs);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_COHERE_H_
