#include "model/transformer/layer.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "model/transformer/packing.h"

namespace trivium {
namespace {

// Calls pack(parts, &linear) for every product of a layer, with the tensors
// that are packed into it.
template <typename Pack>
absl::Status ForEachLinear(const LayerDescription& description, Layer* layer,
                           const Pack& pack) {
  using Parts = std::initializer_list<LinearTensors>;
  const AttentionDescription& self = description.self_attention;
  if (description.mixer.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(pack(Mixer::ProjectionOf(*description.mixer),
                                 &layer->mixer->projection));
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{description.mixer->output}, &layer->mixer->output));
  }
  if (!description.attends()) {
    // It has a mixer or a feed-forward alone.
  } else if (description.recurrence.has_value()) {
    const auto& [input, forget] = *description.recurrence;
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{input, forget}, &layer->self_attention.projection));
  } else if (self.latent.has_value()) {
    Latent& latent = *layer->self_attention.latent;
    const auto& down = self.latent->query_down;
    TRIVIUM_RETURN_IF_ERROR(pack(Parts{down.value_or(self.query), self.key},
                                 &layer->self_attention.projection));
    if (down.has_value()) {
      TRIVIUM_RETURN_IF_ERROR(pack(Parts{self.query}, &*latent.query_up));
    }
    for (size_t head = 0; head < latent.key_up.size(); ++head) {
      TRIVIUM_RETURN_IF_ERROR(
          pack(Parts{self.latent->key_up[head]}, &latent.key_up[head]));
      TRIVIUM_RETURN_IF_ERROR(
          pack(Parts{self.latent->value_up[head]}, &latent.value_up[head]));
    }
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{self.output}, &*layer->self_attention.output));
  } else {
    std::vector<LinearTensors> parts = {self.query};
    if (self.geometry.reads < 0) parts.push_back(self.key);
    if (self.value.weight != nullptr && !layer->self_attention.values_given) {
      parts.push_back(self.value);
    }
    if (self.gate.has_value()) parts.push_back(*self.gate);
    if (self.near.has_value()) {
      NearHeads& near = *layer->self_attention.near;
      TRIVIUM_RETURN_IF_ERROR(pack(Parts{self.near->span}, &near.span));
      TRIVIUM_RETURN_IF_ERROR(pack(Parts{self.near->weights}, &near.weights));
      parts.push_back(self.near->value);
    }
    if (self.global.has_value()) {
      const auto& [query, key, value] = *self.global;
      parts.insert(parts.end(), {query, key, value});
    }
    TRIVIUM_RETURN_IF_ERROR(pack(parts, &layer->self_attention.projection));
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{self.output}, &*layer->self_attention.output));
  }
  if (description.bottleneck.has_value()) {
    const BottleneckDescription& bottleneck = *description.bottleneck;
    std::vector<LinearTensors> parts = {bottleneck.input};
    if (bottleneck.attention.has_value()) {
      parts.push_back(*bottleneck.attention);
      parts.push_back(self.value);
    }
    TRIVIUM_RETURN_IF_ERROR(pack(parts, &layer->bottleneck->input));
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{bottleneck.output}, &layer->bottleneck->output));
  }
  if (description.convolution.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(pack(Parts{description.convolution->product},
                                 &layer->convolution->product));
  }
  for (size_t i = 0; i < description.earlier_feed_forwards.size(); ++i) {
    const auto& [up, down, norms] = description.earlier_feed_forwards[i];
    Expert& expert = layer->earlier_feed_forwards[i].feed_forward.experts[0];
    TRIVIUM_RETURN_IF_ERROR(pack(Parts{up}, &expert.up));
    TRIVIUM_RETURN_IF_ERROR(pack(Parts{down}, &expert.down));
  }
  if (description.token_input.has_value()) {
    const TokenInputTensors& input = *description.token_input;
    TRIVIUM_RETURN_IF_ERROR(pack(Parts{input.gate}, &layer->token_input->gate));
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{input.output}, &layer->token_input->output));
  }
  if (description.cross_attention.has_value() && !description.merges()) {
    const AttentionDescription& cross = *description.cross_attention;
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{cross.query}, &layer->cross_attention->projection));
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{cross.output}, &*layer->cross_attention->output));
  }
  if (!description.feeds_forward()) return absl::OkStatus();
  std::vector<Expert>& experts = layer->feed_forward.experts;
  if (!description.experts.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(
        description.gate.has_value()
            ? pack(Parts{*description.gate, description.up}, &experts[0].up)
            : pack(Parts{description.up}, &experts[0].up));
    return pack(Parts{description.down}, &experts[0].down);
  }
  const auto pack_expert = [&](const ExpertTensors& tensors, Expert* expert) {
    TRIVIUM_RETURN_IF_ERROR(
        tensors.gate.weight != nullptr
            ? pack(Parts{tensors.gate, tensors.up}, &expert->up)
            : pack(Parts{tensors.up}, &expert->up));
    return pack(Parts{tensors.down}, &expert->down);
  };
  for (size_t e = 0; e < experts.size(); ++e) {
    TRIVIUM_RETURN_IF_ERROR(
        pack_expert(description.experts->experts[e], &experts[e]));
  }
  if (!description.experts->shared.has_value()) return absl::OkStatus();
  return pack_expert(*description.experts->shared,
                     &*layer->feed_forward.shared);
}

