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

// The engine's hypotheses that stand for a search's live ones, in its order,
// each with the token that it is to read next. Not thread-safe; Clear before
// destruction.
class LiveHypotheses {
 public:
  // One hypothesis that will read `prefix`; returns how many of its tokens
  // the engine has kept. `most`: as many hypotheses as there can ever be, so
  // that Continue allocates nothing.
  int Begin(Engine* engine, SourceId source, std::span<const int32_t> prefix,
            std::string_view salt, size_t most);
  // One hypothesis that has read the prefix but for its end.
  void Adopt(HypothesisId hypothesis, size_t most);
  // The same hypotheses once more, under other handles.
  void Restore(std::span<const HypothesisId> ids,
               std::span<const Decoding::Continuation> continuations);

  // Follows the search: hypothesis i becomes the continuation i. The first
  // child of a parent goes on with the parent's handle and further ones fork
  // it; parents without children are released first, so that their KV blocks
  // are free before anyone writes.
  void Continue(Engine* engine,
                std::span<const Decoding::Continuation> continuations);

  void Clear(Engine* engine);

  size_t size() const { return ids_.size(); }
  HypothesisId id(size_t i) const { return ids_[i]; }
  // Holds until the next Continue.
  std::span<const int32_t> next_token(size_t i) const {
    return {&tokens_[i], 1};
  }

 private:
  std::vector<HypothesisId> ids_;
  std::vector<int32_t> tokens_;
  std::vector<HypothesisId> parents_;  // scratch of Continue
  std::vector<bool> continued_;        // scratch of Continue
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_LIVE_HYPOTHESES_H_
