#include "model/transformer/mixer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/status.h"

namespace trivium {
namespace {

// Returns a selective scan's decays, [values, key_size], in panels. Those of
// columns that fill up the last panel become zeros behind exp.
F32Vector InPanels(const MixerDescription& description) {
  const F32Vector by_value = F32Vector::Of(description.decay);
  const int rows = description.key_size, columns = description.value_size;
  const int panels = (columns + kStateColumns - 1) / kStateColumns;
  F32Vector decays;
  decays.values.assign(static_cast<size_t>(panels) * rows * kStateColumns,
                       -std::numeric_limits<float>::infinity());
  for (int c = 0; c < columns; ++c) {
    float* const panel =
        decays.values.data() +
        static_cast<size_t>(c / kStateColumns) * rows * kStateColumns;
    for (int i = 0; i < rows; ++i) {
      panel[i * kStateColumns + c % kStateColumns] =
          by_value.values[static_cast<size_t>(c) * rows + i];
    }
  }
  return decays;
}

absl::Status PackSelection(const MixerDescription& description, Mixer* mixer) {
  TRIVIUM_ASSIGN_OR_RETURN(
      mixer->selection,
      Linear::Create(kF32Formats, std::span(&*description.selection, 1)));
  TRIVIUM_ASSIGN_OR_RETURN(
      mixer->rate,
      Linear::Create(kF32Formats, std::span(&*description.rate, 1)));
  mixer->selection_epsilon = description.selection_epsilon;
  mixer->rate_width = description.rate_width;
  return absl::OkStatus();
}

}  // namespace

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
  if (!description.selection.has_value()) add(description.rate);
  add(description.share);
  return parts;
}

absl::StatusOr<Mixer> Mixer::Create(const LayerDescription& layer,
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
  mixer.decay = mixer.kind == MixerDescription::Kind::kSelectiveScan
                    ? InPanels(description)
                    : F32Vector::Of(description.decay);
  for (float& value : mixer.decay.values) value = -std::exp(value);
  mixer.rate_bias = F32Vector::Of(description.rate_bias);
  mixer.skip = F32Vector::Of(description.skip);
  if (mixer.kind == MixerDescription::Kind::kSelectiveScan) {
    TRIVIUM_RETURN_IF_ERROR(PackSelection(description, &mixer));
  }
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
