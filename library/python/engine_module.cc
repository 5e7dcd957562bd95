// trivium_engine._engine: LocalEngine for Python. Requests and responses are
// passed as serialized messages of proto/trivium/v1. trivium.Model
// (client/python) makes and reads them with Python's own Protobuf. While the
// engine loads or works, this module touches no Python object and does not hold
// the interpreter's lock.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "library/engine.h"
#include "server/errors/rpc_status.h"

namespace py = pybind11;

namespace trivium {
namespace {

// Carries an absl::Status to Python, where it becomes StatusError.
class Failure : public std::exception {
 public:
  explicit Failure(const absl::Status& status)
      : status_(ToRpcStatus(status).SerializeAsString()) {}
  const std::string& status() const { return status_; }

 private:
  const std::string status_;  // a google.rpc.Status
};

void Check(const absl::Status& status) {
  if (!status.ok()) throw Failure(status);
}

template <typename Message>
Message Parse(const std::string& serialized) {
  Message message;
  if (!message.ParseFromString(serialized)) {
    throw Failure(absl::InvalidArgumentError(
        "the request is not a message of this version of trivium_engine"));
  }
  return message;
}

// Remembers which process it was made in. A forked process has none of its
// parent's threads, so nothing may wait for them there.
class Home {
 public:
  absl::Status Check() const {
    if (here()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "the model was loaded by another process, and a fork does not have its "
        "threads: load it in this one, or start processes with "
        "multiprocessing's spawn");
  }
  bool here() const { return getpid() == process_; }

 private:
  const pid_t process_ = getpid();
};

// Never destroys the object that it points to.
template <typename Pointer>
void Leave(Pointer pointer) {
  new Pointer(std::move(pointer));
}

// A Generate call on a thread of its own, since Python pulls its events.
class Generation {
 public:
  Generation(std::shared_ptr<LocalEngine> engine, v1::GenerateRequest request)
      : thread_([this, engine = std::move(engine),
                 request = std::move(request)](std::stop_token stop) mutable {
          const absl::Status status = engine->Generate(
              request,
              [this](const v1::GenerateResponse& event) {
                return Offer(event.SerializeAsString());
              },
              stop);
          // Released before Python learns of the end and may close the model.
          engine.reset();
          MutexLock lock(&mutex_);
          status_ = status;
          changed_.SignalAll();
        }) {}
  // Cancels the call and waits for its end.
  ~Generation() { Cancel(); }

  // Waits for the next event. Returns nothing if the call has ended with OK.
  std::optional<std::string> Next() {
    Check(home_.Check());
    MutexLock lock(&mutex_);
    while (events_.empty() && !status_) changed_.Wait(&mutex_);
    if (events_.empty()) {
      Check(*status_);
      return std::nullopt;
    }
    std::string event = std::move(events_.front());
    events_.pop_front();
    changed_.SignalAll();
    return event;
  }

  bool here() const { return home_.here(); }

  // Cancels the call and drops unread events.
  void Cancel() {
    if (!home_.here()) return;
    thread_.request_stop();
    MutexLock lock(&mutex_);
    cancelled_ = true;
    events_.clear();
    changed_.SignalAll();
  }

 private:
  // The most unread events. At the limit the call waits, so that a slow reader
  // slows it down.
  static constexpr size_t kMostWaiting = 16;

  absl::Status Offer(std::string event) {
    MutexLock lock(&mutex_);
    while (events_.size() >= kMostWaiting && !cancelled_) {
      changed_.Wait(&mutex_);
    }
    if (cancelled_) return absl::CancelledError("the call was cancelled");
    events_.push_back(std::move(event));
    changed_.SignalAll();
    return absl::OkStatus();
  }

  const Home home_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::string> events_ ABSL_GUARDED_BY(mutex_);  // serialized
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // The status of the call; unset while it runs.
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;  // last, since it uses the other members
};

// Owns the engine. It is destroyed when Close was called and all running calls
// have ended.
class Engine {
 public:
  Engine(std::string folder, std::string name, std::string precision,
         std::string kv_precision, bool vocabulary_shortlist, int workers,
         int worker_threads, int64_t kv_cache_bytes,
         std::string weights_cache) {
    LocalEngine::Options options;
    options.models = {{.folder = std::move(folder),
                       .name = std::move(name),
                       .precision = std::move(precision),
                       .kv_precision = std::move(kv_precision),
                       .vocabulary_shortlist = vocabulary_shortlist}};
    options.workers = workers;
    options.worker_threads = worker_threads;
    options.kv_cache_bytes = kv_cache_bytes;
    options.weights_cache = std::move(weights_cache);
    absl::StatusOr<std::unique_ptr<LocalEngine>> engine =
        LocalEngine::Create(std::move(options));
    Check(engine.status());
    engine_ = *std::move(engine);
  }

