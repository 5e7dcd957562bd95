#include "server/observability/rpc.h"

namespace trivium {

std::string_view RpcMethod(Rpc rpc) {
  static constexpr std::string_view kMethods[kRpcs] = {
      "trivium.v1.Inference/Encode",
      "trivium.v1.Inference/Translate",
      "trivium.v1.Inference/TranslateStream",
      "trivium.v1.Inference/Generate",
      "trivium.v1.Inference/Tokenize",
      "trivium.v1.Models/ListModels",
      "trivium.v1.Models/GetModel",
      "trivium.v1.Inference/Classify",
      "trivium.v1.Inference/Rerank",
      "trivium.v1.Inference/ClassifyTokens",
      "trivium.v1.Inference/FillMask",
      "trivium.v1.Inference/Answer",
      "trivium.v1.Inference/EncodeStream",
      "trivium.v1.Inference/Detokenize",
      "trivium.v1.Inference/Score",
      "trivium.v1.Models/LoadModel",
      "trivium.v1.Models/ReloadModel",
      "trivium.v1.Models/UnloadModel",
      "inference.GRPCInferenceService/ModelInfer",
      "trivium.v1.Inference/TranslateDocument",
      "trivium.v1.Inference/Similarity"};
  return kMethods[static_cast<int>(rpc)];
}

std::string_view RpcName(Rpc rpc) {
  const std::string_view method = RpcMethod(rpc);
  return method.substr(method.find('/') + 1);
}

}  // namespace trivium
