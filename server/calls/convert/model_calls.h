#ifndef TRIVIUM_SERVER_CALLS_CONVERT_MODEL_CALLS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_MODEL_CALLS_H_

#include <functional>
#include <string>

#include "model/model.h"
#include "server/observability/rpc.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// True if the model can serve such calls. True for calls that are about any
// model, like GetModel.
bool ServesCall(const Model& model, Rpc rpc);
// The calls in which models differ, in the order of the API.
inline constexpr Rpc kCallsOfModels[] = {Rpc::kEncode,
                                         Rpc::kEncodeStream,
                                         Rpc::kTranslate,
                                         Rpc::kTranslateStream,
                                         Rpc::kTranslateDocument,
                                         Rpc::kGenerate,
                                         Rpc::kScore,
                                         Rpc::kTokenize,
                                         Rpc::kDetokenize,
                                         Rpc::kClassify,
                                         Rpc::kRerank,
                                         Rpc::kSimilarity,
                                         Rpc::kClassifyTokens,
                                         Rpc::kFillMask,
                                         Rpc::kAnswer};
// Those that the model serves, for an error: "Encode, Tokenize, Similarity".
// Leaves out the streams of calls that are named.
std::string NamesOfServedCalls(const Model& model);

// True for a model that has what a request needs beside its call. A request
// that names no model goes to the first such model. Null: it needs nothing.
using ModelNeed = std::function<bool(const Model&)>;
// The embeddings that the request asks for.
ModelNeed NeedOf(const v1::EncodeRequest& request);
// A label of entailment, if the request has labels of its own.
ModelNeed NeedOf(const v1::ClassifyRequest& request);
template <typename Request>
ModelNeed NeedOf(const Request&) {
  return nullptr;
}

// True if Rerank compares embeddings: the model makes sparse ones or
// multi-vectors, and does not classify pairs.
bool RanksByEmbeddings(const Model& model);
// True if Generate takes chats for the model.
bool TakesChats(const Model& model);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_MODEL_CALLS_H_
