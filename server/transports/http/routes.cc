// Tables of routes, of the twins that other servers have of these paths, and of
// hints for paths that they have and this server does not.
//
// What always holds:
// - A path is looked for as it is written first. Only one that is not found is
//   looked for without doubled slashes, then as a twin's.
// - Paths of trivium.v1 are found only as they are written.
// - Routes of one method, path and member are neighbours. Tables are searched
//   in their order.
#include "server/transports/http/routes.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "server/adapters/anthropic.h"
#include "server/adapters/cohere.h"
#include "server/adapters/completions.h"
#include "server/adapters/connect.h"
#include "server/adapters/deepl.h"
#include "server/adapters/hugging_face.h"
#include "server/adapters/json_body.h"
#include "server/adapters/kserve/kserve.h"
#include "server/adapters/kserve/rest.h"
#include "server/adapters/libre_translate.h"
#include "server/adapters/llama_server.h"
#include "server/adapters/make_prompt.h"
#include "server/adapters/ollama.h"
#include "server/adapters/openai.h"
#include "server/adapters/openai_responses.h"
#include "server/adapters/tei.h"
#include "server/adapters/tgi.h"
#include "server/adapters/vllm.h"
#include "server/calls/convert/model_calls.h"

namespace trivium {
namespace {

// Hugging Face's clients send this member to all pipelines but that of vectors.
constexpr std::string_view kParameters = "parameters";

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
    {"POST", "/trivium.v1.Inference/Similarity", Rpc::kSimilarity,
     NewSimilarity, nullptr, NewConnectCodec},
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
    {"GET", "/v1/models", Rpc::kListModels, NewListModels, nullptr,
     NewAnthropicModelsCodec, "", "", /*filled=*/false, kAnthropicVersion},
    {"GET", "/v1/models/", Rpc::kGetModel, NewGetModel, nullptr,
     NewOpenAiModelCodec},
    {"GET", "/v1/models/", Rpc::kGetModel, NewGetModel, nullptr,
     NewAnthropicModelCodec, "", "", /*filled=*/false, kAnthropicVersion},
    {"POST", "/v1/embeddings", Rpc::kEncode, NewEncode, nullptr,
     NewOpenAiEmbeddingsCodec},
    {"POST", "/v1/completions", Rpc::kGenerate, nullptr, NewCompletions,
     NewOpenAiCompletionsCodec},
    {"POST", "/v1/chat/completions", Rpc::kGenerate, nullptr, NewGenerate,
     NewOpenAiChatCodec},
    {"POST", "/v1/responses", Rpc::kGenerate, nullptr, NewGenerate,
     NewOpenAiResponsesCodec},
    {"POST", "/v1/responses/input_tokens", Rpc::kTokenize, NewMakePrompt,
     nullptr, NewOpenAiResponsesTokensCodec},

    {"POST", "/v1/messages", Rpc::kGenerate, nullptr, NewGenerate,
     NewAnthropicMessagesCodec},
    {"POST", "/v1/messages/count_tokens", Rpc::kTokenize, NewMakePrompt,
     nullptr, NewAnthropicCountTokensCodec},

