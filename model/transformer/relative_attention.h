#ifndef TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ATTENTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ATTENTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/transformer/layer.h"
#include "model/transformer/sequences.h"

namespace trivium {

// The packed weights of a stack's relative attention: what does not depend on
// the text is computed once, at load, in f32.
class RelativeAttention {
 public:
  static absl::StatusOr<RelativeAttention> Create(
      const StackDescription& stack);

  // Of the tables of a layer, [rows, d_model]; null where there is none.
  const float* position_key(int layer) const { return Table(keys_, layer); }
  const float* position_query(int layer) const {
    return Table(queries_, layer);
  }
  // [rows] of a head, or null.
  const float* bias(int head) const {
    return bias_.empty() ? nullptr : &bias_[static_cast<size_t>(head) * span_];
  }
  float scale() const { return scale_; }
  // row[i - j] for sequences of up to max_positions.
  const int32_t* row() const { return &rows_[rows_.size() / 2]; }
  int64_t bytes() const;

 private:
  static const float* Table(const std::vector<std::vector<float>>& tables,
                            int layer) {
    return tables.empty() ? nullptr : tables[layer].data();
  }

  int span_ = 0;
  float scale_ = 1;
  std::vector<std::vector<float>> keys_, queries_;  // [layers] or empty
  std::vector<float> bias_;                         // [heads, span] or empty
  std::vector<int32_t> rows_;                       // [2 max_positions - 1]
};

// The self-attention sublayer of an encoder with relative attention. One a
// worker.
class RelativeSelfAttention {
 public:
  // As Encoder's own: reads and advances `rows`, which hold the tokens of
  // `sources`, one source after the other, through layer `layer` of `layers`.
  absl::Status Run(const RelativeAttention& attention, const Layer& weights,
                   int layer, int layers, int heads,
                   std::span<SourceState* const> sources, Rows* rows,
                   LinearScratch* scratch);

 private:
  void Attend(const RelativeAttention& attention, int layer, int layers,
              int heads, int d_model, int first_row, SourceState* source);

  Buffer<float> query_key_value_;  // [rows, 3 d_model]
  Buffer<float> out_;              // [rows, d_model]
  Buffer<float> row_;              // [tokens] of attention weights
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ATTENTION_H_