absl::StatusOr<Router> CreateRouter(const ExpertsDescription& experts) {
  Router router;
  std::vector<LinearTensors> parts = {experts.router};
  if (experts.shared_gate != nullptr) parts.push_back({experts.shared_gate});
  TRIVIUM_ASSIGN_OR_RETURN(router.product, Linear::Create(kF32Formats, parts));
  router.shared_gate = experts.shared_gate != nullptr;
  router.chosen = experts.chosen;
  router.over_all = experts.over_all;
  router.scores = experts.scores;
  router.nearness = experts.nearness;
  router.groups = experts.groups;
  router.chosen_groups = experts.chosen_groups;
  router.groups_by_two = experts.groups_by_two;
  router.factor = experts.factor;
  router.correction = F32Vector::Of(experts.correction);
  router.scales = F32Vector::Of(experts.scales);
  router.bias = F32Vector::Of(experts.bias);
  return router;
}

Latent EmptyLatent(const LatentDescription& description) {
  Latent latent;
  latent.rank = description.rank;
  latent.turned = description.turned;
  latent.plain = description.plain;
  latent.value = description.value;
  const float epsilon = description.norm_epsilon;
  latent.norm = Norm::Create(description.norm, epsilon);
  if (description.query_norm.has_value()) {
    latent.query_norm = Norm::Create(*description.query_norm, epsilon);
  }
  if (description.query_down.has_value()) latent.query_up.emplace();
  latent.key_up.resize(description.key_up.size());
  latent.value_up.resize(description.value_up.size());
  return latent;
}

NearHeads EmptyNearHeads(const NearHeadsDescription& description) {
  NearHeads near;
  near.width = description.width;
  const F32Vector given = F32Vector::Of(description.depthwise);
  const size_t width = description.width;
  const size_t channels = given.values.size() / width;
  near.depthwise.values.resize(given.values.size());
  for (size_t i = 0; i < given.values.size(); ++i) {
    near.depthwise.values[i % width * channels + i / width] = given.values[i];
  }
  return near;
}

