// LocalEngine: the server's handlers, batcher and models without its
// transports.
//
// Create loads the models first, since the number of workers and the size of
// their caches depend on the models' sizes. Then it starts the threads: those
// of the pools in the constructor, those of the batcher and the engines in
// Open. A call runs a handler with a LocalCall as its transport.
//
// The end is in this order: the calls are cancelled, the batcher drains, then
// the members are destroyed from last to first.
#include "library/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/cpu_limits.h"
#include "base/status.h"
#include "base/thread.h"
#include "library/local_call.h"
#include "model/model.h"
#include "model/weights_cache.h"
#include "server/batching/workers.h"
#include "server/calls/handlers.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

constexpr int kPoolThreads = 2;
// Limit of messages: larger than a server's, since the only client is the
// program itself.
constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr int kMostInputs = 1 << 20;

absl::StatusOr<ServedModel> LoadModel(const LocalEngine::Model& wanted,
                                      const std::string& weights_cache) {
  const std::string& name = wanted.name.empty() ? wanted.folder : wanted.name;
  const auto about = [&name](const absl::Status& status) {
    return absl::Status(
        status.code(),
        fmt::format("model '{}': {}", name, std::string(status.message())));
  };
  LoadOptions load;
  load.vocabulary_shortlist = wanted.vocabulary_shortlist;
  load.weights_cache = weights_cache;
  for (const auto& [text, precision] :
       {std::pair(&wanted.precision, &load.precision),
        std::pair(&wanted.kv_precision, &load.kv_precision)}) {
    const absl::StatusOr<Precision> parsed = ParsePrecision(*text);
    if (!parsed.ok()) return about(parsed.status());
    *precision = *parsed;
  }
  absl::StatusOr<std::unique_ptr<Model>> model =
      Model::Load(wanted.folder, load);
  if (!model.ok()) return about(model.status());
  const ModelInfo& info = (*model)->info();
  Log(spdlog::level::info, "model loaded",
      {{"model", name},
       {"family", info.family},
       {"precision", PrecisionName(info.precision)},
       {"isa", IsaName(info.isa)},
       {"revision", info.revision},
       {"weights_cache", WeightsCacheName(info.weights_cache.kind)}});
  for (const std::string& problem :
       {info.weights_cache.broken, info.weights_cache.not_written}) {
    if (problem.empty()) continue;
    Log(spdlog::level::warn, "packed weights are not used or not kept",
        {{"model", name}, {"reason", problem}});
  }
  if ((*model)->tokenizer() == nullptr) {
    Log(spdlog::level::warn,
        "the folder has no tokenizer files: the model takes token ids only",
        {{"model", name}});
  }
  return ServedModel{.name = name, .model = *std::move(model)};
}

LocalEngine::Severity SeverityOf(LogLevel level) {
  if (level >= spdlog::level::err) return LocalEngine::Severity::kError;
  if (level == spdlog::level::warn) return LocalEngine::Severity::kWarning;
  return LocalEngine::Severity::kInfo;
}

// Redirects the log to Options::log while it lives.
class LogUse {
 public:
  using Sink = std::function<void(LocalEngine::Severity, std::string_view)>;

  explicit LogUse(const Sink& sink) : used_(sink != nullptr) {
    if (!used_) return;
    SetLogSink(spdlog::level::info,
               [sink](LogLevel level, std::string_view line) {
                 sink(SeverityOf(level), line);
               });
  }
  ~LogUse() {
    if (used_) SetLogSink(spdlog::level::off, nullptr);
  }
  LogUse(const LogUse&) = delete;
  LogUse& operator=(const LogUse&) = delete;

 private:
  const bool used_;
};

class LocalEngineImpl : public LocalEngine {
 public:
  LocalEngineImpl(std::unique_ptr<LogUse> log, const Workers& workers)
      : log_(std::move(log)),
        workers_(workers),
        metrics_(workers.count),
        calls_(Clock::Real()),
        tokenizing_(kPoolThreads),
        delivery_(kPoolThreads) {}

  ~LocalEngineImpl() override {
    calls_.Drain(absl::ZeroDuration());
    if (batcher_ != nullptr) batcher_->Drain(absl::ZeroDuration());
  }