    // TEI's. Its name for OpenAI's path:
    {"POST", "/embeddings", Rpc::kEncode, NewEncode, nullptr,
     NewOpenAiEmbeddingsCodec},
    {"POST", "/embed", Rpc::kEncode, NewEncode, nullptr, NewTeiEmbedCodec},
    {"POST", "/embed_all", Rpc::kEncode, NewEncode, nullptr,
     NewTeiEmbedAllCodec},
    {"POST", "/embed_sparse", Rpc::kEncode, NewEncode, nullptr,
     NewTeiEmbedSparseCodec},
    {"POST", "/similarity", Rpc::kSimilarity, NewSimilarity, nullptr,
     NewTeiSimilarityCodec},
    {"POST", "/rerank", Rpc::kRerank, NewRerank, nullptr, NewTeiRerankCodec},
    {"POST", "/rerank", Rpc::kRerank, NewRerank, nullptr, NewCohereRerankCodec,
     "documents"},
    {"POST", "/predict", Rpc::kClassify, NewClassify, nullptr,
     NewTeiPredictCodec},
    {"POST", "/tokenize", Rpc::kTokenize, NewTokenize, nullptr,
     NewTeiTokenizeCodec},
    {"POST", "/decode", Rpc::kDetokenize, NewDetokenize, nullptr,
     NewTeiDecodeCodec},
    {"POST", "/", Rpc::kRerank, NewRerank, nullptr, NewTeiRerankCodec, "texts"},
    {"POST", "/", Rpc::kSimilarity, NewSimilarity, nullptr,
     NewTeiSimilarityCodec, "inputs.source_sentence"},
    {"POST", "/", Rpc::kClassify, NewClassify, nullptr, NewTeiPredictCodec,
     "parameters.candidate_labels"},
    // TGI's. Its clients always send `stream`.
    {"POST", "/", Rpc::kGenerate, nullptr, NewGenerate, NewTgiRootCodec,
     "stream"},
    {"POST", "/", Rpc::kGenerate, nullptr, NewGenerate, NewTgiRootCodec,
     "parameters.max_new_tokens"},
    // Hugging Face's: the first model that does one of the tasks chooses.
    {"POST", "/", Rpc::kAnswer, NewAnswer, nullptr, NewHfAnswerCodec,
     "inputs.question"},
    {"POST", "/", Rpc::kClassify, NewClassify, nullptr, NewTeiPredictCodec,
     kParameters},
    {"POST", "/", Rpc::kClassifyTokens, NewClassifyTokens, nullptr,
     NewHfTokensCodec, kParameters},
    {"POST", "/", Rpc::kFillMask, NewFillMask, nullptr, NewHfFillMaskCodec,
     kParameters},
    {"POST", "/", Rpc::kTranslate, NewTranslate, nullptr, NewHfTextToTextCodec,
     kParameters},
    {"POST", "/", Rpc::kEncode, NewEncode, nullptr, NewTeiEmbedCodec,
     kParameters},
    {"POST", "/", Rpc::kGenerate, nullptr, NewGenerate, NewTgiRootCodec,
     kParameters},
    {"POST", "/", Rpc::kClassify, NewClassify, nullptr, NewTeiPredictCodec},
    {"POST", "/", Rpc::kEncode, NewEncode, nullptr, NewTeiRootEmbedCodec},
    {"GET", "/info", Rpc::kGetModel, NewGetModel, nullptr, NewTeiInfoCodec},

    {"POST", "/pipeline/feature-extraction", Rpc::kEncode, NewEncode, nullptr,
     NewTeiEmbedCodec},
    {"POST", "/pipeline/sentence-similarity", Rpc::kSimilarity, NewSimilarity,
     nullptr, NewTeiSimilarityCodec},
    {"POST", "/pipeline/text-classification", Rpc::kClassify, NewClassify,
     nullptr, NewTeiPredictCodec},
    {"POST", "/pipeline/zero-shot-classification", Rpc::kClassify, NewClassify,
     nullptr, NewTeiPredictCodec},
    {"POST", "/pipeline/token-classification", Rpc::kClassifyTokens,
     NewClassifyTokens, nullptr, NewHfTokensCodec},
    {"POST", "/pipeline/fill-mask", Rpc::kFillMask, NewFillMask, nullptr,
     NewHfFillMaskCodec},
    {"POST", "/pipeline/question-answering", Rpc::kAnswer, NewAnswer, nullptr,
     NewHfAnswerCodec},
    {"POST", "/pipeline/translation", Rpc::kTranslate, NewTranslate, nullptr,
     NewHfTranslationCodec},
    {"POST", "/pipeline/summarization", Rpc::kTranslate, NewTranslate, nullptr,
     NewHfSummarizationCodec},
    {"POST", "/pipeline/text-generation", Rpc::kGenerate, nullptr, NewGenerate,
     NewTgiRootCodec},

    {"POST", "/generate", Rpc::kGenerate, nullptr, NewGenerate,
     NewTgiGenerateCodec},
    {"POST", "/generate_stream", Rpc::kGenerate, nullptr, NewGenerate,
     NewTgiStreamCodec},

    // vLLM's.
    {"POST", "/score", Rpc::kRerank, NewRerank, nullptr, NewVllmScoreCodec},
    {"POST", "/v1/score", Rpc::kRerank, NewRerank, nullptr, NewVllmScoreCodec},
    {"POST", "/classify", Rpc::kClassify, NewClassify, nullptr,
     NewVllmClassifyCodec},
    {"POST", "/completion", Rpc::kGenerate, nullptr, NewGenerate,
     NewLlamaCompletionCodec},
    {"POST", "/apply-template", Rpc::kTokenize, NewMakePrompt, nullptr,
     NewLlamaTemplateCodec},
    {"GET", "/props", Rpc::kGetModel, NewGetModel, nullptr, NewLlamaPropsCodec},
    // vLLM's and llama-server's, beside TEI's.
    {"POST", "/tokenize", Rpc::kTokenize, NewTokenize, nullptr,
     NewVllmTokenizeCodec, "prompt"},
    {"POST", "/tokenize", Rpc::kTokenize, NewTokenize, nullptr,
     NewLlamaTokenizeCodec, "content"},
    {"POST", "/tokenize", Rpc::kTokenize, NewMakePrompt, nullptr,
     NewVllmChatTokensCodec, "messages"},
    {"POST", "/detokenize", Rpc::kDetokenize, NewDetokenize, nullptr,
     NewVllmDetokenizeCodec},

