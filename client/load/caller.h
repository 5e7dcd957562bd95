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

// Comes once, on any thread.
using Done = std::function<void(CallOutcome)>;

// Starts calls that end by themselves, or as `stop` asks them to.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual void Start(PlannedCall call, std::stop_token stop, Done done) = 0;
};

// Calls over gRPC's callback API: no thread a call. `connections` channels are
// used in turn. `workload` outlives it, here and below.
std::unique_ptr<Caller> MakeGrpcCaller(const Workload::Options& workload,
                                       const Client::Options& client,
                                       int connections);

// Calls over HTTP/1.1 to `url`, "http://HOST:PORT": Inference's and Models' by
// Connect's protocol in JSON, and OpenAI's embeddings. A thread and a
// connection for each call under way, kept for later ones. The error says what
// is wrong with the URL.
absl::StatusOr<std::unique_ptr<Caller>> MakeHttpCaller(
    const Workload::Options& workload, const Client::Options& client,
    const std::string& url);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_CALLER_H_
