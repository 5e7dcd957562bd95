#ifndef TRIVIUM_MODEL_TRANSFORMER_STACK_H_
#define TRIVIUM_MODEL_TRANSFORMER_STACK_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/transformer/embeddings.h"
#include "model/transformer/formats.h"
#include "model/transformer/layer.h"
#include "model/transformer/packing.h"
#include "model/transformer/relative_attention.h"

namespace trivium {

// The layers of a stack, in order. Several may be the same object (ALBERT).
class LayerList {
 public:
  void Add(Layer layer) {
    order_.push_back(packed_.size());
    packed_.push_back(std::move(layer));
  }
  // Appends the layer at `place` once more.
  void Repeat(size_t place) { order_.push_back(order_[place]); }

  size_t size() const { return order_.size(); }
  const Layer& operator[](size_t i) const { return packed_[order_[i]]; }
  Layer& operator[](size_t i) { return packed_[order_[i]]; }
  // The distinct layers, each once.
  const std::vector<Layer>& packed() const { return packed_; }
  template <typename F>
  void ForEachPart(const F& f) const {
    VisitParts(f, packed_);
  }

 private:
  std::vector<Layer> packed_;
  std::vector<size_t> order_;  // indices of packed_
};

// The packed TokenInputsDescription.
struct TokenInputs {
  int width = 0;
  float scale = 1;
  std::shared_ptr<const TokenTable> tokens;
  const Weights* in_place = nullptr;  // see TokenInputsDescription
  Linear projection;
  Norm norm;

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_width, of_scale, of_tokens, of_in_place, of_projection,
                 of_norm] = *this;
    VisitParts(f, of_width, of_scale, of_tokens, of_projection, of_norm);
  }
};

// An encoder's or a decoder's packed weights.
struct Stack {
  Embeddings embeddings;
  std::optional<Norm> embedding_norm;
  bool positions_after_norm = false;           // see StackDescription
  bool projects_tokens = false;                // see EmbeddingTensors
  bool trigrams = false;                       // see EmbeddingTensors
  std::optional<Linear> embedding_projection;  // [d_model, embedding width]
  std::optional<TokenInputs> token_inputs;
  std::optional<RelativeAttention> relative_attention;
  std::vector<RotaryDescription> rotary;
  std::optional<GlobalTokens> global_tokens;
  LayerList layers;
  std::optional<Norm> final_norm;
  int d_model = 0;
  int heads = 0;
  int vocabulary = 0;
  int type_vocabulary = 0;
  int max_positions = 0;

  // `tokens` is the table of description.embeddings.tokens, which a decoder may
  // share with an encoder.
  static absl::StatusOr<Stack> Create(const StackDescription& description,
                                      std::shared_ptr<const TokenTable> tokens,
                                      const Formats& formats, Packing* packing);
  // Repacks, with smoothing factors, the layers' products for which `maxima`
  // has inputs (smoothing.h).
  absl::Status Smooth(const StackDescription& description,
                      const Formats& formats, const InputMaxima& maxima);

  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_embeddings, of_embedding_norm, of_positions_after_norm,
                 of_projects_tokens, of_trigrams, of_embedding_projection,
                 of_token_inputs, of_relative_attention, of_rotary,
                 of_global_tokens, of_layers, of_final_norm, of_d_model,
                 of_heads, of_vocabulary, of_type_vocabulary,
                 of_max_positions] = *this;
    VisitParts(f, of_embeddings, of_embeddings.tokens(), of_embedding_norm,
               of_embedding_projection, of_token_inputs, of_relative_attention,
               of_rotary, of_layers, of_final_norm, of_d_model, of_heads,
               of_vocabulary, of_type_vocabulary, of_max_positions);
  }

  // Returns the linear layer that reads first in a layer; null after the last.
  const Linear* FirstReader(int layer) const {
    if (layer >= static_cast<int>(layers.size())) return nullptr;
    const Layer& reads = layers[layer];
    if (reads.bottleneck.has_value()) return &reads.bottleneck->input;
    if (reads.mixer.has_value()) return &reads.mixer->projection;
    return reads.attends ? &reads.self_attention.projection
                         : reads.feed_forward_reader();
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_STACK_H_