absl::StatusOr<FeedForward> EmptyFeedForward(
    const LayerDescription& description, const StackDescription& stack) {
  FeedForward feed_forward;
  feed_forward.activation = stack.activation;
  feed_forward.gate_clip = stack.gate_clip;
  feed_forward.experts.resize(description.feeds_forward() ? 1 : 0);
  if (description.experts.has_value()) {
    const ExpertsDescription& experts = *description.experts;
    feed_forward.experts.resize(experts.experts.size());
    TRIVIUM_ASSIGN_OR_RETURN(feed_forward.router, CreateRouter(experts));
    if (experts.shared.has_value()) feed_forward.shared.emplace();
    if (experts.beside.has_value()) {
      const auto& [router, of_input, of_experts, of_shared] = *experts.beside;
      const float epsilon = stack.norm_epsilon;
      feed_forward.beside = {
          Norm::Create(router, epsilon), Norm::Create(of_input, epsilon),
          Norm::Create(of_experts, epsilon), Norm::Create(of_shared, epsilon)};
    }
  }
  return feed_forward;
}

}  // namespace

Norm Norm::Create(const NormTensors& tensors, float epsilon) {
  Norm norm = {.kind = tensors.kind,
               .gamma = F32Vector::Of(tensors.weight).values,
               .beta = F32Vector::Of(tensors.bias).values,
               .epsilon = tensors.epsilon.value_or(epsilon)};
  if (tensors.one_plus_weight) {
    for (float& factor : norm.gamma) factor += 1;
  }
  if (tensors.weight != nullptr && tensors.weight->shape.size() == 2 &&
      tensors.weight->shape[0] > 1) {
    norm.head_size = static_cast<int>(tensors.weight->shape[1]);
  }
  return norm;
}

Range Norm::AddUnnormed(int first, const ProductRow& x, const float* residual,
                        float* y) const {
  const int n = x.n;
  if (residual == nullptr) {
    FinishRow(x, y);
  } else {
    if (residual != y) std::copy_n(residual, n, y);
    AddRow(x, y);
  }
  for (int i = 0; i < n; ++i) y[i] *= gamma[first + i];
  if (!beta.empty()) AddRow({.f32 = beta.data() + first, .n = n}, y);
  return RangeOf(y, n);
}

Norms Norms::Create(const SublayerNorms& norms, float epsilon) {
  const auto create = [epsilon](const std::optional<NormTensors>& tensors) {
    return tensors.has_value() ? std::optional(Norm::Create(*tensors, epsilon))
                               : std::nullopt;
  };
  return {create(norms.before), create(norms.of_output), create(norms.after),
          norms.factor, create(norms.of_sum)};
}

Range FeedForward::Activate(const ProductRow& up, int columns, float* y) const {
  if (up.n == columns) return ActivateRow(up, activation, y);
  const ProductRow gate = up.Columns(0, columns);
  const ProductRow gated = up.Columns(columns, columns);
  return gate_clip.has_value() ? ClippedGateRow(gate, gated, *gate_clip, y)
                               : GateRow(gate, gated, activation, y);
}

