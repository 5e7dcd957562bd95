#include "tests/support/random_transformer.h"

#include <cmath>

namespace trivium {

RandomTransformer::RandomTransformer(const Shape& shape, uint32_t seed)
    : shape_(shape), generator_(seed) {
  const int width =
      shape.embedding_width > 0 ? shape.embedding_width : shape.d_model;
  const TensorView* tokens = Tensor({shape.vocabulary, width}, 0, 0.3f);
  if (shape.encoder_layers > 0) {
    description_.encoder = Stack(shape.encoder_layers, false, tokens);
  }
  if (shape.pooler) {
    description_.pooler =
        PoolerDescription{Linear(shape.d_model, shape.d_model)};
  }
  if (shape.head.has_value()) description_.head = Head();
  if (shape.decoder_layers == 0) return;
  description_.decoder = Stack(shape.decoder_layers, true, tokens);
  description_.output_projection = {tokens,
                                    Tensor({1, shape.vocabulary}, 0, 0.1f)};
  description_.logit_factor = shape.logit_factor;
  description_.logit_soft_cap = shape.logit_soft_cap;
  if (width != shape.d_model) {
    description_.output_narrowing = {
        Tensor({width, shape.d_model}, 0, 1 / std::sqrt(1.0f * shape.d_model))};
  }
  if (!shape.tied) {
    description_.decoder->embeddings.tokens =
        Tensor({shape.vocabulary, shape.d_model}, 0, 0.3f);
  }
}

int64_t RandomTransformer::parameters() const {
  int64_t count = 0;
  for (const TensorView& tensor : tensors_) count += tensor.elements();
  return count;
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
  LinearTensors tensors = {
      Tensor({out, in}, 0, 1 / std::sqrt(static_cast<float>(in)))};
  if (shape_.biases) tensors.bias = Tensor({out}, 0, 0.1f);
  return tensors;
}

NormTensors RandomTransformer::Norm(int size) {
  const bool rms = shape_.norm_kind == NormTensors::Kind::kRms;
  // What is not divided by its deviation must not grow from layer to layer.
  const float mean = shape_.one_plus_weight                         ? 0
                     : shape_.norm_kind == NormTensors::Kind::kNone ? 0.5f
                                                                    : 1;
  NormTensors tensors = {.weight = Tensor({size}, mean, 0.1f),
                         .kind = shape_.norm_kind,
                         .one_plus_weight = shape_.one_plus_weight};
  if (shape_.biases && !rms) tensors.bias = Tensor({size}, 0, 0.1f);
  return tensors;
}

SublayerNorms RandomTransformer::Norms() {
  const NormPlacement placement = shape_.norm_placement;
  SublayerNorms norms;
  if (placement == NormPlacement::kAfter ||
      placement == NormPlacement::kOfSumAndAfter) {
    norms.after = Norm(shape_.d_model);
  }
  if (placement == NormPlacement::kOfSumAndAfter) {
    norms.of_sum = Norm(shape_.d_model);
  }
  if (placement == NormPlacement::kBefore ||
      placement == NormPlacement::kBeforeAndOfOutput) {
    norms.before = Norm(shape_.d_model);
  }
  if (placement == NormPlacement::kOfOutput ||
      placement == NormPlacement::kBeforeAndOfOutput) {
    norms.of_output = Norm(shape_.d_model);
  }
  norms.factor = shape_.residual_factor;
  return norms;
}

AttentionDescription RandomTransformer::Attention(bool causal) {
  const int d = shape_.d_model;
  AttentionDescription attention;
  AttentionGeometry& geometry = attention.geometry;
  geometry = AttentionGeometry::Even(d, shape_.heads);
  if (shape_.kv_heads > 0) geometry.kv_heads = shape_.kv_heads;
  if (shape_.head_size > 0) geometry.head_size = shape_.head_size;
  if (shape_.attention_scale > 0) geometry.scale = shape_.attention_scale;
  if (causal || shape_.causal) geometry.look_ahead = 0;
  const int width = geometry.query_width();
  // Larger queries than usual, so that attention is not uniform.
  attention.query = {Tensor({width, d}, 0, 2 / std::sqrt(1.0f * d))};
  if (shape_.biases) attention.query.bias = Tensor({width}, 0, 0.1f);
  attention.key = Linear(geometry.kv_width(), d);
  attention.value = Linear(geometry.kv_width(), d);
  attention.output = Linear(d, width);
  if (shape_.near_width > 0) {
    const int near = shape_.near_width;
    attention.near = {.width = near,
                      .depthwise = Tensor({d, 1, near}, 0, 0.5f),
                      .span = Linear(width, d),
                      .weights = Linear(shape_.heads * near, width),
                      .value = Linear(width, d)};
    attention.output = Linear(d, 2 * width);
  }
  if (shape_.global_tokens.has_value() && !causal) {
    attention.global = {{Tensor({width, d}, 0, 2 / std::sqrt(1.0f * d))},
                        Linear(geometry.kv_width(), d),
                        Linear(geometry.kv_width(), d)};
  }
  return attention;
}

MixerDescription RandomTransformer::Mixer() {
  using Kind = MixerDescription::Kind;
  const int d = shape_.d_model;
  MixerDescription mixer;
  mixer.kind = *shape_.mixer;
  mixer.width = mixer.kind == Kind::kConvolution ? 3 : 4;
  if (mixer.kind == Kind::kSelectiveScan) {
    mixer.heads = mixer.key_heads = 1;
    mixer.key_size = 5;
    mixer.value_size = 70;
    mixer.rate_width = 3;
    mixer.selection = {Tensor({13, 70}, 0, 0.3f)};
    mixer.rate = {Tensor({70, 3}, 0, 0.5f)};
    mixer.decay = Tensor({70, 5}, 0, 1);
    mixer.rate_bias = Tensor({70}, -1, 1);
    mixer.skip = Tensor({70}, 1, 0.5f);
    if (shape_.norm_after_gate) mixer.selection_epsilon = 1e-6f;
  } else if (mixer.kind != Kind::kConvolution) {
    mixer.heads = 4;
    mixer.key_heads = 2;
    mixer.key_size = 7;
    mixer.value_size = 35;  // more than a panel
    mixer.decay = Tensor({mixer.heads}, 0, 1);
    mixer.rate_bias = Tensor({mixer.heads}, -1, 1);
    mixer.rate = Linear(mixer.heads, d);
    const bool delta = mixer.kind == Kind::kGatedDelta;
    if (delta) {
      mixer.share = Linear(mixer.heads, d);
    } else {
      mixer.skip = Tensor({mixer.heads}, 1, 0.5f);
      mixer.least_rate = 0.1f;
      mixer.most_rate = 2;
    }
    mixer.norm_size = delta ? mixer.value_size : 2 * mixer.value_size;
    mixer.norm = {
        .weight = Tensor({delta ? mixer.value_size : mixer.values(d)}, 1, 0.1f),
        .kind = NormTensors::Kind::kRms};
    mixer.norm_after_gate = shape_.norm_after_gate;
  }
  const int channels = mixer.channel_count(d), values = mixer.values(d);
  mixer.channels = {Linear(5, d), Linear(channels - 5, d)};
  if (mixer.kind == Kind::kConvolution) {
    mixer.channel_gate = Linear(channels, d);
  }
  mixer.gate = Linear(values, d);
  mixer.output = Linear(d, values);
  mixer.convolution = Tensor({channels, 1, mixer.width}, 0, 0.5f);
  if (shape_.biases) mixer.convolution_bias = Tensor({channels}, 0, 0.1f);
  return mixer;
}

StackDescription RandomTransformer::Stack(int layers, bool causal,
                                          const TensorView* tokens) {
  const bool cross = causal && shape_.encoder_layers > 0;
  const int width = static_cast<int>(tokens->shape[1]);
  StackDescription stack;
  stack.layers = layers;
  stack.d_model = shape_.d_model;
  stack.heads = shape_.heads;
  stack.feed_forward = shape_.feed_forward;
  stack.vocabulary = shape_.vocabulary;
  stack.max_positions = shape_.max_positions;
  stack.activation = shape_.activation;
  stack.gate_clip = shape_.gate_clip;
  stack.positions = shape_.positions;
  stack.embedding_scale = std::sqrt(static_cast<float>(shape_.d_model));
  stack.embeddings.tokens = tokens;
  if (shape_.position_padding_id.has_value()) {
    stack.position_padding_id = shape_.position_padding_id;
    stack.position_offset = *shape_.position_padding_id + 1;
  }
  if (shape_.positions == PositionEncoding::kLearned) {
    stack.embeddings.positions =
        Tensor({shape_.max_positions + stack.position_offset,
                causal || shape_.trigrams ? shape_.d_model : width},
               0, 0.5f);
  }
  if (shape_.type_vocabulary > 0) {
    stack.type_vocabulary = shape_.type_vocabulary;
    stack.embeddings.types = Tensor(
        {shape_.type_vocabulary, shape_.trigrams ? shape_.d_model : width}, 0,
        0.5f);
  }
  if (shape_.trigrams) {
    stack.embeddings.projects_tokens = stack.embeddings.trigrams = true;
    stack.embeddings.projection = Linear(shape_.d_model, 3 * width);
  } else if (width != shape_.d_model) {
    stack.embeddings.projection = Linear(shape_.d_model, width);
  }
  if (shape_.embedding_norm) {
    stack.embedding_norm = Norm(shape_.trigrams ? shape_.d_model : width);
  }
  stack.positions_after_norm = causal && shape_.positions_after_norm;
  if (!causal) stack.global_tokens = shape_.global_tokens;
  if (shape_.relative.has_value()) stack.relative_attention = Relative(causal);
  if (shape_.alibi) {
    RelativeAttentionDescription& alibi = stack.relative_attention.emplace();
    for (int h = 0; h < shape_.heads; ++h) {
      alibi.slopes.push_back(0.5f / (1 + h));
    }
    if (shape_.bf16_alibi) alibi.bf16_scale = 0.4f;
  }
  if (shape_.rotary_pairs > 0) {
    stack.rotary = {Rotary(10000, 1), Rotary(50, 1.2f)};
    stack.rotary[1].query_growth = shape_.query_growth;
    stack.rotary[1].growth_length = 3;
  }
  if (shape_.gemma4) {
    TokenInputsDescription& inputs = stack.token_inputs.emplace();
    inputs.width = 7;
    inputs.tokens = Tensor({shape_.vocabulary, layers * inputs.width}, 0, 1);
    inputs.scale = 0.7f;
    inputs.projection = Linear(layers * inputs.width, shape_.d_model);
    inputs.norm = Norm(inputs.width);
  }
  for (int i = 0; i < layers; ++i) {
    if (shape_.distinct_layers > 0 && i >= shape_.distinct_layers) {
      stack.layer.push_back(stack.layer[i - shape_.distinct_layers]);
      continue;
    }
    LayerDescription layer;
    layer.self_attention = Attention(causal);
    AttentionGeometry& geometry = layer.self_attention.geometry;
    if (shape_.window > 0 && i % 2 == 0) {
      geometry.look_back = shape_.window - 1;
      if (geometry.look_ahead != 0) {
        geometry.look_ahead = shape_.window / 2;
      }
    }
    if (shape_.rotary_pairs > 0 && i % 3 < 2) geometry.rotary = i % 3;
    if (shape_.sinks) {
      layer.self_attention.sinks = Tensor({shape_.heads}, 1, 2);
    }
    if (shape_.head_norms) {
      const bool wide = shape_.wide_head_norms;
      const bool own = shape_.own_head_norms;
      layer.self_attention.query_norm =
          Norm(wide ? geometry.query_width() : geometry.head_size);
      layer.self_attention.key_norm =
          Norm(wide ? geometry.kv_width() : geometry.head_size);
      if (own) {
        layer.self_attention.query_norm->weight =
            Tensor({geometry.heads, geometry.head_size}, 1, 0.1f);
        layer.self_attention.key_norm->weight =
            Tensor({geometry.kv_heads, geometry.head_size}, 1, 0.1f);
        layer.self_attention.query_norm->bias = nullptr;
        layer.self_attention.key_norm->bias = nullptr;
      }
      layer.self_attention.norms_after_rotary = shape_.norms_after_rotary;
    }
    if (shape_.latent_rank > 0) {
      // Its rotary positions are not optional, but may be none here.
      if (geometry.rotary == AttentionGeometry::kNoRotary) geometry.rotary = 0;
      layer.self_attention = LatentAttention(geometry);
    }
    if (shape_.block > 0 && !causal) {
      layer.self_attention.blocks = {shape_.block, Norm(shape_.d_model)};
    }
    geometry.soft_cap = shape_.soft_cap;
    geometry.clip = shape_.clip;
    if (shape_.gated_attention) {
      layer.self_attention.gate =
          Linear(geometry.query_width(), shape_.d_model);
    }
    if (stack.relative_attention && shape_.bias_of_each_layer) {
      stack.relative_attention->bias = nullptr;
      layer.position_bias =
          Tensor({stack.relative_attention->span, shape_.heads}, 0, 1);
    }
    if (shape_.mixer.has_value() && i % 3 != 1) {
      if (!shape_.mixes_beside) {
        const AttentionGeometry kept = geometry;
        layer.self_attention = {};
        geometry = kept;
      }
      layer.mixer = Mixer();
    }
    layer.parallel = shape_.parallel;
    if (stack.relative_attention && stack.relative_attention->embeddings) {
      geometry.scale /= std::sqrt(3.0f);  // of three terms
      layer.position_key = Linear(geometry.query_width(), shape_.d_model);
      layer.position_query = Linear(geometry.query_width(), shape_.d_model);
    }
    if (cross && shape_.recurrent) {
      AttentionDescription none;
      none.geometry = geometry;
      layer.self_attention = none;
      layer.recurrence = {.input = Linear(shape_.d_model, shape_.d_model),
                          .forget = Linear(shape_.d_model, shape_.d_model)};
    }
    layer.self_attention_norms = Norms();
    if (shape_.bare_first_layer && i == 0) {
      layer.self_attention_norms.before.reset();
    }
    if (cross) {
      layer.cross_attention = Attention(/*causal=*/false);
      layer.cross_attention_norms = Norms();
      if (shape_.merged) {
        layer.cross_attention->query = layer.cross_attention->output = {};
      }
    }
    if (shape_.experts > 0 && !(shape_.grouped_experts && i == 1)) {
      layer.experts = Experts();
    } else {
      layer.up = Linear(shape_.feed_forward, shape_.d_model);
      if (shape_.gated) {
        layer.gate = Linear(shape_.feed_forward, shape_.d_model);
      }
      layer.down = Linear(shape_.d_model, shape_.feed_forward);
    }
    layer.feed_forward_norms = Norms();
    if (shape_.gemma4) UseGemma4(i, stack, &layer);
    for (int k = 0; k < shape_.earlier_feed_forwards; ++k) {
      layer.earlier_feed_forwards.push_back(
          {Linear(shape_.feed_forward, shape_.d_model),
           Linear(shape_.d_model, shape_.feed_forward), Norms()});
    }
    if (shape_.bottleneck > 0) Narrow(&layer);
    stack.layer.push_back(layer);
  }
  if (shape_.final_norm) stack.final_norm = Norm(shape_.d_model);
  return stack;
}

void RandomTransformer::Narrow(LayerDescription* layer) {
  const int d = shape_.d_model, width = shape_.bottleneck;
  AttentionDescription& attention = layer->self_attention;
  AttentionGeometry& geometry = attention.geometry;
  geometry = AttentionGeometry::Even(width, shape_.heads);
  attention.query = Linear(width, width);
  attention.key = Linear(width, width);
  attention.value = Linear(width, shape_.shared_bottleneck ? d : width);
  attention.output = Linear(width, width);
  const auto narrow = [&](LinearTensors* up, LinearTensors* down,
                          SublayerNorms* norms) {
    *up = Linear(shape_.feed_forward, width);
    *down = Linear(width, shape_.feed_forward);
    norms->after = Norm(width);
  };
  layer->self_attention_norms.after = Norm(width);
  narrow(&layer->up, &layer->down, &layer->feed_forward_norms);
  for (auto& [up, down, norms] : layer->earlier_feed_forwards) {
    narrow(&up, &down, &norms);
  }
  BottleneckDescription& bottleneck = layer->bottleneck.emplace();
  bottleneck.width = width;
  bottleneck.input = Linear(width, d);
  bottleneck.input_norm = Norm(width);
  if (shape_.shared_bottleneck) {
    bottleneck.attention = Linear(width, d);
    bottleneck.attention_norm = Norm(width);
  }
  bottleneck.output = Linear(d, width);
  bottleneck.output_norm = Norm(d);
}

RotaryDescription RandomTransformer::Rotary(double base,
                                            float magnitude) const {
  RotaryDescription rotary;
  for (int i = 0; i < shape_.rotary_pairs; ++i) {
    rotary.frequencies.push_back(
        static_cast<float>(std::pow(base, -1.0 * i / shape_.rotary_pairs)));
  }
  rotary.magnitude = magnitude;
  return rotary;
}

ExpertsDescription RandomTransformer::Experts() {
  ExpertsDescription description;
  description.router = Linear(shape_.experts, shape_.d_model);
  description.chosen = 2;
  description.over_all = shape_.weigh_over_all;
  if (shape_.sparse_mixer) {
    description.scores = ExpertsDescription::Scores::kSparseMixer;
    description.nearness = 0.8f;
  }
  if (shape_.plain_experts) description.bias = Tensor({shape_.d_model}, 0, 1);
  for (int i = 0; i < shape_.experts; ++i) {
    description.experts.push_back(
        {.gate = shape_.plain_experts
                     ? LinearTensors()
                     : Linear(shape_.feed_forward, shape_.d_model),
         .up = Linear(shape_.feed_forward, shape_.d_model),
         .down = Linear(shape_.d_model, shape_.feed_forward)});
  }
  const auto expert = [&](int inner) {
    return ExpertTensors{.gate = Linear(inner, shape_.d_model),
                         .up = Linear(inner, shape_.d_model),
                         .down = Linear(shape_.d_model, inner)};
  };
  if (shape_.grouped_experts) {
    if (!shape_.weigh_over_all) {
      description.scores = ExpertsDescription::Scores::kSigmoid;
    }
    description.correction = Tensor({shape_.experts}, 0, 0.3f);
    description.groups = 2;
    description.groups_by_two = true;
    description.factor = 1.7f;
    description.shared = expert(shape_.feed_forward + 3);
    description.shared_gate = Tensor({1, shape_.d_model}, 0, 0.3f);
  }
  if (shape_.experts_beside) {
    description.scales = Tensor({shape_.experts}, 1, 0.3f);
    description.shared = expert(shape_.feed_forward - 5);
    description.beside = {Norm(shape_.d_model), Norm(shape_.d_model),
                          Norm(shape_.d_model), Norm(shape_.d_model)};
  }
  return description;
}

void RandomTransformer::UseGemma4(int i, const StackDescription& stack,
                                  LayerDescription* layer) {
  const int d = shape_.d_model;
  AttentionDescription& attention = layer->self_attention;
  AttentionGeometry& geometry = attention.geometry;
  if (i % 2 == 1) {
    geometry.head_size += 6;
    geometry.kv_heads = 1;
    attention.query = Linear(geometry.query_width(), d);
    attention.key = Linear(geometry.kv_width(), d);
    attention.value = {};
    attention.output = Linear(d, geometry.query_width());
    attention.query_norm = Norm(geometry.head_size);
    attention.key_norm = Norm(geometry.head_size);
  }
  attention.value_norm = Norm(geometry.head_size);
  if (stack.layers >= 4 && i >= stack.layers - 2) {
    geometry.reads = i - 2;
    attention.key = attention.value = {};
    attention.key_norm.reset();
    attention.value_norm.reset();
  }
  const int width = stack.token_inputs->width;
  layer->token_input = {Linear(width, d), Linear(d, width), Norm(d)};
  layer->factor = 0.6f;
}

AttentionDescription RandomTransformer::LatentAttention(
    AttentionGeometry geometry) {
  const int d = shape_.d_model, heads = shape_.heads;
  AttentionDescription attention;
  LatentDescription& latent = attention.latent.emplace();
  latent.rank = shape_.latent_rank;
  latent.turned = 2 * shape_.rotary_pairs;
  latent.plain = shape_.head_size;
  latent.value = shape_.head_size - 1;
  geometry.kv_heads = 1;
  geometry.values_are_keys = true;
  geometry.head_size = latent.turned + latent.rank;
  geometry.scale = 1 / std::sqrt(1.0f * latent.turned + latent.plain);
  attention.geometry = geometry;
  int in = d;
  if (shape_.latent_query_rank > 0) {
    in = shape_.latent_query_rank;
    latent.query_down = Linear(in, d);
    latent.query_norm = Norm(in);
  }
  const int width = heads * (latent.turned + latent.plain);
  attention.query = {Tensor({width, in}, 0, 2 / std::sqrt(1.0f * in))};
  attention.key = Linear(latent.turned + latent.rank, d);
  latent.norm = Norm(latent.rank);
  for (int head = 0; head < heads; ++head) {
    latent.key_up.push_back({Tensor({latent.rank, latent.plain}, 0,
                                    1 / std::sqrt(1.0f * latent.plain))});
    latent.value_up.push_back({Tensor({latent.value, latent.rank}, 0,
                                      1 / std::sqrt(1.0f * latent.rank))});
  }
  attention.output = Linear(d, heads * latent.value);
  return attention;
}

RelativeAttentionDescription RandomTransformer::Relative(bool causal) {
  using Buckets = RelativeAttentionDescription::Buckets;
  RelativeAttentionDescription relative;
  relative.buckets = *shape_.relative;
  relative.span = 8;
  relative.max_distance = 20;
  if (relative.buckets == Buckets::kT5) {
    if (causal) relative.buckets = Buckets::kT5Past;
    relative.bias = Tensor({relative.span, shape_.heads}, 0, 1);
    if (shape_.block > 0 && !causal) {
      relative.block_bias = Tensor({relative.span, shape_.heads}, 0, 1);
    }
    return relative;
  }
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
      head.input = shape_.pooler   ? HeadDescription::Input::kPooled
                   : shape_.causal ? HeadDescription::Input::kLastToken
                                   : HeadDescription::Input::kFirstToken;
      head.input = shape_.head_input.value_or(head.input);
      head.padding_id = shape_.head_padding_id;
      if (head.input == HeadDescription::Input::kMeanOfDense) {
        head.dense = Linear(shape_.d_model, shape_.d_model);
        head.activation = Activation::kGelu;
      }
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
