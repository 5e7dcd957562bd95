#ifndef TRIVIUM_SERVER_CALLS_RESULTS_TOGETHER_H_
#define TRIVIUM_SERVER_CALLS_RESULTS_TOGETHER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batching/request.h"
#include "server/calls/call.h"

namespace trivium {

// All requests' results, in their order, or the first error; and the bytes
// that the call holds of them, for whoever gets them to give back.
using ResultsTogether = std::function<void(
    absl::StatusOr<std::vector<RequestResult>> results, int64_t bytes)>;

// Gives requests, one at least, observers that call `done` once, when all have
// their result, on the thread that brings the last. `call` lives until then.
void ObserveTogether(const Call* call, std::vector<Request>* requests,
                     ResultsTogether done);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_RESULTS_TOGETHER_H_
