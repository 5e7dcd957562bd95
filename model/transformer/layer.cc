#include "model/transformer/layer.h"

#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

AlignedVector<float> ToVector(const TensorView& tensor) {
  AlignedVector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  return values;
}

// Calls pack(parts, &linear) for every product of a layer, with the tensors
// that are packed into it.
template <typename Pack>
absl::Status ForEachLinear(const LayerDescription& description, Layer* layer,
                           const Pack& pack) {
  using Parts = std::initializer_list<LinearTensors>;
  const AttentionDescription& self = description.self_attention;
  if (description.recurrence.has_value()) {
    const auto& [input, forget] = *description.recurrence;
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{input, forget}, &layer->self_attention.projection));
  } else {
    TRIVIUM_RETURN_IF_ERROR(pack(Parts{self.query, self.key, self.value},
                                 &layer->self_attention.projection));
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{self.output}, &*layer->self_attention.output));
  }
  if (description.cross_attention.has_value()) {
    const AttentionDescription& cross = *description.cross_attention;
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{cross.query}, &layer->cross_attention->projection));
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{cross.output}, &*layer->cross_attention->output));
  }
  std::vector<Expert>& experts = layer->feed_forward.experts;
  if (!description.experts.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(
        description.gate.has_value()
            ? pack(Parts{*description.gate, description.up}, &experts[0].up)
            : pack(Parts{description.up}, &experts[0].up));
    return pack(Parts{description.down}, &experts[0].down);
  }
  for (size_t e = 0; e < experts.size(); ++e) {
    const ExpertTensors& tensors = description.experts->experts[e];
    TRIVIUM_RETURN_IF_ERROR(
        tensors.gate.weight != nullptr
            ? pack(Parts{tensors.gate, tensors.up}, &experts[e].up)
            : pack(Parts{tensors.up}, &experts[e].up));
    TRIVIUM_RETURN_IF_ERROR(pack(Parts{tensors.down}, &experts[e].down));
  }
  return absl::OkStatus();
}

absl::StatusOr<FeedForward> EmptyFeedForward(
    const LayerDescription& description, const StackDescription& stack) {
  FeedForward feed_forward;
  feed_forward.activation = stack.activation;
  feed_forward.gate_clip = stack.gate_clip;
  feed_forward.experts.resize(1);
  if (description.experts.has_value()) {
    const ExpertsDescription& experts = *description.experts;
    feed_forward.experts.resize(experts.experts.size());
    Router& router = feed_forward.router.emplace();
    TRIVIUM_ASSIGN_OR_RETURN(
        router.product,
        Linear::Create(kF32Formats, std::span(&experts.router, 1)));
    router.chosen = experts.chosen;
    router.over_all = experts.over_all;
    if (experts.bias != nullptr) router.bias.values = ToVector(*experts.bias);
  }
  return feed_forward;
}

}  // namespace

Norm Norm::Create(const NormTensors& tensors, float epsilon) {
  Norm norm = {.kind = tensors.kind,
               .gamma = ToVector(*tensors.weight),
               .beta = {},
               .epsilon = epsilon};
  if (tensors.one_plus_weight) {
    for (float& factor : norm.gamma) factor += 1;
  }
  if (tensors.bias != nullptr) norm.beta = ToVector(*tensors.bias);
  return norm;
}

Norms Norms::Create(const SublayerNorms& norms, float epsilon) {
  const auto create = [epsilon](const std::optional<NormTensors>& tensors) {
    return tensors.has_value() ? std::optional(Norm::Create(*tensors, epsilon))
                               : std::nullopt;
  };
  return {create(norms.before), create(norms.of_output), create(norms.after),
          norms.factor};
}

Range FeedForward::Activate(const ProductRow& up, float* y) const {
  const int columns = inner();
  if (up.n == columns) return ActivateRow(up, activation, y);
  const ProductRow gate = up.Columns(0, columns);
  const ProductRow gated = up.Columns(columns, columns);
  return gate_clip.has_value() ? ClippedGateRow(gate, gated, *gate_clip, y)
                               : GateRow(gate, gated, activation, y);
}

absl::StatusOr<Layer> Layer::Create(const LayerDescription& description,
                                    const StackDescription& stack,
                                    const Formats& formats) {
  const float epsilon = stack.norm_epsilon;
  Layer layer;
  const AttentionDescription& self = description.self_attention;
  layer.self_attention.geometry = self.geometry;
  layer.recurrent = description.recurrence.has_value();
  if (!layer.recurrent) layer.self_attention.output.emplace();
  layer.self_attention.norms =
      Norms::Create(description.self_attention_norms, epsilon);
  if (self.query_norm.has_value()) {
    layer.self_attention.query_norm = Norm::Create(*self.query_norm, epsilon);
  }
  if (self.key_norm.has_value()) {
    layer.self_attention.key_norm = Norm::Create(*self.key_norm, epsilon);
  }
  layer.self_attention.norms_after_rotary = self.norms_after_rotary;
  layer.self_attention.parallel = description.parallel;
  if (self.sinks != nullptr) {
    layer.self_attention.sinks.logits = ToVector(*self.sinks);
  }
  if (description.cross_attention.has_value()) {
    Attention& cross = layer.cross_attention.emplace();
    cross.geometry = description.cross_attention->geometry;
    cross.output.emplace();
    cross.norms = Norms::Create(description.cross_attention_norms, epsilon);
  }
  layer.feed_forward_norms =
      Norms::Create(description.feed_forward_norms, epsilon);
  TRIVIUM_ASSIGN_OR_RETURN(layer.feed_forward,
                           EmptyFeedForward(description, stack));
  TRIVIUM_RETURN_IF_ERROR(ForEachLinear(
      description, &layer,
      [&](std::span<const LinearTensors> parts, Linear* linear) {
        TRIVIUM_ASSIGN_OR_RETURN(*linear, Linear::Create(formats, parts));
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
        TRIVIUM_ASSIGN_OR_RETURN(
            *linear, Linear::Create(formats, parts, /*begin=*/0, /*count=*/0,
                                    SmoothingFactors(seen, parts)));
        return absl::OkStatus();
      });
}

}  // namespace trivium
