#ifndef TRIVIUM_SERVER_CALLS_RESULT_COLLECTOR_H_
#define TRIVIUM_SERVER_CALLS_RESULT_COLLECTOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batching/request.h"
#include "server/calls/call.h"

namespace trivium {

// The results of requests that were submitted together, in the requests' order.
struct CollectedResults {
  std::vector<RequestResult> results;
  std::vector<ModelHandle> models;  // of each request; null: the call's model
  int64_t bytes = 0;  // that the call holds for them (Held::kResults)
};

// Says whether the other requests go on when one fails.
enum class OnFailure { kFinishOthers, kCancelCall };

// Gives each of `requests`, at least one, an observer. When the batcher has
// answered all of them, `done` is called once, on the thread that brings the
// last result (a worker, or the one in Batcher::Submit): with the results,
// whose bytes the receiver releases, or with the first error. It must not
// throw. `call` outlives that.
void CollectResults(Call* call, OnFailure on_failure,
                    std::vector<Request>* requests,
                    std::function<void(absl::StatusOr<CollectedResults>)> done);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_RESULT_COLLECTOR_H_
