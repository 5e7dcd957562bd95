#ifndef TRIVIUM_SERVER_ADAPTERS_COHERE_H_
#define TRIVIUM_SERVER_ADAPTERS_COHERE_H_

#include "server/adapters/codec.h"

namespace trivium {

// POST /v1/rerank, as Cohere and Jina have it: documents (texts, or objects of
// a text) in the order in which they answer a query. `return_documents`:
// default false, as Cohere's.
NewCodec NewCohereRerankCodec;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_COHERE_H_
