#ifndef TRIVIUM_MODEL_TRANSFORMER_SEQUENCES_H_
#define TRIVIUM_MODEL_TRANSFORMER_SEQUENCES_H_

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/engine.h"
#include "model/transformer/kv_cache.h"
#include "model/transformer/shortlist_projection.h"

namespace trivium {

// A source that is being encoded or is ready.
struct SourceState {
  EncoderInput input;
  SourceOptions options;
  int layers_done = 0;
  bool ready = false;
  bool finite = true;  // Engine::IsFinite
  // [tokens, d_model]: hidden states between steps; in a ready source, those of
  // options.states.
  std::vector<float> states;
  std::vector<float> hidden;  // [options.hidden_layers, tokens, d_model]
  // [layers, heads, tokens, tokens] of options.selection.
  std::vector<float> attention;
  HeadTrace trace;            // of options.traced_head
  std::vector<float> pooled;  // [pooler's outputs] if options.pooled
  std::vector<float> logits;  // [rows, head's outputs] if options.logits
  std::vector<BestLogits> best_logits;  // [rows] if options.logits_best
  std::vector<SparseWeight> sparse;     // if options.sparse
  // Blocks of the cross keys and values: [groups of decoder layers].
  std::vector<BlockTable> cross_tables;
  AllowedTokens allowed;  // of the decoder; see shortlist.h

  int tokens() const { return static_cast<int>(input.ids.size()); }
  void Reset() { *this = SourceState(); }
};

// A decoder hypothesis: the source that it reads and its keys and values.
struct HypothesisState {
  SourceId source = kNoSource;
  std::vector<BlockTable> tables;  // [groups of layers]
  int length = 0;                  // tokens read, whose keys are in the blocks
  // Blocks of its states after `length` tokens (state_layout.h). Empty before
  // the first token, or if no layer has a state.
  std::vector<int> state;
  std::vector<SavedState> saved;  // by the current step, ascending
  // The announced prefix, whose full blocks are registered as they are
  // computed, and its context key. Both are empty once all are registered.
  std::vector<int32_t> prefix;
  std::string context_key;

  // Keeps the vectors' memory for the next hypothesis in this slot.
  void Reset() {
    source = kNoSource;
    for (BlockTable& table : tables) table.Clear();
    length = 0;
    state.clear();
    saved.clear();
    prefix.clear();
    context_key.clear();
  }
};

// Stores objects under small reusable handles. A released object is Reset().
template <typename T>
class Slots {
 public:
  // Adds nothing if it throws for lack of memory.
  int Add() {
    if (free_.empty()) {
      auto slot = std::make_unique<T>();
      if (slots_.size() == slots_.capacity()) {
        slots_.reserve(std::max<size_t>(8, 2 * slots_.size()));
      }
      used_.reserve(slots_.capacity());
      free_.reserve(slots_.capacity());  // room to release all
      slots_.push_back(std::move(slot));
      used_.push_back(true);
      return static_cast<int>(slots_.size()) - 1;
    }
    const int slot = free_.back();
    free_.pop_back();
    used_[slot] = true;
    return slot;
  }
  void Release(int slot) {
    slots_[slot]->Reset();
    used_[slot] = false;
    free_.push_back(slot);
  }
  bool valid(int slot) const {
    return slot >= 0 && slot < static_cast<int>(slots_.size()) && used_[slot];
  }
  T& operator[](int slot) { return *slots_[slot]; }
  const T& operator[](int slot) const { return *slots_[slot]; }

 private:
  std::vector<std::unique_ptr<T>> slots_;  // stable while the vector grows
  std::vector<char> used_;
  std::vector<int> free_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_SEQUENCES_H_
