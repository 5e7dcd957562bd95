#ifndef TRIVIUM_MODEL_TRANSFORMER_DECODER_H_
#define TRIVIUM_MODEL_TRANSFORMER_DECODER_H_

#include <deque>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/transformer/attention.h"
#include "model/transformer/input_embedding.h"
#include "model/transformer/mixer_sublayer.h"
#include "model/transformer/output_projection.h"
#include "model/transformer/phase_timer.h"
#include "model/transformer/recurrence.h"
#include "model/transformer/rows.h"
#include "model/transformer/sequences.h"
#include "model/transformer/transformer.h"

namespace trivium {

// Runs the new tokens of all hypotheses of a step through the decoder as packed
// rows. Every product processes all rows together. Attention reads each
// hypothesis's own blocks, and reads a source's cross keys and values once for
// all its hypotheses. Each worker has one.
class Decoder {
 public:
  // A hypothesis whose blocks have room for the tokens of `work`, and its
  // source (null for decoder-only models).
  struct Item {
    const StepPlan::Decode* work;
    HypothesisState* hypothesis;
    const SourceState* source;
  };

  // `weights` must have a decoder and outlive this object.
  explicit Decoder(const Transformer& weights);

  // Fills result->rows, one row per item, in order, and adds the new tokens to
  // the lengths of the hypotheses.
  absl::Status Run(std::span<const Item> items, KvCache* cache,
                   Workspace* workspace, PhaseTimer* timer, StepResult* result);

 private:
  // The keys and values that a group of layers reads and writes.
  struct Reading {
    std::vector<KvPlace> places;  // [rows]
    std::vector<AttentionGroup> self, cross;
  };

  // Returns the number of tokens of an item's hypothesis, including the new
  // ones.
  static int KeysOf(const Item& item) {
    return item.hypothesis->length + static_cast<int>(item.work->tokens.size());
  }
  void Arrange(std::span<const Item> items, int groups);
  void Group(std::span<const Item> items);
  absl::Status Embed(std::span<const Item> items, Workspace* workspace);
  absl::Status ProjectOut(std::span<const Item> items, Workspace* workspace,
                          StepResult* result);

  const Stack& stack_;
  Rows rows_;
  InputEmbedding embedding_;
  std::vector<InputEmbedding::Token> tokens_;
  AttentionSublayer attention_;
  RecurrenceSublayer recurrence_;
  MixerSublayer mixer_;
  RotaryTurns turns_;
  std::vector<int> positions_;      // [rows]
  std::vector<Reading> readings_;   // [groups of layers]
  std::vector<StateGroup> states_;  // [items], if layers have states
  std::deque<AttentionMaps> maps_;  // of items that request them
  std::vector<int> last_row_;       // [items]
  OutputProjection projection_;
  std::vector<std::vector<float>> self_maps_, cross_maps_;  // [items]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_DECODER_H_
