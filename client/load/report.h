#ifndef TRIVIUM_CLIENT_LOAD_REPORT_H_
#define TRIVIUM_CLIENT_LOAD_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/load/recorder.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A distribution of times, in seconds.
struct Distribution {
  int64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0, max = 0;
};

// Computes nearest-rank percentiles: each is a value that occurred.
Distribution Distribute(std::vector<double> values);

// The figures of a recording. Latencies, errors and aborts cover the calls that
// were meant to start while it was measured. Throughput covers the calls that
// ended in that time, so that neither the ramp-up nor the last stragglers
// distort it.
struct Report {
  std::string call;    // name of the kind if it covers one kind only
  double seconds = 0;  // measured
  int64_t succeeded = 0;
  int64_t aborted = 0;                    // by this client; not in failed()
  std::map<std::string, int64_t> errors;  // by status name
  std::string first_error;
  double requests_per_second = 0;  // successful ones
  double texts_per_second = 0;
  double source_tokens_per_second = 0;
  double new_tokens_per_second = 0;
  Distribution latency;      // intended start to end, of successful calls
  Distribution first_piece;  // intended start to first piece; Generate only
  Distribution piece_gap;    // between pieces of a stream; Generate only
  // Actual start to end, minus the time of the server's tokenizer and model.
  // The rest is waiting, the transport and this client.
  Distribution outside_model;
  // Actual start to end, of calls that ended with RESOURCE_EXHAUSTED.
  Distribution refused;
  // Actual minus intended start. If it is long, this machine could not keep up,
  // or the limit of calls in flight was reached.
  Distribution start_delay;
  std::vector<Report> calls;  // of a mix: a report for each kind

  int64_t failed() const;
  std::string ToText() const;
  nlohmann::ordered_json ToJson() const;
};

// Makes the report of all calls, with one for each kind if there are several.
Report MakeReport(const Recording& recording);

// Returns a name like "RESOURCE_EXHAUSTED".
std::string StatusName(grpc::StatusCode code);

// Returns the JSON as one line. Replaces bytes that are not UTF-8, which
// servers' messages may contain.
std::string JsonLine(const nlohmann::ordered_json& json);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_REPORT_H_