    {"POST", "/v1/rerank", Rpc::kRerank, NewRerank, nullptr,
     NewCohereRerankCodec},
    {"POST", "/v2/rerank", Rpc::kRerank, NewRerank, nullptr,
     NewCohereRerank2Codec},
    {"POST", "/infinity/rerank", Rpc::kRerank, NewRerank, nullptr,
     NewInfinityRerankCodec},
    {"POST", "/v1/embed", Rpc::kEncode, NewEncode, nullptr,
     NewCohereEmbed1Codec},
    {"POST", "/v2/embed", Rpc::kEncode, NewEncode, nullptr,
     NewCohereEmbedCodec},

    {"POST", "/v2/translate", Rpc::kTranslate, NewTranslate, nullptr,
     NewDeeplTranslateCodec},
    // The codecs of these paths make the whole answer. The call that they need
    // is ListModels, which costs nothing.
    {"GET", "/v2/languages", Rpc::kListModels, NewListModels, nullptr,
     NewDeeplLanguagesCodec},
    {"GET", "/v2/usage", Rpc::kListModels, NewListModels, nullptr,
     NewDeeplUsageCodec},
    {"GET", kDeeplGlossaries, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplGlossariesCodec},
    {"POST", kDeeplGlossaries, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplGlossariesCodec},
    {"GET", kDeeplGlossary, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplGlossariesCodec},
    {"DELETE", kDeeplGlossary, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplGlossariesCodec},
    {"GET", kDeeplMultilingual, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplMultilingualCodec},
    {"POST", kDeeplMultilingual, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplMultilingualCodec},
    {"GET", kDeeplMultilingualOne, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplMultilingualCodec, "", kDeeplEntries},
    {"GET", kDeeplMultilingualOne, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplMultilingualCodec},
    {"PUT", kDeeplMultilingualOne, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplMultilingualCodec, "", kDeeplDictionaries},
    {"PATCH", kDeeplMultilingualOne, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplMultilingualCodec},
    {"DELETE", kDeeplMultilingualOne, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplMultilingualCodec, "", kDeeplDictionaries},
    {"DELETE", kDeeplMultilingualOne, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplMultilingualCodec},
    {"GET", "/v2/glossary-language-pairs", Rpc::kListModels, NewListModels,
     nullptr, NewDeeplGlossaryPairsCodec},

    // KServe's. The first of a method that fits counts.
    {"GET", "/v2", Rpc::kListModels, NewKserveServerMetadata, nullptr,
     NewKserveCodec},
    {"GET", "/v2/health/live", Rpc::kListModels, NewKserveServerLive, nullptr,
     NewKserveCodec},
    {"GET", "/v2/health/ready", Rpc::kListModels, NewKserveServerReady, nullptr,
     NewKserveCodec},
    {"GET", kKserveAllStatistics, Rpc::kListModels, NewKserveModelStatistics,
     nullptr, NewKserveCodec},
    {"GET", kKserveModels, Rpc::kListModels, NewKserveModelStatistics, nullptr,
     NewKserveCodec, "", "/stats"},
    {"GET", kKserveModels, Rpc::kGetModel, NewKserveModelReady, nullptr,
     NewKserveCodec, "", "/ready"},
    {"GET", kKserveModels, Rpc::kGetModel, NewKserveModelMetadata, nullptr,
     NewKserveCodec},
    {"POST", kKserveModels, Rpc::kModelInfer, NewKserveInfer, nullptr,
     NewKserveInferCodec, "", "/infer"},
    {"POST", "/v2/repository/index", Rpc::kListModels, NewKserveRepositoryIndex,
     nullptr, NewKserveCodec},

