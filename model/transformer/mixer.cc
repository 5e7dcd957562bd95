#include "model/transformer/mixer.h"

#include <cmath>

namespace trivium {

StateShape StateShapeOf(const LayerDescription& layer, int d_model) {
  if (!layer.mixer.has_value()) return {};
  const MixerDescription& mixer = *layer.mixer;
  return {.channels = mixer.channel_count(d_model),
          .kept = mixer.width - 1,
          .heads = mixer.heads,
          .rows = mixer.key_size,
          .columns = mixer.value_size};
}

std::vector<LinearTensors> Mixer::ProjectionOf(
    const MixerDescription& description) {
  std::vector<LinearTensors> parts = {description.gate};
  const auto add = [&](const std::optional<LinearTensors>& part) {
    if (part.has_value()) parts.push_back(*part);
  };
  add(description.channel_gate);
  parts.insert(parts.end(), description.channels.begin(),
               description.channels.end());
  add(description.rate);
  add(description.share);
  return parts;
}

Mixer Mixer::Create(const LayerDescription& layer,
                    const StackDescription& stack) {
  const MixerDescription& description = *layer.mixer;
  Mixer mixer;
  mixer.kind = description.kind;
  mixer.values = description.values(stack.d_model);
  mixer.channels = description.channel_count(stack.d_model);
  mixer.width = description.width;
  const F32Vector by_channel = F32Vector::Of(description.convolution);
  for (int i = 0; i < mixer.width; ++i) {
    for (int c = 0; c < mixer.channels; ++c) {
      mixer.convolution.values.push_back(
          by_channel.values[static_cast<size_t>(c) * mixer.width + i]);
    }
  }
  mixer.convolution_bias = F32Vector::Of(description.convolution_bias);
  mixer.before_attention = layer.attends();
  if (mixer.kind == MixerDescription::Kind::kConvolution) return mixer;
  mixer.activation = description.activation;
  mixer.heads = description.heads;
  mixer.key_heads = description.key_heads;
  mixer.key_size = description.key_size;
  mixer.value_size = description.value_size;
  mixer.decay = F32Vector::Of(description.decay);
  for (float& value : mixer.decay.values) value = -std::exp(value);
  mixer.rate_bias = F32Vector::Of(description.rate_bias);
  mixer.skip = F32Vector::Of(description.skip);
  if (mixer.kind == MixerDescription::Kind::kGatedDelta) {
    // x / |x| is a root mean square norm divided by the root of the size.
    const float size = static_cast<float>(mixer.key_size);
    mixer.key_scale.values.assign(mixer.key_size, 1 / std::sqrt(size));
    mixer.query_scale.values.assign(mixer.key_size, 1 / size);
  }
  mixer.least_rate = description.least_rate;
  mixer.most_rate = description.most_rate;
  if (description.norm.has_value()) {
    const F32Vector weight = F32Vector::Of(description.norm->weight);
    for (int i = 0; i < mixer.values; ++i) {
      mixer.norm.values.push_back(weight.values[i % weight.values.size()] +
                                  (description.norm->one_plus_weight ? 1 : 0));
    }
    mixer.norm_size = description.norm_size;
  }
  mixer.norm_after_gate = description.norm_after_gate;
  mixer.epsilon = stack.norm_epsilon;
  return mixer;
}

}  // namespace trivium
