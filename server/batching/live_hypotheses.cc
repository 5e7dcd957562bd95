#include "server/batching/live_hypotheses.h"

#include <utility>

namespace trivium {

int LiveHypotheses::Begin(Engine* engine, SourceId source,
                          std::span<const int32_t> prefix,
                          std::string_view salt, size_t most) {
  Reserve(most);
  const Engine::Beginning begun = engine->Begin(source, prefix, salt);
  Adopt(begun.hypothesis, most);
  return begun.found;
}

void LiveHypotheses::Reserve(size_t most) {
  ids_.reserve(most);
  tokens_.reserve(most);
  parents_.reserve(most);
  continued_.reserve(most);
}

void LiveHypotheses::Adopt(HypothesisId hypothesis, size_t most) {
  Reserve(most);
  ids_.assign(1, hypothesis);
  tokens_.clear();
}

void LiveHypotheses::Restore(
    std::span<const HypothesisId> ids,
    std::span<const Decoding::Continuation> continuations) {
  ids_.assign(ids.begin(), ids.end());
  tokens_.clear();
  for (const Decoding::Continuation& next : continuations) {
    tokens_.push_back(next.token);
  }
}

void LiveHypotheses::Continue(
    Engine* engine, std::span<const Decoding::Continuation> continuations) {
  std::swap(parents_, ids_);
  continued_.assign(parents_.size(), false);
  for (const Decoding::Continuation& next : continuations) {
    continued_[next.parent] = true;
  }
  for (size_t i = 0; i < parents_.size(); ++i) {
    if (!continued_[i]) engine->ReleaseHypothesis(parents_[i]);
  }
  ids_.clear();
  tokens_.clear();
  continued_.assign(parents_.size(), false);
  try {
    for (const Decoding::Continuation& next : continuations) {
      const HypothesisId parent = parents_[next.parent];
      ids_.push_back(continued_[next.parent] ? engine->Fork(parent) : parent);
      tokens_.push_back(next.token);
      continued_[next.parent] = true;
    }
  } catch (...) {
    // Keeps the parents that have no place yet, for Clear.
    for (const Decoding::Continuation& next : continuations) {
      if (continued_[next.parent]) continue;
      ids_.push_back(parents_[next.parent]);
      continued_[next.parent] = true;
    }
    throw;
  }
}

void LiveHypotheses::Clear(Engine* engine) {
  for (const HypothesisId id : ids_) engine->ReleaseHypothesis(id);
  ids_.clear();
  tokens_.clear();
}

}  // namespace trivium