  ~Engine() { Close(); }

  std::shared_ptr<LocalEngine> Use() {
    Check(home_.Check());
    MutexLock lock(&mutex_);
    if (engine_ == nullptr) {
      throw Failure(absl::FailedPreconditionError("the model is closed"));
    }
    return engine_;
  }

  void Close() {
    std::shared_ptr<LocalEngine> closed;
    {
      MutexLock lock(&mutex_);
      closed.swap(engine_);
    }
    if (!home_.here()) Leave(std::move(closed));
  }

 private:
  const Home home_;
  Mutex mutex_;
  std::shared_ptr<LocalEngine> engine_ ABSL_GUARDED_BY(mutex_);
};

// Wraps a call of LocalEngine as a function from serialized request to
// serialized response.
template <typename Request, typename Response>
auto Unary(absl::StatusOr<Response> (LocalEngine::*call)(const Request&)) {
  return [call](Engine& engine, const std::string& request) {
    std::string answer;
    {
      const py::gil_scoped_release release;
      const absl::StatusOr<Response> response =
          (engine.Use().get()->*call)(Parse<Request>(request));
      Check(response.status());
      answer = response->SerializeAsString();
    }
    return py::bytes(answer);
  };
}

}  // namespace

PYBIND11_MODULE(_engine, module) {
  using Unlocked = py::call_guard<py::gil_scoped_release>;
  module.attr("__version__") = TRIVIUM_VERSION;

  static const py::handle status_error =
      py::exception<Failure>(module, "StatusError").release();
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      PyErr_SetObject(status_error.ptr(), py::bytes(failure.status()).ptr());
    }
  });

  py::class_<Generation, std::shared_ptr<Generation>>(module, "Generation")
      .def("next",
           [](Generation& generation) -> std::optional<py::bytes> {
             std::optional<std::string> event;
             {
               const py::gil_scoped_release release;
               event = generation.Next();
             }
             if (!event) return std::nullopt;
             return py::bytes(*event);
           })
      .def("cancel", &Generation::Cancel, Unlocked());

  py::class_<Engine>(module, "Engine")
      .def(py::init<std::string, std::string, std::string, std::string, bool,
                    int, int, int64_t, std::string>(),
           Unlocked(), py::arg("folder"), py::kw_only(), py::arg("name"),
           py::arg("precision"), py::arg("kv_precision"),
           py::arg("vocabulary_shortlist"), py::arg("workers"),
           py::arg("worker_threads"), py::arg("kv_cache_bytes"),
           py::arg("weights_cache"))
      .def("close", &Engine::Close, Unlocked())
      .def("encode", Unary(&LocalEngine::Encode))
      .def("translate", Unary(&LocalEngine::Translate))
      .def("score", Unary(&LocalEngine::Score))
      .def("classify", Unary(&LocalEngine::Classify))
      .def("classify_tokens", Unary(&LocalEngine::ClassifyTokens))
      .def("rerank", Unary(&LocalEngine::Rerank))
      .def("similarity", Unary(&LocalEngine::Similarity))
      .def("answer", Unary(&LocalEngine::Answer))
      .def("fill_mask", Unary(&LocalEngine::FillMask))
      .def("tokenize", Unary(&LocalEngine::Tokenize))
      .def("detokenize", Unary(&LocalEngine::Detokenize))
      .def("generate",
           [](Engine& engine, const std::string& request) {
             const py::gil_scoped_release release;
             return std::shared_ptr<Generation>(
                 new Generation(engine.Use(),
                                Parse<v1::GenerateRequest>(request)),
                 [](Generation* generation) {
                   const py::gil_scoped_release release;
                   if (generation->here()) delete generation;
                 });
           })
      .def("info", [](Engine& engine) {
        std::string answer;
        {
          const py::gil_scoped_release release;
          const absl::StatusOr<v1::Model> model = engine.Use()->GetModel("");
          Check(model.status());
          answer = model->SerializeAsString();
        }
        return py::bytes(answer);
      });
}

}  // namespace trivium
