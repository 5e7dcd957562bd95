#include "tests/support/random_transformer.h"

#include <cmath>

namespace trivium {

RandomTransformer::RandomTransformer(const Shape& shape, uint32_t seed)
    : shape_(shape), generator_(seed) {
  const TensorView* tokens = Tensor({shape.vocabulary, shape.d_model}, 0, 0.3f);
  description_.encoder = Stack(shape.encoder_layers, false, tokens);
  description_.decoder = Stack(shape.decoder_layers, true, tokens);
  description_.output_projection = {tokens,
                                    Tensor({1, shape.vocabulary}, 0, 0.1f)};
  if (!shape.tied) {
    description_.decoder->embeddings.tokens =
        Tensor({shape.vocabulary, shape.d_model}, 0, 0.3f);
  }
}

const TensorView* RandomTransformer::Tensor(std::vector<int64_t> shape,
                                            float mean, float deviation) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float>& values = values_.emplace_back(count);
  for (float& value : values) value = normal(generator_);
  return &tensors_.emplace_back(
      TensorView{DType::kF32, std::move(shape),
                 std::as_bytes(std::span<const float>(values))});
}

LinearTensors RandomTransformer::Linear(int out, int in) {
  return {Tensor({out, in}, 0, 1 / std::sqrt(static_cast<float>(in))),
          Tensor({out}, 0, 0.1f)};
}

NormTensors RandomTransformer::Norm() {
  return {Tensor({shape_.d_model}, 1, 0.1f), Tensor({shape_.d_model}, 0, 0.1f)};
}

AttentionTensors RandomTransformer::Attention() {
  const int d = shape_.d_model;
  // Larger queries than usual, so that attention is not uniform.
  LinearTensors query = {Tensor({d, d}, 0, 2 / std::sqrt(1.0f * d)),
                         Tensor({d}, 0, 0.1f)};
  return {query, Linear(d, d), Linear(d, d), Linear(d, d)};
}

StackDescription RandomTransformer::Stack(int layers, bool cross,
                                          const TensorView* tokens) {
  StackDescription stack;
  stack.layers = layers;
  stack.d_model = shape_.d_model;
  stack.heads = shape_.heads;
  stack.feed_forward = shape_.feed_forward;
  stack.vocabulary = shape_.vocabulary;
  stack.max_positions = shape_.max_positions;
  stack.activation = shape_.activation;
  stack.norm_placement = shape_.norm_placement;
  stack.positions = shape_.positions;
  stack.embedding_scale = std::sqrt(static_cast<float>(shape_.d_model));
  stack.embeddings.tokens = tokens;
  if (shape_.positions == PositionEncoding::kLearned) {
    stack.embeddings.positions =
        Tensor({shape_.max_positions, shape_.d_model}, 0, 0.5f);
  }
  if (shape_.embedding_norm) stack.embedding_norm = Norm();
  for (int i = 0; i < layers; ++i) {
    LayerTensors layer;
    layer.self_attention = Attention();
    layer.self_attention_norm = Norm();
    if (cross) {
      layer.cross_attention = Attention();
      layer.cross_attention_norm = Norm();
    }
    layer.up = Linear(shape_.feed_forward, shape_.d_model);
    layer.down = Linear(shape_.d_model, shape_.feed_forward);
    layer.feed_forward_norm = Norm();
    stack.layer.push_back(layer);
  }
  if (shape_.final_norm) stack.final_norm = Norm();
  return stack;
}

}  // namespace trivium
