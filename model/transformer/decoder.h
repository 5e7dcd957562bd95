#ifndef TRIVIUM_MODEL_TRANSFORMER_DECODER_H_
#define TRIVIUM_MODEL_TRANSFORMER_DECODER_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/kernels/candidates.h"
#include "model/transformer/sequences.h"
#include "model/transformer/transformer_weights.h"

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
  explicit Decoder(const TransformerWeights& weights);

  // rows of `result` answer `items`; lengths of hypotheses grow.
  absl::Status Run(std::span<const Item> items, KvCache* cache,
                   LinearScratch* scratch, PhaseTimer* timer,
                   StepResult* result);

 private:
  // One token of an item.
  struct Row {
    int item;
    int position;  // in its hypothesis
  };

  // Where a row's own key and value go.
  struct Place {
    int block;
    int slot;
  };

  void Embed(std::span<const Item> items);
  absl::Status SelfAttention(std::span<const Item> items, int layer,
                             KvCache* cache, LinearScratch* scratch);
  absl::Status CrossAttention(std::span<const Item> items, int layer,
                              const KvCache& cache, LinearScratch* scratch);
  // What a row attends to: the first `count` keys of `blocks`.
  struct Keys {
    const BlockTable* blocks;
    int count;
  };
  Place PlaceOf(std::span<const Item> items, int row) const;
  Keys SelfKeys(std::span<const Item> items, int row) const;
  Keys CrossKeys(std::span<const Item> items, int row) const;
  // Attention of rows [first, first + count) to `keys`; the output replaces the
  // queries. `keep` leaves the weights in map_, [heads, count,
  // PaddedKeys(keys.count)]. `next`: the keys of the next call.
  void Attend(const KvCache& cache, int layer, int first, int count, Keys keys,
              Keys next, bool keep);
  absl::Status ProjectOut(std::span<const Item> items, LinearScratch* scratch,
                          StepResult* result);
  // Copies a row's weights over the keys it has seen, which lie in every head
  // of `weights` [heads, queries, PaddedKeys(seen)], into its item's maps,
  // [layers, heads, tokens, keys]; keys that masking hid stay zero.
  void KeepMaps(const Item& item, const AttentionSelection& selection,
                int layer, int row, const float* weights, int queries, int seen,
                int keys, std::vector<float>* out);

  const TransformerWeights& weights_;
  const Stack& stack_;
  Rows rows_;
  std::vector<Row> row_;
  std::vector<int> last_row_;  // of each item
  Buffer<float> query_;        // [rows, d_model]; attention's output afterwards
  Buffer<float> map_;          // attention weights of a group of rows
  std::vector<const char*> tiles_, next_tiles_;
  Operand last_;                // the rows that the output projection reads
  std::vector<int> projected_;  // their items
  std::vector<RowCandidates> candidates_;  // [items]
  ShortlistRows shortlist_rows_;           // of the other items
  Buffer<float> all_logits_;               // [items that want all, vocabulary]
  std::vector<float*> all_rows_;           // of each item, or null
  std::vector<std::vector<float>> self_maps_, cross_maps_;  // [items]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_DECODER_H_
