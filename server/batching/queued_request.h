#ifndef TRIVIUM_SERVER_BATCHING_QUEUED_REQUEST_H_
#define TRIVIUM_SERVER_BATCHING_QUEUED_REQUEST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/batching/request.h"
#include "server/batching/request_cost.h"

namespace trivium {

// An admitted request, from the queue to its answer.
struct QueuedRequest {
  CallId call = 0;
  Request request;
  RequestCost cost;
  // Equal for equal model, salt and source (SourceKey). It tells which worker
  // may have encoded the source already.
  uint64_t source_key = 0;
  absl::Time submitted;

  // Set by Dispatcher when the request is first left to a worker that holds its
  // source: the number of the latest boundary then.
  std::optional<uint64_t> passed_over_at;
};

// A request that left the queue without running, and the reason.
struct DroppedRequest {
  std::unique_ptr<QueuedRequest> request;
  absl::Status status;
};

// Statuses of requests without a result. `stage`: "queued" or "running".
absl::Status CancelledStatus();
absl::Status DeadlineStatus(const char* stage);
// The request was not started because it could not end before its deadline.
absl::Status TooLateStatus();
// The model computed infinities or NaNs.
absl::Status NotFiniteStatus();
// A step of the model's engine has not returned in time.
absl::Status StalledStatus(const std::string& model);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_QUEUED_REQUEST_H_
