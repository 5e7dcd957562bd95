#ifndef TRIVIUM_MODEL_TRANSFORMER_MIXER_H_
#define TRIVIUM_MODEL_TRANSFORMER_MIXER_H_

#include <optional>
#include <vector>

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
  //   others: gate, channels, rate, and share if there is one
  Linear projection;
  Linear output;  // [d_model, values]
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
  F32Vector decay;      // -exp of the description's, [heads]
  F32Vector rate_bias;  // [heads]
  F32Vector skip;       // [heads], or empty
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

  // Returns a mixer without its products.
  static Mixer Create(const LayerDescription& layer,
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
    const auto& [of_kind, of_projection, of_output, of_values, of_channels,
                 of_width, of_convolution, of_convolution_bias, of_activation,
                 of_heads, of_key_heads, of_key_size, of_value_size, of_decay,
                 of_rate_bias, of_skip, of_query_scale, of_key_scale,
                 of_least_rate, of_most_rate, of_norm, of_norm_size,
                 of_norm_after_gate, of_epsilon, of_before_attention] = *this;
    VisitParts(f, of_projection, of_output, of_convolution, of_convolution_bias,
               of_decay, of_rate_bias, of_skip, of_query_scale, of_key_scale,
               of_norm);
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_MIXER_H_
