#ifndef TRIVIUM_SERVER_LOAD_MEASUREMENT_H_
#define TRIVIUM_SERVER_LOAD_MEASUREMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/batching/batcher.h"
#include "server/batching/workers.h"

namespace trivium {

// Requests of one shape. Their tokens are drawn at random from the vocabulary,
// other ones for each request, and the folder's own decoding options hold, but
// that answers have exactly `new_tokens`.
struct Load {
  std::string name;       // "texts of 32 tokens"
  int source_tokens = 0;  // 0: no encoder
  int prompt_tokens = 0;  // that a decoder alone reads; 0: the model's start
  int new_tokens = 0;     // 0: nothing is decoded
};

// What models of this design are mostly asked for: short, then long. Nothing is
// longer than what the model reads.
std::vector<Load> LoadsOf(const ModelInfo& info);

// How a batcher that has nothing else to do answers a load.
struct LoadRate {
  // A request alone: the median of its time, and of the time to its first new
  // token (zero where nothing is decoded).
  absl::Duration alone;
  absl::Duration first_token;
  // Many at once, each answered one followed by the next: how many, how many
  // were answered in a second, and the median of their times.
  int at_once = 0;
  double requests_per_second = 0;
  absl::Duration busy;
  // What all of that took of the process's memory, beside the weights, and what
  // of this blocks of keys and values took.
  int64_t memory_bytes = 0;
  int64_t kv_bytes = 0;
};

struct LoadMeasurement {
  Workers workers;
  Batcher::Options batching;  // but for workers and observer
  EngineOptions engine;       // but for threads, and nothing is kept
  // A third alone, the rest under load. A slow model takes longer, until twice
  // as many as are under way at once were answered.
  absl::Duration time = absl::Seconds(1);
  // It is given up then, which a step under way may delay.
  absl::Duration most_time = absl::Seconds(10);
};

// Engines of their own answer the load. Unset: not one request, or not twice as
// many as are under way at once, were answered in most_time.
absl::StatusOr<std::optional<LoadRate>> MeasureLoad(
    const ModelHandle& model, const Load& load,
    const LoadMeasurement& measurement);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LOAD_MEASUREMENT_H_
