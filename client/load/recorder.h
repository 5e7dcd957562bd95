#ifndef TRIVIUM_CLIENT_LOAD_RECORDER_H_
#define TRIVIUM_CLIENT_LOAD_RECORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/load/call_kind.h"
#include "client/load/outcomes.h"

namespace trivium {

// A call that has ended.
struct Sample {
  absl::Time intended;  // when the call was meant to start
  absl::Time started;
  absl::Time finished;
  CallOutcome outcome;
  CallKind kind = CallKind::kTranslate;
  int texts = 1;
  bool aborted = false;  // by this client, before the server answered

  bool ok() const { return !aborted && outcome.code == grpc::StatusCode::OK; }
};

// The calls of a run that ended after its warm-up.
struct Recording {
  absl::Time from;  // the end of the warm-up
  absl::Time to;    // the end of sending
  std::vector<Sample> samples;
};

// Sums that are cheap to read while the load runs.
struct Counts {
  int64_t succeeded = 0, failed = 0, aborted = 0;
  int64_t source_tokens = 0, new_tokens = 0;
};

// Collects samples after a warm-up.
class Recorder {
 public:
  explicit Recorder(absl::Time measure_from) : measure_from_(measure_from) {}

  void Add(Sample sample);
  const Counts& counts() const { return counts_; }
  Recording Finish(absl::Time measure_to) &&;

 private:
  const absl::Time measure_from_;
  Counts counts_;
  std::vector<Sample> samples_;
};

// Returns "12 s  340 done  1 failed  8 in flight  28.3/s  1204 tokens/s". Rates
// are over `measured`. Tokens are the new ones if there are any.
std::string LiveLine(const Counts& counts, absl::Duration elapsed,
                     absl::Duration measured, int in_flight);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_RECORDER_H_