  // Only this function and the constructor use Options::start_thread.
  absl::Status Open(std::vector<ServedModel> models) {
    if (tokenizing_.threads() == 0 || delivery_.threads() == 0) {
      return absl::ResourceExhaustedError("no thread could be started");
    }
    Batcher::Options batching;
    batching.workers = workers_.count;
    batching.max_waiting_tokens = int64_t{1} << 40;
    batching.observer = &metrics_;
    TRIVIUM_ASSIGN_OR_RETURN(batcher_, Batcher::Create(batching));
    for (ServedModel& loaded : models) {
      loaded.kv_cache_bytes = workers_.kv_cache_bytes * workers_.count;
      const auto model = std::make_shared<const ServedModel>(std::move(loaded));
      Batcher::Engines engines;
      for (int i = 0; i < workers_.count; ++i) {
        TRIVIUM_ASSIGN_OR_RETURN(
            engines.emplace_back(),
            model->model->NewEngine(
                {workers_.kv_cache_bytes, workers_.threads}));
      }
      metrics_.AddModel(*model);
      TRIVIUM_RETURN_IF_ERROR(batcher_->AddModel(model, std::move(engines)));
      TRIVIUM_RETURN_IF_ERROR(environment_.models.Add(model));
    }
    environment_.limits.max_request_bytes = kMostBytes;
    environment_.limits.max_inputs = kMostInputs;
    environment_.limits.max_response_bytes = kMostBytes;
    environment_.max_waiting_tokens = batching.max_waiting_tokens;
    environment_.batcher = batcher_.get();
    environment_.metrics = &metrics_;
    environment_.calls = &calls_;
    environment_.refusals = &refusals_;
    environment_.tokenizing = &tokenizing_;
    environment_.delivery = &delivery_;
    return absl::OkStatus();
  }

  absl::StatusOr<v1::EncodeResponse> Encode(
      const v1::EncodeRequest& request) override {
    return Run<v1::EncodeResponse>(NewEncode, request);
  }
  absl::StatusOr<v1::TranslateResponse> Translate(
      const v1::TranslateRequest& request) override {
    return Run<v1::TranslateResponse>(NewTranslate, request);
  }
  absl::StatusOr<v1::ScoreResponse> Score(
      const v1::ScoreRequest& request) override {
    return Run<v1::ScoreResponse>(NewScore, request);
  }
  absl::StatusOr<v1::ClassifyResponse> Classify(
      const v1::ClassifyRequest& request) override {
    return Run<v1::ClassifyResponse>(NewClassify, request);
  }
  absl::StatusOr<v1::ClassifyTokensResponse> ClassifyTokens(
      const v1::ClassifyTokensRequest& request) override {
    return Run<v1::ClassifyTokensResponse>(NewClassifyTokens, request);
  }
  absl::StatusOr<v1::RerankResponse> Rerank(
      const v1::RerankRequest& request) override {
    return Run<v1::RerankResponse>(NewRerank, request);
  }
  absl::StatusOr<v1::SimilarityResponse> Similarity(
      const v1::SimilarityRequest& request) override {
    return Run<v1::SimilarityResponse>(NewSimilarity, request);
  }
  absl::StatusOr<v1::AnswerResponse> Answer(
      const v1::AnswerRequest& request) override {
    return Run<v1::AnswerResponse>(NewAnswer, request);
  }
  absl::StatusOr<v1::FillMaskResponse> FillMask(
      const v1::FillMaskRequest& request) override {
    return Run<v1::FillMaskResponse>(NewFillMask, request);
  }
  absl::StatusOr<v1::TokenizeResponse> Tokenize(
      const v1::TokenizeRequest& request) override {
    return Run<v1::TokenizeResponse>(NewTokenize, request);
  }
  absl::StatusOr<v1::DetokenizeResponse> Detokenize(
      const v1::DetokenizeRequest& request) override {
    return Run<v1::DetokenizeResponse>(NewDetokenize, request);
  }
  absl::Status Generate(
      const v1::GenerateRequest& request,
      const std::function<absl::Status(const v1::GenerateResponse&)>& on_event,
      std::stop_token stop) override {
    v1::GenerateResponse last;
    LocalCall call(
        request, &last, [&on_event](const google::protobuf::Message& message) {
          return on_event(static_cast<const v1::GenerateResponse&>(message));
        });
    const std::unique_ptr<Handler> handler =
        NewGenerate(environment_, Context(), &call);
    return call.Run(handler.get(), std::move(stop));
  }
  absl::StatusOr<v1::ListModelsResponse> ListModels() override {
    return Run<v1::ListModelsResponse>(NewListModels, v1::ListModelsRequest());
  }
  absl::StatusOr<v1::Model> GetModel(const std::string& name) override {
    v1::GetModelRequest request;
    request.set_name(name);
    return Run<v1::Model>(NewGetModel, request);
  }

