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

// Calls pack(parts, &linear) for every product of a layer and the tensors that
// it is packed of.
template <typename Pack>
absl::Status ForEachLinear(const LayerDescription& description, Layer* layer,
                           const Pack& pack) {
  using Parts = std::initializer_list<LinearTensors>;
  const AttentionDescription& self = description.self_attention;
  TRIVIUM_RETURN_IF_ERROR(pack(Parts{self.query, self.key, self.value},
                               &layer->self_attention.projection));
  TRIVIUM_RETURN_IF_ERROR(
      pack(Parts{self.output}, &layer->self_attention.output));
  if (description.cross_attention.has_value()) {
    const AttentionDescription& cross = *description.cross_attention;
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{cross.query}, &layer->cross_attention->projection));
    TRIVIUM_RETURN_IF_ERROR(
        pack(Parts{cross.output}, &layer->cross_attention->output));
  }
  TRIVIUM_RETURN_IF_ERROR(
      description.gate.has_value()
          ? pack(Parts{*description.gate, description.up}, &layer->up)
          : pack(Parts{description.up}, &layer->up));
  return pack(Parts{description.down}, &layer->down);
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
  return {create(norms.before), create(norms.of_output), create(norms.after)};
}

absl::StatusOr<Layer> Layer::Create(const LayerDescription& description,
                                    const StackDescription& stack,
                                    const Formats& formats) {
  const float epsilon = stack.norm_epsilon;
  Layer layer;
  layer.self_attention.geometry = description.self_attention.geometry;
  layer.self_attention.norms =
      Norms::Create(description.self_attention_norms, epsilon);
  if (description.cross_attention.has_value()) {
    Attention& cross = layer.cross_attention.emplace();
    cross.geometry = description.cross_attention->geometry;
    cross.norms = Norms::Create(description.cross_attention_norms, epsilon);
  }
  layer.feed_forward_norms =
      Norms::Create(description.feed_forward_norms, epsilon);
  layer.activation = stack.activation;
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
