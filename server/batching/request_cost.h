#ifndef TRIVIUM_SERVER_BATCHING_REQUEST_COST_H_
#define TRIVIUM_SERVER_BATCHING_REQUEST_COST_H_

#include <cstdint>

#include "model/engine.h"
#include "server/batching/request.h"

namespace trivium {

// Tokens that a request counts in the queue and the scheduler: source + prefix
// after the start token + beams (or samples) x max_new_tokens; at least 1.
int64_t TokensOf(const Request& request);

// Decoder positions of one hypothesis of a request that decodes: prefix +
// max_new_tokens - 1, since the last new token is never read.
int64_t PositionsOf(const Request& request);

// Upper bounds on what a request uses of a worker.
struct RequestCost {
  int64_t tokens = 0;  // TokensOf
  // Hypotheses that run at once: beams, or samples; 0 if it only encodes.
  int64_t rows = 0;
  // KV blocks of the source's cross-attention; 0 if it only encodes.
  int64_t source_blocks = 0;
  // KV blocks of one hypothesis of PositionsOf positions.
  int64_t hypothesis_blocks = 0;

  // The part of these that it uses before its first new token.
  int64_t prefix_blocks = 0;

  int64_t decoder_blocks() const { return rows * hypothesis_blocks; }
};

// If the client did not choose max_new_tokens, lowers it to what the KV blocks
// of an empty worker hold.
void FitNewTokens(const EngineLimits& limits, Request* request);

RequestCost CostOf(const Request& request, const EngineLimits& limits);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REQUEST_COST_H_