 private:
  static CallContext Context() {
    return {.peer = "this process", .deadline = absl::InfiniteFuture()};
  }

  template <typename Response>
  absl::StatusOr<Response> Run(NewHandler* new_handler,
                               const google::protobuf::Message& request) {
    Response response;
    LocalCall call(request, &response, nullptr);
    const std::unique_ptr<Handler> handler =
        new_handler(environment_, Context(), &call);
    if (absl::Status status = call.Run(handler.get(), {}); !status.ok()) {
      return status;
    }
    return response;
  }

  const std::unique_ptr<LogUse> log_;
  const Workers workers_;
  Metrics metrics_;
  // Members are destroyed from last to first: the pools finish the batcher's
  // results while the calls' environment still exists.
  std::unique_ptr<Batcher> batcher_;
  Environment environment_;
  RefusalLog refusals_;
  CallRegistry calls_;
  WorkPool tokenizing_;
  WorkPool delivery_;
};

absl::Status CheckOptions(const LocalEngine::Options& options) {
  if (options.models.empty()) {
    return absl::InvalidArgumentError("models is empty: give at least one");
  }
  std::set<std::string> names;
  for (const LocalEngine::Model& model : options.models) {
    if (!names.insert(model.name.empty() ? model.folder : model.name).second) {
      return absl::InvalidArgumentError(
          fmt::format("models: two are named '{}'; give each a name of its own",
                      *names.rbegin()));
    }
  }
  if (options.workers < 0 || options.worker_threads < 0) {
    return absl::InvalidArgumentError(
        "workers and worker_threads must be 1 or more, or 0 for a number that "
        "suits the cores");
  }
  if (options.kv_cache_bytes < 0) {
    return absl::InvalidArgumentError(fmt::format(
        "kv_cache_bytes is {}; give 1 or more, or 0 for a server's default",
        options.kv_cache_bytes));
  }
  return absl::OkStatus();
}

template <typename Number>
std::optional<Number> UnlessZero(Number number) {
  return number == 0 ? std::nullopt : std::optional<Number>(number);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalEngine>> LocalEngine::Create(
    Options options) try {
  TRIVIUM_RETURN_IF_ERROR(CheckOptions(options));
  LeaveSignalsAlone();
  auto log = std::make_unique<LogUse>(options.log);
  std::vector<ServedModel> models;
  ModelSizes sizes;
  for (const Model& model : options.models) {
    TRIVIUM_ASSIGN_OR_RETURN(ServedModel loaded,
                             LoadModel(model, options.weights_cache));
    const ModelInfo& info = loaded.model->info();
    sizes.Add(info.weight_bytes, info.longest_kv_bytes);
    models.push_back(std::move(loaded));
  }
  TRIVIUM_ASSIGN_OR_RETURN(Workers workers,
                           ChooseWorkers(UnlessZero(options.workers),
                                         UnlessZero(options.worker_threads),
                                         UsableCores(), sizes.weight_bytes));
  workers.kv_cache_bytes = ChooseKvCacheBytes(
      UnlessZero(options.kv_cache_bytes), workers.count, sizes, UsableMemory());
  const UseThreadSource threads(options.start_thread);
  auto engine = std::make_unique<LocalEngineImpl>(std::move(log), workers);
  TRIVIUM_RETURN_IF_ERROR(engine->Open(std::move(models)));
  return engine;
} catch (const std::system_error&) {
  return absl::ResourceExhaustedError("no thread could be started");
}

}  // namespace trivium
