#ifndef TRIVIUM_MODEL_TRANSFORMER_DECODER_H_
#define TRIVIUM_MODEL_TRANSFORMER_DECODER_H_

#include <deque>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/transformer/attention.h"
#include "model/transformer/input_embedding.h"
#include "model/transformer/output_projection.h"
#include "model/transformer/phase_timer.h"
#include "model/transformer/recurrence.h"
#include "model/transformer/rows.h"
#include "model/transformer/sequences.h"
#include "model/transformer/transformer.h"

namespace trivium {

// Runs the new tokens of all hypotheses of an iteration through the decoder
// as packed rows: every product sees them all; attention reads each
// hypothesis's own blocks, and a source's cross keys and values once for all
// its hypotheses. One a worker.
class Decoder {
 public:
  // A hypothesis with room in its blocks for the tokens of `work`, and its
  // source (null for decoder-only models).
  struct Item {
    const StepPlan::Decode* work;
    HypothesisState* hypothesis;
    const SourceState* source;
  };

  // `weights` has a decoder and outlives this.
  explicit Decoder(const Transformer& weights);

  // rows of `result` answer `items`; lengths of hypotheses grow.
  absl::Status Run(std::span<const Item> items, KvCache* cache,
                   Workspace* workspace, PhaseTimer* timer, StepResult* result);

 private:
  // Where a group of layers finds and puts keys and values.
  struct Reading {
    std::vector<KvPlace> places;  // [rows]
    std::vector<AttentionGroup> self, cross;
  };

  // Tokens of an item's hypothesis, the new ones included.
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
  RotaryTurns turns_;
  std::vector<Reading> readings_;   // [groups of layers]
  std::deque<AttentionMaps> maps_;  // of items that want them
  std::vector<int> last_row_;       // of each item
  OutputProjection projection_;
  std::vector<std::vector<float>> self_maps_, cross_maps_;  // [items]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_DECODER_H_