    // A request to Ollama without a message, a prompt or an input loads the
    // model.
    {"POST", "/api/chat", Rpc::kGenerate, nullptr, NewGenerate,
     NewOllamaChatCodec, "messages", "", /*filled=*/true},
    {"POST", "/api/chat", Rpc::kGetModel, NewGetModel, nullptr,
     NewOllamaChatLoadCodec},
    {"POST", "/api/generate", Rpc::kGenerate, nullptr, NewGenerate,
     NewOllamaGenerateCodec, "prompt", "", /*filled=*/true},
    {"POST", "/api/generate", Rpc::kGetModel, NewGetModel, nullptr,
     NewOllamaGenerateLoadCodec},
    {"POST", "/api/embed", Rpc::kEncode, NewEncode, nullptr,
     NewOllamaEmbedCodec, "input", "", /*filled=*/true},
    {"POST", "/api/embed", Rpc::kGetModel, NewGetModel, nullptr,
     NewOllamaEmbedLoadCodec},
    {"POST", "/api/embeddings", Rpc::kEncode, NewEncode, nullptr,
     NewOllamaEmbeddingsCodec, "prompt", "", /*filled=*/true},
    {"POST", "/api/embeddings", Rpc::kGetModel, NewGetModel, nullptr,
     NewOllamaEmbeddingsLoadCodec},
    {"GET", "/api/tags", Rpc::kListModels, NewListModels, nullptr,
     NewOllamaTagsCodec},
    {"GET", "/api/ps", Rpc::kListModels, NewListModels, nullptr,
     NewOllamaPsCodec},
    {"GET", "/api/version", Rpc::kListModels, NewListModels, nullptr,
     NewOllamaVersionCodec},
    {"POST", "/api/show", Rpc::kGetModel, NewGetModel, nullptr,
     NewOllamaShowCodec},

    {"POST", "/translate", Rpc::kTranslate, NewTranslate, nullptr,
     NewLibreTranslateCodec},
    {"POST", "/detect", Rpc::kListModels, NewListModels, nullptr,
     NewLibreDetectCodec},
    {"GET", "/languages", Rpc::kListModels, NewListModels, nullptr,
     NewLibreLanguagesCodec},
    {"GET", "/frontend/settings", Rpc::kListModels, NewListModels, nullptr,
     NewLibreSettingsCodec},
    {"POST", "/translate_file", Rpc::kTranslate, NewTranslate, nullptr,
     NewLibreFileCodec},
    {"GET", kDownloadPath, Rpc::kListModels, NewListModels, nullptr,
     NewLibreDownloadCodec},

