#ifndef TRIVIUM_CLIENT_LOAD_CALLER_H_
#define TRIVIUM_CLIENT_LOAD_CALLER_H_

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/load/outcomes.h"
#include "client/load/workload.h"

namespace trivium {

// Receives the outcome of a call. Called once, on any thread.
using Done = std::function<void(CallOutcome)>;

// Starts calls. They end by themselves, or early if `stop` requests it.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual void Start(PlannedCall call, std::stop_token stop, Done done) = 0;
};

// Creates a caller that uses gRPC's callback API, which needs no thread for
// each call. Calls use `connections` channels in turn. `workload` must outlive
// the caller, here and below.
std::unique_ptr<Caller> MakeGrpcCaller(const Workload::Options& workload,
                                       const Client::Options& client,
                                       int connections);

// Creates a caller that uses HTTP/1.1 to `url`, "http://HOST:PORT". It calls
// Inference and Models by Connect's protocol in JSON, and OpenAI's embeddings.
// Each running call has a thread and a connection, which later calls reuse. The
// error says what is wrong with the URL.
absl::StatusOr<std::unique_ptr<Caller>> MakeHttpCaller(
    const Workload::Options& workload, const Client::Options& client,
    const std::string& url);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_CALLER_H_
