#include "server/transports/http/routes.h"

#include "server/adapters/cohere.h"
#include "server/adapters/completions.h"
#include "server/adapters/connect.h"
#include "server/adapters/libre_translate.h"
#include "server/adapters/openai.h"
#include "server/adapters/tei.h"

namespace trivium {
namespace {

constexpr Route kRoutes[] = {
    // Connect's protocol.
    {"POST", "/trivium.v1.Inference/Encode", Rpc::kEncode, NewEncode, nullptr,
     NewConnectCodec},
    {"POST", "/trivium.v1.Inference/Translate", Rpc::kTranslate, NewTranslate,
     nullptr, NewConnectCodec},
    {"POST", "/trivium.v1.Inference/Generate", Rpc::kGenerate, nullptr,
     NewGenerate, NewConnectStreamCodec},
    {"POST", "/trivium.v1.Inference/Score", Rpc::kScore, NewScore, nullptr,
     NewConnectCodec},
    {"POST", "/trivium.v1.Inference/Tokenize", Rpc::kTokenize, NewTokenize,
     nullptr, NewConnectCodec},
    {"POST", "/trivium.v1.Inference/Detokenize", Rpc::kDetokenize,
     NewDetokenize, nullptr, NewConnectCodec},
    {"POST", "/trivium.v1.Inference/Classify", Rpc::kClassify, NewClassify,
     nullptr, NewConnectCodec},
    {"POST", "/trivium.v1.Inference/Rerank", Rpc::kRerank, NewRerank, nullptr,
     NewConnectCodec},
    {"POST", "/trivium.v1.Inference/ClassifyTokens", Rpc::kClassifyTokens,
     NewClassifyTokens, nullptr, NewConnectCodec},
    {"POST", "/trivium.v1.Inference/Answer", Rpc::kAnswer, NewAnswer, nullptr,
     NewConnectCodec},
    {"POST", "/trivium.v1.Inference/FillMask", Rpc::kFillMask, NewFillMask,
     nullptr, NewConnectCodec},
    {"POST", "/trivium.v1.Models/ListModels", Rpc::kListModels, NewListModels,
     nullptr, NewConnectCodec},
    {"POST", "/trivium.v1.Models/GetModel", Rpc::kGetModel, NewGetModel,
     nullptr, NewConnectCodec},
    {"POST", "/trivium.v1.Models/LoadModel", Rpc::kLoadModel, NewLoadModel,
     nullptr, NewConnectCodec},
    {"POST", "/trivium.v1.Models/ReloadModel", Rpc::kReloadModel,
     NewReloadModel, nullptr, NewConnectCodec},
    {"POST", "/trivium.v1.Models/UnloadModel", Rpc::kUnloadModel,
     NewUnloadModel, nullptr, NewConnectCodec},

    {"GET", "/v1/models", Rpc::kListModels, NewListModels, nullptr,
     NewOpenAiModelsCodec},
    {"GET", "/v1/models/", Rpc::kGetModel, NewGetModel, nullptr,
     NewOpenAiModelCodec},
    {"POST", "/v1/embeddings", Rpc::kEncode, NewEncode, nullptr,
     NewOpenAiEmbeddingsCodec},
    {"POST", "/v1/completions", Rpc::kGenerate, nullptr, NewCompletions,
     NewOpenAiCompletionsCodec},
    {"POST", "/v1/chat/completions", Rpc::kGenerate, nullptr, NewGenerate,
     NewOpenAiChatCodec},

    {"POST", "/embed", Rpc::kEncode, NewEncode, nullptr, NewTeiEmbedCodec},
    {"POST", "/rerank", Rpc::kRerank, NewRerank, nullptr, NewTeiRerankCodec},
    {"POST", "/predict", Rpc::kClassify, NewClassify, nullptr,
     NewTeiPredictCodec},
    {"POST", "/tokenize", Rpc::kTokenize, NewTokenize, nullptr,
     NewTeiTokenizeCodec},
    {"GET", "/info", Rpc::kGetModel, NewGetModel, nullptr, NewTeiInfoCodec},

    {"POST", "/v1/rerank", Rpc::kRerank, NewRerank, nullptr,
     NewCohereRerankCodec},

    {"POST", "/translate", Rpc::kTranslate, NewTranslate, nullptr,
     NewLibreTranslateCodec},
    {"POST", "/detect", Rpc::kListModels, NewListModels, nullptr,
     NewLibreDetectCodec},
    {"GET", "/languages", Rpc::kListModels, NewListModels, nullptr,
     NewLibreLanguagesCodec},
    {"POST", "/translate_file", Rpc::kTranslate, NewTranslate, nullptr,
     NewLibreFileCodec},
    {"GET", kDownloadPath, Rpc::kListModels, NewListModels, nullptr,
     NewLibreDownloadCodec},
};

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

RouteMatch FindRoute(std::string_view method, std::string_view path) {
  RouteMatch match;
  for (const Route& route : kRoutes) {
    const bool same = route.path.ends_with('/')
                          ? path.starts_with(route.path) && path != route.path
                          : path == route.path;
    if (!same) continue;
    if (route.method == method || (route.method == "GET" && method == "HEAD")) {
      return {&route, method};
    }
    match.allowed = route.method == "GET" ? "GET, HEAD" : route.method;
  }
  return match;
}

}  // namespace trivium
