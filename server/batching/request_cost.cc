#include "server/batching/request_cost.h"

#include <algorithm>

namespace trivium {
namespace {

int64_t RowsOf(const Request& request) {
  const DecodingOptions& options = *request.decoding;
  return options.sample ? options.hypotheses : options.beam_size;
}

}  // namespace

int64_t PositionsOf(const Request& request) {
  return static_cast<int64_t>(request.prefix.size()) - 1 +
         (request.decoding ? request.decoding->max_new_tokens : 0);
}

int64_t TokensOf(const Request& request) {
  int64_t tokens = request.source.ids.size();
  if (request.decoding) {
    tokens += static_cast<int64_t>(request.prefix.size()) - 1 +
              RowsOf(request) * request.decoding->max_new_tokens;
  } else if (request.scoring) {
    tokens += PositionsOf(request);
  }
  return std::max<int64_t>(tokens, 1);
}

void FitNewTokens(const EngineLimits& limits, Request* request) {
  if (!request->default_max_new_tokens || !request->decoding) return;
  DecodingOptions& options = *request->decoding;
  const auto source = static_cast<int64_t>(request->source.ids.size());
  const int64_t blocks = limits.total_blocks - limits.SourceBlocks(source);
  const int64_t fit =
      limits.TokensIn(blocks / std::max<int64_t>(RowsOf(*request), 1)) -
      static_cast<int64_t>(request->prefix.size()) + 1;
  if (fit < 1 || fit < options.min_new_tokens) return;  // refused later
  options.max_new_tokens =
      static_cast<int>(std::min<int64_t>(options.max_new_tokens, fit));
}

RequestCost CostOf(const Request& request, const EngineLimits& limits) {
  const auto source = static_cast<int64_t>(request.source.ids.size());
  RequestCost cost;
  cost.tokens = TokensOf(request);
  if (request.decoding) {
    cost.rows = RowsOf(request);
    cost.source_blocks = limits.SourceBlocks(source);
    cost.hypothesis_blocks = limits.HypothesisBlocks(PositionsOf(request));
    // After the prefix each hypothesis has a state of its own.
    cost.prefix_blocks =
        limits.HypothesisBlocks(static_cast<int64_t>(request.prefix.size())) +
        (cost.rows - 1) * limits.state_blocks;
  } else if (request.scoring) {
    cost.rows = 1;
    cost.source_blocks = limits.SourceBlocks(source);
    cost.hypothesis_blocks = limits.HypothesisBlocks(PositionsOf(request));
    cost.prefix_blocks = cost.hypothesis_blocks;
  }
  return cost;
}

}  // namespace trivium
