#ifndef TRIVIUM_SERVER_CALLS_CONVERT_MODEL_CALLS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_MODEL_CALLS_H_

#include "model/model.h"
#include "server/observability/rpc.h"

namespace trivium {

// True if the model can serve such calls. True for calls that are about any
// model, like GetModel.
bool ServesCall(const Model& model, Rpc rpc);
// True if Rerank compares embeddings: the model makes sparse ones or
// multi-vectors, and does not classify pairs.
bool RanksByEmbeddings(const Model& model);
// True if Generate takes chats for the model.
bool TakesChats(const Model& model);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_MODEL_CALLS_H_
