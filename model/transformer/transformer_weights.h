#ifndef TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_WEIGHTS_H_
#define TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_WEIGHTS_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/kernels/attention.h"
#include "model/transformer/embeddings.h"
#include "model/transformer/heads.h"
#include "model/transformer/layer.h"
#include "model/transformer/relative_attention.h"
#include "model/transformer/shortlist_projection.h"
#include "model/transformer/transformer.h"

namespace trivium {

// The layers of a stack in their order. Some may be the same ones (ALBERT).
class LayerList {
 public:
  void Add(Layer layer) {
    packed_.push_back(std::move(layer));
    Repeat(packed_.size() - 1);
  }
  // Adds the one that `packed` has at this place.
  void Repeat(size_t place) { order_.push_back(place); }

  size_t size() const { return order_.size(); }
  const Layer& operator[](size_t i) const { return packed_[order_[i]]; }
  Layer& operator[](size_t i) { return packed_[order_[i]]; }
  // Each once.
  const std::vector<Layer>& packed() const { return packed_; }

 private:
  std::vector<Layer> packed_;
  std::vector<size_t> order_;  // places in packed_
};

// An encoder's or a decoder's packed weights.
struct Stack {
  Embeddings embeddings;
  std::optional<Norm> embedding_norm;
  std::optional<Linear> embedding_projection;  // [d_model, embedding width]
  std::optional<RelativeAttention> relative_attention;
  LayerList layers;
  std::optional<Norm> final_norm;
  NormPlacement norm_placement = NormPlacement::kAfter;
  int d_model = 0;
  int heads = 0;
  int vocabulary = 0;
  int type_vocabulary = 0;
  int max_positions = 0;

  int head_size() const { return d_model / heads; }
  // What reads first in a layer; null after the last one.
  const Linear* FirstReader(int layer) const {
    return layer < static_cast<int>(layers.size())
               ? &layers[layer].query_key_value
               : nullptr;
  }
};

// The Transformer that engines run.
class TransformerWeights : public Transformer {
 public:
  static absl::StatusOr<std::shared_ptr<const TransformerWeights>> Pack(
      const TransformerDescription& description, Arithmetic arithmetic);

  int64_t weight_bytes() const override { return weight_bytes_; }
  int64_t parameters() const override { return parameters_; }
  bool batch_invariant() const override { return batch_invariant_; }

  Arithmetic arithmetic() const { return arithmetic_; }
  // The keys and values of one layer of a stack. An encoder's are read once,
  // by the layer that made them; a decoder's at every step, out of memory, so
  // in int8 arithmetic they are int8, too.
  KvShape encoder_kv_shape() const;
  KvShape decoder_kv_shape() const;
  const std::optional<Stack>& encoder() const { return encoder_; }
  const std::optional<Stack>& decoder() const { return decoder_; }
  // Keys, then values, of every decoder layer, for one encoder state:
  // [layers x 2 d_model, d_model]. Empty without cross-attention.
  const std::optional<Linear>& cross_key_value() const {
    return cross_key_value_;
  }
  // [vocabulary, d_model] in blocks of kOutputBlock.
  const std::vector<Linear>& output_blocks() const { return output_blocks_; }
  // For sources with a shortlist; null without one.
  const ShortlistProjection* shortlist() const {
    return shortlist_ ? &*shortlist_ : nullptr;
  }
  // Of encoder-only models; null where there is none.
  const Pooler* pooler() const { return pooler_ ? &*pooler_ : nullptr; }
  const Head* head() const { return head_ ? &*head_ : nullptr; }

 private:
  Arithmetic arithmetic_ = Arithmetic::kF32;
  std::optional<Stack> encoder_;
  std::optional<Stack> decoder_;
  std::optional<Linear> cross_key_value_;
  std::vector<Linear> output_blocks_;
  std::optional<ShortlistProjection> shortlist_;
  std::optional<Pooler> pooler_;
  std::optional<Head> head_;
  int64_t weight_bytes_ = 0;
  int64_t parameters_ = 0;
  bool batch_invariant_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_WEIGHTS_H_
