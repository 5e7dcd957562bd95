#ifndef TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_

#include <optional>
#include <vector>

#include "model/kernels/activation.h"
#include "model/weights/weights.h"

namespace trivium {

// The one Transformer, as data. families/<name>.cc reads config.json and the
// weights into a TransformerDescription; transformer/ computes it. A family
// has no forward pass of its own.

// Where layer norm stands: after each residual sum (the original Transformer,
// BERT, Marian) or before each sublayer (GPT-2, LLaMA, mBART).
enum class NormPlacement { kAfter, kBefore };

enum class PositionEncoding {
  // Marian's table: sin of the first half of the dimensions, cos of the
  // second; frequency of pair i is 10000^(-2i / d_model).
  kSinusoidal,
  kLearned,  // EmbeddingTensors::positions
};

// A linear layer y = x W^T + b. weight [out, in]; bias [out] or null.
struct LinearTensors {
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
};

// weight and bias [d_model].
struct NormTensors {
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
};

struct AttentionTensors {
  LinearTensors query, key, value, output;
};

struct LayerTensors {
  AttentionTensors self_attention;
  NormTensors self_attention_norm;
  // In decoder layers of encoder-decoder models.
  std::optional<AttentionTensors> cross_attention;
  NormTensors cross_attention_norm;
  LinearTensors up, down;  // [ffn, d_model], [d_model, ffn]
  NormTensors feed_forward_norm;
};

struct EmbeddingTensors {
  const TensorView* tokens = nullptr;     // [vocabulary, d_model]
  const TensorView* positions = nullptr;  // [positions, d_model] if kLearned
};

// An encoder's or a decoder's layers with their input embeddings.
struct StackDescription {
  int layers = 0;
  int d_model = 0;
  int heads = 0;  // head size is d_model / heads
  int feed_forward = 0;
  int vocabulary = 0;
  int max_positions = 0;
  Activation activation = Activation::kRelu;
  NormPlacement norm_placement = NormPlacement::kAfter;
  float norm_epsilon = 1e-5f;
  PositionEncoding positions = PositionEncoding::kSinusoidal;
  float embedding_scale = 1.0f;  // sqrt(d_model) where the config says so

  EmbeddingTensors embeddings;
  std::optional<NormTensors> embedding_norm;  // right after the sum
  std::vector<LayerTensors> layer;            // [layers]
  std::optional<NormTensors> final_norm;      // after the last layer
};

struct TransformerDescription {
  std::optional<StackDescription> encoder;
  std::optional<StackDescription> decoder;
  // logits = x W^T + bias: weight [vocabulary, d_model], often the tied token
  // embeddings; bias [vocabulary] or [1, vocabulary] or null.
  LinearTensors output_projection;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_
