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

// The API in this process: models that a program loads and asks itself, without
// a server, gRPC or ports. Requests, answers, checks and errors are those of
// the server's calls (proto/trivium/v1), and calls that are under way at once
// share batches, as there. Installed as trivium/engine.h; find_package(Trivium
// COMPONENTS engine) gives the target Trivium::engine.
//
//   absl::StatusOr<std::unique_ptr<LocalEngine>> engine =
//       LocalEngine::Create({.models = {{.folder = "/models/opus-mt-en-de"}}});
//   v1::TranslateRequest request;
//   request.add_inputs()->set_text("I ate an apple.");
//   absl::StatusOr<v1::TranslateResponse> response =
//       (*engine)->Translate(request);
//
// Threads: some compute (`workers` x `worker_threads`), five others wait,
// tokenize long texts and make answers; all are made in Create and end in the
// destructor. Calls may come from any thread, which waits; so a program has as
// many under way as it has threads that call.
//
// The process's own: nothing of it is changed but for the log's sink, below; no
// signal is handled. A file of a model that is cut short while it is loaded
// therefore ends the process (SIGBUS), where a server refuses the model.
class LocalEngine {
 public:
  struct Model {
    std::string folder;              // of Hugging Face's kind, or a .gguf file
    std::string name = {};           // as requests name it; empty: the folder
    std::string precision = "auto";  // f32, bf16, int8
    std::string kv_precision = "auto";  // of a decoder's keys and values
    bool vocabulary_shortlist = false;
  };
  enum class Severity { kInfo, kWarning, kError };
  struct Options {
    std::vector<Model> models;  // the first is asked where none is named
    // 0: as many as the cores that the process may use call for.
    int workers = 0;
    int worker_threads = 0;
    // Of each worker, for each model; 0: 256 MiB or what a longest sequence
    // takes, less where all of them would come to more than a quarter of the
    // memory, as a server has it.
    int64_t kv_cache_bytes = 0;
    // Gets what there is to tell, a line at a time, without a newline; never
    // texts of requests. It must not block. Null: nobody does. There is one of
    // the process: that of the engine that was made last.
    std::function<void(Severity, std::string_view)> log;
    // Runs `run` on a thread, at once, and returns what waits for its end; null
    // where there is no thread. Null: std::thread.
    std::function<std::function<void()>(std::function<void()> run)>
        start_thread;
  };

  // Loads the models. The error names the file or option, what is wrong with it
  // and what to do.
  static absl::StatusOr<std::unique_ptr<LocalEngine>> Create(Options options);

  // No call may be under way.
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
  virtual absl::StatusOr<v1::AnswerResponse> Answer(
      const v1::AnswerRequest& request) = 0;
  virtual absl::StatusOr<v1::FillMaskResponse> FillMask(
      const v1::FillMaskRequest& request) = 0;
  virtual absl::StatusOr<v1::TokenizeResponse> Tokenize(
      const v1::TokenizeRequest& request) = 0;
  virtual absl::StatusOr<v1::DetokenizeResponse> Detokenize(
      const v1::DetokenizeRequest& request) = 0;
  // Calls `on_event` on the caller's thread with each message as it comes; an
  // error from it cancels the call and is returned. So does `stop`, from any
  // thread: CANCELLED.
  virtual absl::Status Generate(
      const v1::GenerateRequest& request,
      const std::function<absl::Status(const v1::GenerateResponse&)>& on_event,
      std::stop_token stop = {}) = 0;

  virtual absl::StatusOr<v1::ListModelsResponse> ListModels() = 0;
  // Empty name: the first model.
  virtual absl::StatusOr<v1::Model> GetModel(const std::string& name) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_LIBRARY_ENGINE_H_
