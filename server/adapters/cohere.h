#ifndef TRIVIUM_SERVER_ADAPTERS_COHERE_H_
#define TRIVIUM_SERVER_ADAPTERS_COHERE_H_

#include "server/adapters/codec.h"

namespace trivium {

// POST /v1/rerank, as Cohere and Jina have it: sorts documents (texts, or
// objects with a text) by how well they answer a query. `return_documents`
// defaults to false, as Cohere's does.
NewCodec NewCohereRerankCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_COHERE_H_
