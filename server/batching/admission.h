#ifndef TRIVIUM_SERVER_BATCHING_ADMISSION_H_
#define TRIVIUM_SERVER_BATCHING_ADMISSION_H_

#include <cstdint>
#include <span>

#include "absl/time/time.h"
#include "server/batching/rate_meter.h"
#include "server/batching/submission.h"

namespace trivium {

// Bounds what waits, in tokens (TokensOf): a call enters as a whole
// or not at all. Not thread-safe, owns no requests.
class Admission {
 public:
  explicit Admission(int64_t max_waiting_tokens)
      : max_waiting_tokens_(max_waiting_tokens) {}

  // `tokens`: [requests of the call]. Counts them as waiting, or
  // - INVALID_ARGUMENT and the request with which the call outgrows even an
  //   empty queue;
  // - RESOURCE_EXHAUSTED: full now.
  Submission Admit(std::span<const int64_t> tokens);

  // A waiting request began to run.
  void Start(int64_t tokens, absl::Time now);
  // A waiting request was dropped.
  void Drop(int64_t tokens) { waiting_tokens_ -= tokens; }

  int64_t waiting_tokens() const { return waiting_tokens_; }
  int64_t free_tokens() const { return max_waiting_tokens_ - waiting_tokens_; }

  // When the queue will have been worked off at the rate at which requests
  // started lately: 10 ms .. 1 min; 1 s when nothing started lately.
  absl::Duration RetryAfter(absl::Time now) const;

 private:
  const int64_t max_waiting_tokens_;
  int64_t waiting_tokens_ = 0;
  RateMeter started_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ADMISSION_H_
