#include "server/observability/rpc.h"

namespace trivium {

std::string_view RpcName(Rpc rpc) {
  static constexpr std::string_view kNames[kRpcs] = {
      "Encode",       "Translate",      "TranslateStream", "Generate",
      "Tokenize",     "ListModels",     "GetModel",        "Classify",
      "Rerank",       "ClassifyTokens", "FillMask",        "Answer",
      "EncodeStream", "Detokenize",     "Score",           "LoadModel",
      "ReloadModel",  "UnloadModel",    "ModelInfer"};
  return kNames[static_cast<int>(rpc)];
}

}  // namespace trivium
