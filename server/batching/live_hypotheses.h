#ifndef TRIVIUM_SERVER_BATCHING_LIVE_HYPOTHESES_H_
#define TRIVIUM_SERVER_BATCHING_LIVE_HYPOTHESES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/engine.h"
#include "model/search/decoding.h"

namespace trivium {

// The engine's hypotheses for the live ones of a search, in the search's order,
// each with the token that it reads next. Not thread-safe; call Clear before
// destruction.
class LiveHypotheses {
 public:
  // Starts with one hypothesis that will read `prefix`. Returns how many of its
  // tokens the engine had cached. `most`: the largest number of hypotheses
  // ever, so that Continue allocates nothing.
  int Begin(Engine* engine, SourceId source, std::span<const int32_t> prefix,
            std::string_view salt, size_t most);
  // Starts with a hypothesis that has read all of the prefix but its last
  // token.
  void Adopt(HypothesisId hypothesis, size_t most);
  // Restores the hypotheses under new handles, after a suspension.
  void Restore(std::span<const HypothesisId> ids,
               std::span<const Decoding::Continuation> continuations);

  // Applies a step of the search: hypothesis i becomes continuation i. The
  // first child of a parent inherits the parent's handle, further children fork
  // it. Parents without children are released first, so that their KV blocks
  // are free before any hypothesis writes.
  void Continue(Engine* engine,
                std::span<const Decoding::Continuation> continuations);

  void Clear(Engine* engine);

  size_t size() const { return ids_.size(); }
  HypothesisId id(size_t i) const { return ids_[i]; }
  // Valid until the next Continue.
  std::span<const int32_t> next_token(size_t i) const {
    return {&tokens_[i], 1};
  }

 private:
  void Reserve(size_t most);

  std::vector<HypothesisId> ids_;
  std::vector<int32_t> tokens_;
  std::vector<HypothesisId> parents_;  // scratch of Continue
  std::vector<bool> continued_;        // scratch of Continue
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_LIVE_HYPOTHESES_H_
