#ifndef TRIVIUM_SERVER_BATCHING_QUEUED_REQUEST_H_
#define TRIVIUM_SERVER_BATCHING_QUEUED_REQUEST_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/batching/request.h"
#include "server/batching/request_cost.h"

namespace trivium {

// A request that was admitted, from the queue to its answer.
struct QueuedRequest {
  CallId call = 0;
  Request request;
  RequestCost cost;
  // Equal for equal model and source: which worker may have it encoded.
  uint64_t source_key = 0;
  absl::Time submitted;

  // Dispatcher's note, once the request was passed over for a worker that has
  // its source: which of all workers' boundaries was the last before.
  std::optional<uint64_t> passed_over_at;
};

// A request that left the queue without running, and why.
struct DroppedRequest {
  std::unique_ptr<QueuedRequest> request;
  absl::Status status;
};

// Why a request ends before its result. `stage`: "queued" or "running".
absl::Status CancelledStatus();
absl::Status DeadlineStatus(const char* stage);
// It was not begun, as it could not have ended before its deadline.
absl::Status TooLateStatus();
// The model computed of it what is infinite or not a number.
absl::Status NotFiniteStatus();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_QUEUED_REQUEST_H_
