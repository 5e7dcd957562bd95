#ifndef TRIVIUM_SERVER_PLAN_LOAD_MEASUREMENT_H_
#define TRIVIUM_SERVER_PLAN_LOAD_MEASUREMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/batching/batcher.h"
#include "server/batching/workers.h"

namespace trivium {

// Requests of one shape. Each request has other random tokens of the
// vocabulary. The folder's decoding options hold, except that answers have
// exactly `new_tokens`.
struct Load {
  std::string name;       // "texts of 32 tokens"
  int source_tokens = 0;  // 0: no encoder
  int prompt_tokens = 0;  // of a decoder alone; 0: the model's own prefix
  int new_tokens = 0;     // 0: nothing is decoded
};

// Typical loads of models of this design: short, then long. None exceeds the
// model's limits.
std::vector<Load> LoadsOf(const ModelInfo& info);

// The rate at which a batcher without other work answers a load.
struct LoadRate {
  // Medians of one request at a time: until its answer, and until its first new
  // token (zero if nothing is decoded).
  absl::Duration alone;
  absl::Duration first_token;
  // `at_once` requests at a time, each followed by the next one when it is
  // answered: answers a second, and the median of their times.
  int at_once = 0;
  double requests_per_second = 0;
  absl::Duration busy;
  // Memory of the process that this used, without the weights; and the part of
  // it for KV blocks.
  int64_t memory_bytes = 0;
  int64_t kv_bytes = 0;
};

struct LoadMeasurement {
  Workers workers;
  Batcher::Options batching;  // except workers and observer
  EngineOptions engine;       // except threads and the prefix cache, which is 0
  // A third of the time is for requests alone, the rest for many at once. A
  // slow model takes longer, until 2 x `at_once` requests are answered.
  absl::Duration time = absl::Seconds(1);
  // The measurement is given up after this time; a step under way may delay
  // that.
  absl::Duration most_time = absl::Seconds(10);
};

// Measures a load with new engines. Unset: no request alone, or fewer than 2 x
// `at_once` requests, were answered in most_time.
absl::StatusOr<std::optional<LoadRate>> MeasureLoad(
    const ModelHandle& model, const Load& load,
    const LoadMeasurement& measurement);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_PLAN_LOAD_MEASUREMENT_H_
