#ifndef TRIVIUM_SERVER_OBSERVABILITY_RPC_H_
#define TRIVIUM_SERVER_OBSERVABILITY_RPC_H_

#include <string_view>

namespace trivium {

// The calls of the API, as metrics and logs name them.
enum class Rpc {
  kEncode,
  kTranslate,
  kTranslateStream,
  kGenerate,
  kTokenize,
  kListModels,
  kGetModel,
  kClassify,
  kRerank,
  kClassifyTokens,
  kFillMask,
  kAnswer,
  kEncodeStream,
  kDetokenize,
  kScore,
  kLoadModel,
  kReloadModel,
  kUnloadModel,
  kModelInfer,  // KServe's, if it became none of the other calls
  kTranslateDocument,
  kSimilarity,
};
inline constexpr int kRpcs = 21;

// "Encode", "TranslateStream"...
std::string_view RpcName(Rpc rpc);
// "trivium.v1.Inference/Encode"
std::string_view RpcMethod(Rpc rpc);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_RPC_H_