absl::StatusOr<Layer> Layer::Create(const LayerDescription& description,
                                    const StackDescription& stack,
                                    const Formats& formats, Packing* packing) {
  const float epsilon = stack.norm_epsilon;
  Layer layer;
  const AttentionDescription& self = description.self_attention;
  layer.self_attention.geometry = self.geometry;
  layer.attends = description.attends();
  if (description.mixer.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(layer.mixer, Mixer::Create(description, stack));
  }
  layer.recurrent = description.recurrence.has_value();
  if (!layer.recurrent && layer.attends) layer.self_attention.output.emplace();
  layer.self_attention.gated = self.gate.has_value();
  layer.self_attention.norms =
      Norms::Create(description.self_attention_norms, epsilon);
  if (self.query_norm.has_value()) {
    layer.self_attention.query_norm = Norm::Create(*self.query_norm, epsilon);
  }
  if (self.key_norm.has_value()) {
    layer.self_attention.key_norm = Norm::Create(*self.key_norm, epsilon);
  }
  if (self.value_norm.has_value()) {
    layer.self_attention.value_norm = Norm::Create(*self.value_norm, epsilon);
  }
  layer.self_attention.values_from_key_product =
      self.geometry.reads < 0 && self.value.weight == nullptr;
  layer.self_attention.values_given =
      description.bottleneck.has_value() &&
      description.bottleneck->attention.has_value();
  layer.self_attention.norms_after_rotary = self.norms_after_rotary;
  layer.self_attention.parallel = description.parallel;
  layer.self_attention.sinks = F32Vector::Of(self.sinks);
  if (self.latent.has_value()) {
    layer.self_attention.latent = EmptyLatent(*self.latent);
  }
  if (self.near.has_value()) {
    layer.self_attention.near = EmptyNearHeads(*self.near);
  }
  if (self.blocks.has_value()) {
    layer.self_attention.blocks = {self.blocks->size,
                                   Norm::Create(self.blocks->norm, epsilon)};
  }
  layer.self_attention.global = self.global.has_value();
  layer.self_attention.merged = description.merges();
  if (description.cross_attention.has_value() && !description.merges()) {
    Attention& cross = layer.cross_attention.emplace();
    cross.geometry = description.cross_attention->geometry;
    cross.output.emplace();
    cross.norms = Norms::Create(description.cross_attention_norms, epsilon);
  }
  layer.feed_forward_norms =
      Norms::Create(description.feed_forward_norms, epsilon);
  if (description.token_input.has_value()) {
    TokenInput& input = layer.token_input.emplace();
    input.norms.of_output =
        Norm::Create(description.token_input->norm, epsilon);
    input.activation = stack.activation;
  }
  layer.factor = description.factor;
  for (const FeedForwardTensors& earlier : description.earlier_feed_forwards) {
    EarlierFeedForward& packed = layer.earlier_feed_forwards.emplace_back();
    packed.feed_forward.activation = stack.activation;
    packed.feed_forward.experts.resize(1);
    packed.norms = Norms::Create(earlier.norms, epsilon);
  }
  if (description.bottleneck.has_value()) {
    const BottleneckDescription& bottleneck = *description.bottleneck;
    Bottleneck& packed = layer.bottleneck.emplace();
    packed.width = bottleneck.width;
    packed.input_norm = Norm::Create(bottleneck.input_norm, epsilon);
    if (bottleneck.attention_norm.has_value()) {
      packed.attention_norm = Norm::Create(*bottleneck.attention_norm, epsilon);
    }
    packed.norms.after = Norm::Create(bottleneck.output_norm, epsilon);
  }
  if (description.convolution.has_value()) {
    Convolution& packed = layer.convolution.emplace();
    packed.width = description.convolution->width;
    packed.activation = description.convolution->activation;
    packed.norms.after = Norm::Create(description.convolution->norm, epsilon);
  }
  TRIVIUM_ASSIGN_OR_RETURN(layer.feed_forward,
                           EmptyFeedForward(description, stack));
  TRIVIUM_RETURN_IF_ERROR(ForEachLinear(
      description, &layer,
      [&](std::span<const LinearTensors> parts, Linear* linear) {
        TRIVIUM_ASSIGN_OR_RETURN(*linear, packing->MakeLinear(formats, parts));
        return absl::OkStatus();
      }));
  return layer;
}

absl::Status Layer::Smooth(const LayerDescription& description,
                           const Formats& formats, const InputMaxima& maxima) {
  return ForEachLinear(
      description, this,
      [&](std::span<const LinearTensors> parts, Linear* linear) {
        const std::span<const float> seen = maxima.Of(*linear);
        if (seen.empty()) return absl::OkStatus();
        const int part = linear->part();
        TRIVIUM_ASSIGN_OR_RETURN(
            *linear, Linear::Create(formats, parts, /*begin=*/0, /*count=*/0,
                                    SmoothingFactors(seen, parts)));
        linear->set_part(part);
        return absl::OkStatus();
      });
}

}  // namespace trivium
