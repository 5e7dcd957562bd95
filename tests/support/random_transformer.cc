#include "tests/support/random_transformer.h"

#include <cmath>

namespace trivium {

RandomTransformer::RandomTransformer(const Shape& shape, uint32_t seed)
    : shape_(shape), generator_(seed) {
  const int width =
      shape.embedding_width > 0 ? shape.embedding_width : shape.d_model;
  const TensorView* tokens = Tensor({shape.vocabulary, width}, 0, 0.3f);
  description_.encoder = Stack(shape.encoder_layers, false, tokens);
  if (shape.pooler) {
    description_.pooler =
        PoolerDescription{Linear(shape.d_model, shape.d_model)};
  }
  if (shape.head.has_value()) description_.head = Head();
  if (shape.decoder_layers == 0) return;
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

NormTensors RandomTransformer::Norm(int size) {
  return {Tensor({size}, 1, 0.1f), Tensor({size}, 0, 0.1f)};
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
  const int width = static_cast<int>(tokens->shape[1]);
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
    if (shape_.position_padding_id.has_value()) {
      stack.position_padding_id = shape_.position_padding_id;
      stack.position_offset = *shape_.position_padding_id + 1;
    }
    stack.embeddings.positions =
        Tensor({shape_.max_positions + stack.position_offset, width}, 0, 0.5f);
  }
  if (shape_.type_vocabulary > 0) {
    stack.type_vocabulary = shape_.type_vocabulary;
    stack.embeddings.types = Tensor({shape_.type_vocabulary, width}, 0, 0.5f);
  }
  if (width != shape_.d_model) {
    stack.embeddings.projection = Linear(shape_.d_model, width);
  }
  if (shape_.embedding_norm) stack.embedding_norm = Norm(width);
  if (shape_.relative.has_value()) stack.relative_attention = Relative();
  for (int i = 0; i < layers; ++i) {
    if (shape_.distinct_layers > 0 && i >= shape_.distinct_layers) {
      stack.layer.push_back(stack.layer[i - shape_.distinct_layers]);
      continue;
    }
    LayerTensors layer;
    layer.self_attention = Attention();
    if (stack.relative_attention && stack.relative_attention->embeddings) {
      layer.position_key = Linear(shape_.d_model, shape_.d_model);
      layer.position_query = Linear(shape_.d_model, shape_.d_model);
    }
    layer.self_attention_norm = Norm(shape_.d_model);
    if (cross) {
      layer.cross_attention = Attention();
      layer.cross_attention_norm = Norm(shape_.d_model);
    }
    layer.up = Linear(shape_.feed_forward, shape_.d_model);
    layer.down = Linear(shape_.d_model, shape_.feed_forward);
    layer.feed_forward_norm = Norm(shape_.d_model);
    stack.layer.push_back(layer);
  }
  if (shape_.final_norm) stack.final_norm = Norm(shape_.d_model);
  return stack;
}

RelativeAttentionDescription RandomTransformer::Relative() {
  using Buckets = RelativeAttentionDescription::Buckets;
  RelativeAttentionDescription relative;
  relative.buckets = *shape_.relative;
  relative.span = 8;
  relative.max_distance = 20;
  if (relative.buckets == Buckets::kT5) {
    relative.bias = Tensor({relative.span, shape_.heads}, 0, 1);
    return relative;
  }
  relative.terms = 3;
  relative.embeddings = Tensor({2 * relative.span, shape_.d_model}, 0, 1);
  if (relative.buckets == Buckets::kLogarithmic) {
    relative.norm = Norm(shape_.d_model);
  }
  return relative;
}

HeadDescription RandomTransformer::Head() {
  const int width =
      static_cast<int>(description_.encoder->embeddings.tokens->shape[1]);
  HeadDescription head;
  head.kind = *shape_.head;
  switch (head.kind) {
    case HeadKind::kClassify:
      head.input = shape_.pooler ? HeadDescription::Input::kPooled
                                 : HeadDescription::Input::kFirstToken;
      head.output = Linear(5, shape_.d_model);
      break;
    case HeadKind::kFillMask:
      head.dense = Linear(width, shape_.d_model);
      head.activation = Activation::kGelu;
      head.norm = Norm(width);
      head.output = {description_.encoder->embeddings.tokens,
                     Tensor({shape_.vocabulary}, 0, 0.1f)};
      break;
    case HeadKind::kTag:
    case HeadKind::kAnswer:
      head.output = Linear(2, shape_.d_model);
      break;
    case HeadKind::kDiscriminate:
      head.dense = Linear(shape_.d_model, shape_.d_model);
      head.activation = Activation::kTanh;
      head.output = Linear(1, shape_.d_model);
      break;
  }
  return head;
}

}  // namespace trivium
