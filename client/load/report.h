#ifndef TRIVIUM_CLIENT_LOAD_REPORT_H_
#define TRIVIUM_CLIENT_LOAD_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace trivium {

// How one call ended.
struct CallOutcome {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string message;  // of an error
  int64_t source_tokens = 0;
  int64_t new_tokens = 0;
  // The first piece of a Generate; else InfinitePast.
  absl::Time first_piece = absl::InfinitePast();
  std::vector<double> piece_gaps;  // seconds; of a Generate
  // Tokenizing and inference, by the server's own account.
  absl::Duration model_time = absl::ZeroDuration();
};

struct Sample {
  absl::Time intended;  // when the call was meant to start
  absl::Time started;
  absl::Time finished;
  CallOutcome outcome;
};

// Seconds.
struct Distribution {
  int64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0, max = 0;
};

// Nearest-rank percentiles: each is a value that occurred.
Distribution Distribute(std::vector<double> values);

struct Report {
  double seconds = 0;  // measured
  int64_t succeeded = 0;
  std::map<std::string, int64_t> errors;  // by status name
  std::string first_error;
  double requests_per_second = 0;  // that succeeded
  double source_tokens_per_second = 0;
  double new_tokens_per_second = 0;
  Distribution latency;      // intended start to end, of what succeeded
  Distribution first_piece;  // intended start to first piece; Generate only
  Distribution piece_gap;    // between pieces of a stream; Generate only
  // Actual start to end, less what the server's tokenizer and model took:
  // waiting, gRPC and this client.
  Distribution outside_model;
  // Actual start to end, of calls that ended with RESOURCE_EXHAUSTED.
  Distribution refused;
  // Actual minus intended start. Long: this machine could not keep up, or
  // the limit of calls in flight was met.
  Distribution start_delay;

  std::string ToText() const;
  std::string ToJson() const;  // one line
};

// "RESOURCE_EXHAUSTED".
std::string StatusName(grpc::StatusCode code);

// Sums that are cheap to look at while the load runs.
struct Counts {
  int64_t succeeded = 0, failed = 0;
  int64_t source_tokens = 0, new_tokens = 0;
};

// Collects samples after a warm-up. Latencies and errors are of the calls
// that were meant to start after it; throughput is of the calls that ended
// between its end and the end of sending, so that neither the ramp nor the
// last stragglers weigh on it.
class Recorder {
 public:
  explicit Recorder(absl::Time measure_from) : measure_from_(measure_from) {}

  void Add(Sample sample);
  const Counts& counts() const { return counts_; }
  Report MakeReport(absl::Time measure_to) const;

 private:
  const absl::Time measure_from_;
  Counts counts_;
  std::vector<Sample> samples_;
};

// "12 s  340 done  1 failed  8 in flight  28.3/s  1204 tokens/s"; rates are
// over `measured`, tokens are new ones where there are any.
std::string LiveLine(const Counts& counts, absl::Duration elapsed,
                     absl::Duration measured, int in_flight);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_REPORT_H_
