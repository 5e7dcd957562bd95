#ifndef TRIVIUM_MODEL_TRANSFORMER_MIXER_H_
#define TRIVIUM_MODEL_TRANSFORMER_MIXER_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "model/transformer/description.h"
#include "model/transformer/f32_vector.h"
#include "model/transformer/linear.h"
#include "model/transformer/parts.h"
#include "model/transformer/state_layout.h"

namespace trivium {

// Returns the state of a layer; the default without a mixer.
StateShape StateShapeOf(const LayerDescription& layer, int d_model);

// The packed MixerDescription. Its layer packs the two products.
struct Mixer {
  MixerDescription::Kind kind = MixerDescription::Kind::kConvolution;
  // [width, d_model]. What it computes of a row, by columns:
  //   kConvolution: gate, channel_gate, channels
  //   kSelectiveScan: gate, channels
  //   others: gate, channels, rate, and share if there is one
  Linear projection;
  Linear output;  // [d_model, values]
  // kSelectiveScan's W_s and W_r. They are f32 in every format, for they are
  // small and a rate is an exponent.
  std::optional<Linear> selection, rate;
  std::optional<float> selection_epsilon;
  int rate_width = 0;
  int values = 0;
  int channels = 0;
  int width = 0;          // of the convolution
  F32Vector convolution;  // [width, channels]
  F32Vector convolution_bias;
  Activation activation = Activation::kNone;  // of the convolution
  int heads = 0;
  int key_heads = 0;
  int key_size = 0;
  int value_size = 0;
  // -exp of the description's, [heads], or of kSelectiveScan in panels,
  // [panels, key_size, kStateColumns].
  F32Vector decay;
  F32Vector rate_bias;  // [heads], or kSelectiveScan's [values]
  F32Vector skip;       // the same, or empty
  // Factors that turn the RMS norm of a query or a key into its unit norm and
  // scale, [key_size]; kGatedDelta only.
  F32Vector query_scale, key_scale;
  float least_rate = 0;
  float most_rate = 0;
  F32Vector norm;  // [values], or empty
  int norm_size = 0;
  bool norm_after_gate = false;
  float epsilon = 0;
  bool before_attention = false;  // attention reads the same input after it

  // Returns a mixer without its first and its last product.
  static absl::StatusOr<Mixer> Create(const LayerDescription& layer,
                                      const StackDescription& stack);
  // The parts of `projection`.
  static std::vector<LinearTensors> ProjectionOf(
      const MixerDescription& description);

  StateShape state() const {
    return {.channels = channels,
            .kept = width - 1,
            .heads = heads,
            .rows = key_size,
            .columns = value_size};
  }
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_kind, of_projection, of_output, of_selection, of_rate,
                 of_selection_epsilon, of_rate_width, of_values, of_channels,
                 of_width, of_convolution, of_convolution_bias, of_activation,
                 of_heads, of_key_heads, of_key_size, of_value_size, of_decay,
                 of_rate_bias, of_skip, of_query_scale, of_key_scale,
                 of_least_rate, of_most_rate, of_norm, of_norm_size,
                 of_norm_after_gate, of_epsilon, of_before_attention] = *this;
    VisitParts(f, of_projection, of_output, of_selection, of_rate,
               of_convolution, of_convolution_bias, of_decay, of_rate_bias,
               of_skip, of_query_scale, of_key_scale, of_norm);
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_MIXER_H_
