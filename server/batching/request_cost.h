#ifndef TRIVIUM_SERVER_BATCHING_REQUEST_COST_H_
#define TRIVIUM_SERVER_BATCHING_REQUEST_COST_H_

#include <cstdint>

#include "absl/status/status.h"
#include "model/engine.h"
#include "server/batching/request.h"

namespace trivium {

// The most a request can take of a worker: what admission counts and what is
// reserved before it starts.
struct RequestCost {
  // What it waits and is scheduled with: source + prefix after the start
  // token + rows x max_new_tokens; at least 1.
  int64_t tokens = 0;
  // Hypotheses that run at once: beams, or samples; 0 for encode only.
  int64_t rows = 0;
  // KV blocks of the source's cross-attention; 0 without a decoder's need.
  int64_t source_blocks = 0;
  // KV blocks of one hypothesis: of prefix + max_new_tokens - 1 positions,
  // since the last new token is never read.
  int64_t hypothesis_blocks = 0;

  int64_t decoder_blocks() const { return rows * hypothesis_blocks; }
};

RequestCost CostOf(const Request& request, const EngineLimits& limits);

// INVALID_ARGUMENT when an empty worker with `max_rows` could not run the
// request: options, lengths, ids, layers, KV blocks.
absl::Status CheckRequest(const Request& request, const EngineLimits& limits,
                          int max_rows);

// What the engine must keep of the request's source.
SourceOptions SourceOptionsOf(const Request& request);

// Whether a source kept as `have` serves a request that needs `want`.
bool Covers(const SourceOptions& have, const SourceOptions& want);

// Equal for equal model and source; kNoSourceKey for an empty source.
inline constexpr uint64_t kNoSourceKey = 0;
uint64_t SourceKey(int model, const EncoderInput& source);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REQUEST_COST_H_
