#ifndef TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ATTENTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ATTENTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernels/buffer.h"
#include "model/kernels/relative_attention.h"
#include "model/transformer/layer.h"
#include "model/transformer/sequences.h"

namespace trivium {

// The packed weights of a stack's relative attention: what does not depend on
// the text is computed once, at load, in f32, by distance.
class RelativeAttention {
 public:
  // INVALID_ARGUMENT where so many positions need too much memory.
  static absl::StatusOr<RelativeAttention> Create(
      const StackDescription& stack);

  RelativeTables tables(int layer, int head) const;
  float scale() const { return scale_; }
  int64_t bytes() const;

 private:
  // Of a layer's tables [d_model, columns_], or null where there are none.
  const float* Table(const std::vector<Buffer<float>>& tables, int layer,
                     int head) const {
    return tables.empty() ? nullptr
                          : tables[layer].data() + head * head_size_ * columns_;
  }

  int positions_ = 0;
  size_t head_size_ = 0;
  size_t columns_ = 0;
  float scale_ = 1;
  std::vector<Buffer<float>> keys_, queries_;  // [layers] or empty
  std::vector<float> bias_;                    // [heads, columns_] or empty
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
  Buffer<float> scratch_;          // of a head
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ATTENTION_H_
