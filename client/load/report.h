#ifndef TRIVIUM_CLIENT_LOAD_REPORT_H_
#define TRIVIUM_CLIENT_LOAD_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/load/recorder.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Seconds.
struct Distribution {
  int64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0, max = 0;
};

// Nearest-rank percentiles: each is a value that occurred.
Distribution Distribute(std::vector<double> values);

// What a recording comes to. Latencies, errors and aborts are of the calls that
// were meant to start while it was measured; throughput is of the calls that
// ended then, so that neither the ramp nor the last stragglers weigh on it.
struct Report {
  std::string call;    // of one kind alone: its name
  double seconds = 0;  // measured
  int64_t succeeded = 0;
  int64_t aborted = 0;                    // by this client; no failures
  std::map<std::string, int64_t> errors;  // by status name
  std::string first_error;
  double requests_per_second = 0;  // that succeeded
  double texts_per_second = 0;
  double source_tokens_per_second = 0;
  double new_tokens_per_second = 0;
  Distribution latency;      // intended start to end, of what succeeded
  Distribution first_piece;  // intended start to first piece; Generate only
  Distribution piece_gap;    // between pieces of a stream; Generate only
  // Actual start to end, less what the server's tokenizer and model took:
  // waiting, the transport and this client.
  Distribution outside_model;
  // Actual start to end, of calls that ended with RESOURCE_EXHAUSTED.
  Distribution refused;
  // Actual minus intended start. Long: this machine could not keep up, or
  // the limit of calls in flight was met.
  Distribution start_delay;
  std::vector<Report> calls;  // of a mix: of each kind alone

  int64_t failed() const;
  std::string ToText() const;
  nlohmann::ordered_json ToJson() const;
};

// Of all calls, and of each kind where there are several.
Report MakeReport(const Recording& recording);

// "RESOURCE_EXHAUSTED".
std::string StatusName(grpc::StatusCode code);

// One line. What servers say need not be UTF-8.
std::string JsonLine(const nlohmann::ordered_json& json);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_REPORT_H_