    {"POST", kDeeplDocuments, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplDocumentCodec},
    {"POST", kDeeplDocument, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplDocumentResultCodec, "", kDeeplDocumentResult},
    {"POST", kDeeplDocument, Rpc::kListModels, NewListModels, nullptr,
     NewDeeplDocumentStatusCodec},
};

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

namespace {

bool SharesPath(const Route& route, const Route& other) {
  return route.method == other.method && route.path == other.path &&
         route.ending == other.ending;
}

bool SharesRequest(const Route& route, const Route& other) {
  return SharesPath(route, other) && route.header == other.header;
}

// Without doubled slashes and without one at the end.
std::string Tidied(std::string_view path) {
  std::string tidy;
  for (const char c : path) {
    if (c != '/' || !tidy.ends_with('/')) tidy += c;
  }
  if (tidy.size() > 1 && tidy.ends_with('/')) tidy.pop_back();
  return tidy;
}

// llama-server's without /v1, which a client's base URL may lack, and its names
// of /rerank; TEI's for SageMaker.
constexpr PathTwin kTwins[] = {
    {"GET", "/models", "/v1/models"},
    {"POST", "/completions", "/v1/completions"},
    {"POST", "/chat/completions", "/v1/chat/completions"},
    {"POST", "/responses", "/v1/responses"},
    {"POST", "/responses/input_tokens", "/v1/responses/input_tokens"},
    {"POST", "/reranking", "/rerank"},
    {"POST", "/v1/reranking", "/v1/rerank"},
    {"POST", "/invocations", "/"},
};

// Advice for paths that begin with `start` and do not exist. The first that
// fits counts.
struct PathHint {
  std::string_view start, text;
};
constexpr PathHint kHints[] = {
    {"/v1/responses/",
     ": responses are not stored here; keep the answers of "
     "POST /v1/responses, and send their items in the next request's input"},
    {"/v1/v1/", ": /v1 is there twice; leave it out of the client's base URL"},
    {"/v1/chat/completions/",
     ": completions are not stored here; keep the answers"},
    {"/v1/messages/batches",
     ": there are no batches; send the requests to /v1/messages"},
    {"/v1/batches", ": there are no batches; send the requests one by one"},
    {"/infill", "; /v1/completions continues a text, and nothing fills one in"},
    {"/embedding", "; /v1/embeddings turns texts into vectors"},
    {"/pooling", "; /v1/embeddings turns texts into vectors"},
    {"/slots", "; there are no slots, and --metrics-listen tells the load"},
    {"/lora-adapters", "; an adapter is a part of a model of --model"},
    {"/version", "; /api/version tells the version"},
    {"/healthz", "; /health tells whether the server is ready"},
    {"/readyz", "; /health tells whether the server is ready"},
    {"/livez", "; /health tells whether the server is ready"},
    {"/v1/health", "; /health tells whether the server is ready"},
    {"/pipeline/",
     "; the tasks are feature-extraction, sentence-similarity, "
     "text-classification, zero-shot-classification, token-classification, "
     "fill-mask, question-answering, translation, summarization and "
     "text-generation"},
    {"/openai/", ": the paths of OpenAI's shape begin with /v1"},
    {"/api/v1/", ": the paths of OpenAI's shape begin with /v1"},
    {"/suggest", ": suggestions are not kept here"},
    {"/docs", "; /openapi.json describes the paths"},
};

// Adds a method of a path, unless it was the last one added: the routes of one
// method are neighbours.
void AddMethod(std::string_view method, std::string* methods) {
  if (methods->ends_with(method)) return;
  if (!methods->empty()) *methods += ", ";
  *methods += method;
}

// True if `path` is the route's prefix, a name, and the route's ending.
bool HasName(const Route& route, std::string_view path) {
  return path.size() > route.path.size() + route.ending.size() &&
         path.starts_with(route.path) && path.ends_with(route.ending);
}

// HEAD finds the routes of GET.
bool TakesMethod(std::string_view routes, std::string_view method) {
  return routes == method || (routes == "GET" && method == "HEAD");
}

RouteMatch FindWritten(std::string_view method, std::string_view path) {
  RouteMatch match;
  for (const Route& route : kRoutes) {
    const bool named = route.path.ends_with('/') && route.path != "/";
    if (!(named ? HasName(route, path) : path == route.path)) continue;
    if (TakesMethod(route.method, method)) {
      return {.route = &route, .path = std::string(path)};
    }
    AddMethod(route.method == "GET" ? "GET, HEAD" : route.method,
              &match.allowed);
  }
  return match;
}

}  // namespace

std::span<const PathTwin> PathTwins() { return kTwins; }

RouteMatch FindRoute(std::string_view method, std::string_view path) {
  const RouteMatch match = FindWritten(method, path);
  if (match.route != nullptr || !match.allowed.empty()) return match;
  const std::string tidy = Tidied(path);
  constexpr std::string_view kOwnCalls = "/trivium.";
  if (tidy.starts_with(kOwnCalls)) return match;
  const auto twin = std::find_if(
      std::begin(kTwins), std::end(kTwins), [&](const PathTwin& each) {
        return each.path == tidy && TakesMethod(each.method, method);
      });
  return FindWritten(method, twin == std::end(kTwins) ? tidy : twin->own);
}

std::string_view HintFor(std::string_view path) {
  for (const PathHint& hint : kHints) {
    if (path.starts_with(hint.start)) return hint.text;
  }
  return "";
}

const Route& ChooseByHeader(const Route& route, const RequestHead& head) {
  for (const Route& other : kRoutes) {
    if (SharesPath(route, other) && !other.header.empty() &&
        !head.header(std::string(other.header).c_str()).empty()) {
      return other;
    }
  }
  return route;
}

const Route& ChooseRoute(const Route& route, std::string_view body,
                         const AllowedModels& models) {
  std::string_view member, tried;
  for (const Route& other : kRoutes) {
    // Neighbours have the same member, for which the body is searched once.
    if (!SharesRequest(route, other) || other.member.empty() ||
        other.member == tried) {
      continue;
    }
    tried = other.member;
    if (!HasMember(body, tried, other.filled)) continue;
    member = tried;
    break;
  }
  std::vector<const Route*> fitting;
  for (const Route& other : kRoutes) {
    if (SharesRequest(route, other) && other.member == member) {
      fitting.push_back(&other);
    }
  }
  if (fitting.size() == 1) return *fitting.front();
  for (const ModelHandle& model : models.List()) {
    for (const Route* const other : fitting) {
      if (ServesCall(*model->model, other->rpc)) return *other;
    }
  }
  return fitting.empty() ? route : *fitting.front();
}

}  // namespace trivium
