#ifndef TRIVIUM_SERVER_BATCHING_REQUEST_COST_H_
#define TRIVIUM_SERVER_BATCHING_REQUEST_COST_H_

#include <cstdint>

#include "model/engine.h"
#include "server/batching/request.h"

namespace trivium {

// What a request waits and is scheduled with: source + prefix after the start
// token + beams (or samples) x max_new_tokens; at least 1.
int64_t TokensOf(const Request& request);

// Decoder positions that one hypothesis takes: prefix + max_new_tokens - 1,
// since the last new token is never read. Of a request that decodes.
int64_t PositionsOf(const Request& request);

// The most a request can take of a worker.
struct RequestCost {
  int64_t tokens = 0;  // TokensOf
  // Hypotheses that run at once: beams, or samples; 0 for encode only.
  int64_t rows = 0;
  // KV blocks of the source's cross-attention; 0 without a decoder's need.
  int64_t source_blocks = 0;
  // KV blocks of one hypothesis: of its PositionsOf.
  int64_t hypothesis_blocks = 0;

  // Of these, what it takes before its first new token.
  int64_t prefix_blocks = 0;

  int64_t decoder_blocks() const { return rows * hypothesis_blocks; }
};

// Where nobody chose max_new_tokens, makes it no more than an empty worker has
// KV blocks for.
void FitNewTokens(const EngineLimits& limits, Request* request);

RequestCost CostOf(const Request& request, const EngineLimits& limits);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REQUEST_COST_H_
