#ifndef TRIVIUM_LIBRARY_ENGINE_H_
#define TRIVIUM_LIBRARY_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {

// The API in this process: loads models and runs calls without a server, gRPC
// or ports. Requests, responses, checks and errors are those of the server's
// calls (proto/trivium/v1). Concurrent calls share batches, as in a server.
// Installed as trivium/engine.h; find_package(Trivium COMPONENTS engine)
// defines the target Trivium::engine.
//
//   absl::StatusOr<std::unique_ptr<LocalEngine>> engine =
//       LocalEngine::Create({.models = {{.folder = "/models/opus-mt-en-de"}}});
//   v1::TranslateRequest request;
//   request.add_inputs()->set_text("I ate an apple.");
//   absl::StatusOr<v1::TranslateResponse> response =
//       (*engine)->Translate(request);
//
// Threads: `workers` x `worker_threads` threads compute; five others wait,
// tokenize long texts and make responses. Create starts them all and the
// destructor ends them. Calls may come from any thread and block it, so a
// program has as many calls running as it has calling threads.
//
// The engine changes no state of the process except the sink of the log, below,
// and handles no signals. If a model's file is truncated while it is loaded,
// the process therefore ends (SIGBUS); a server would refuse the model.
class LocalEngine {
 public:
  struct Model {
    std::string folder;              // a Hugging Face folder, or a .gguf file
    std::string name = {};           // for requests; empty: the folder's name
    std::string precision = "auto";  // f32, bf16, int8, int4
    std::string kv_precision = "auto";  // of a decoder's keys and values
    bool vocabulary_shortlist = false;
  };
  enum class Severity { kInfo, kWarning, kError };
  struct Options {
    std::vector<Model> models;  // the first is the default of requests
    // 0: as many as suit the cores that the process may use.
    int workers = 0;
    int worker_threads = 0;
    // Size of each worker's cache of keys and values, for each model. 0: 256
    // MiB, or more if the longest sequence needs it; less if all caches
    // together would exceed a quarter of the memory. The same default as a
    // server's.
    int64_t kv_cache_bytes = 0;
    // Folder in which packed weights are kept, one file a model and precision,
    // for the next start and for other processes to map (--weights-cache). It
    // need not exist yet. Empty: none. The log says what came of it.
    std::string weights_cache = {};
    // Receives log messages, a line at a time, without a newline; never texts
    // of requests. Must not block. Null: messages are dropped. A process has
    // one log: that of the engine that was created last.
    std::function<void(Severity, std::string_view)> log;
    // Starts `run` on a new thread, at once, and returns a function that waits
    // for its end; returns null if no thread can be had. Null: uses
    // std::thread.
    std::function<std::function<void()>(std::function<void()> run)>
        start_thread;
  };

  // Loads the models. The error names the file or option, and says what is
  // wrong with it and what to do.
  static absl::StatusOr<std::unique_ptr<LocalEngine>> Create(Options options);

  // No call may be running.
  virtual ~LocalEngine() = default;

  virtual absl::StatusOr<v1::EncodeResponse> Encode(
      const v1::EncodeRequest& request) = 0;
  virtual absl::StatusOr<v1::TranslateResponse> Translate(
      const v1::TranslateRequest& request) = 0;
  virtual absl::StatusOr<v1::ScoreResponse> Score(
      const v1::ScoreRequest& request) = 0;
  virtual absl::StatusOr<v1::ClassifyResponse> Classify(
      const v1::ClassifyRequest& request) = 0;
  virtual absl::StatusOr<v1::ClassifyTokensResponse> ClassifyTokens(
      const v1::ClassifyTokensRequest& request) = 0;
  virtual absl::StatusOr<v1::RerankResponse> Rerank(
      const v1::RerankRequest& request) = 0;
  virtual absl::StatusOr<v1::SimilarityResponse> Similarity(
      const v1::SimilarityRequest& request) = 0;
  virtual absl::StatusOr<v1::AnswerResponse> Answer(
      const v1::AnswerRequest& request) = 0;
  virtual absl::StatusOr<v1::FillMaskResponse> FillMask(
      const v1::FillMaskRequest& request) = 0;
  virtual absl::StatusOr<v1::TokenizeResponse> Tokenize(
      const v1::TokenizeRequest& request) = 0;
  virtual absl::StatusOr<v1::DetokenizeResponse> Detokenize(
      const v1::DetokenizeRequest& request) = 0;
  // Calls `on_event` on the caller's thread with each message as it is made. An
  // error from `on_event` cancels the call and is returned. A request to
  // `stop`, from any thread, cancels the call as well; the result is CANCELLED.
  virtual absl::Status Generate(
      const v1::GenerateRequest& request,
      const std::function<absl::Status(const v1::GenerateResponse&)>& on_event,
      std::stop_token stop = {}) = 0;

  virtual absl::StatusOr<v1::ListModelsResponse> ListModels() = 0;
  // An empty name means the first model.
  virtual absl::StatusOr<v1::Model> GetModel(const std::string& name) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_LIBRARY_ENGINE_H_
