#ifndef TRIVIUM_MODEL_FAMILIES_LAYER_ROTARIES_H_
#define TRIVIUM_MODEL_FAMILIES_LAYER_ROTARIES_H_

#include <vector>

#include "base/config_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// The kinds of layers of models in which those with windows have rotary
// positions of their own: indices of StackDescription::rotary.
enum LayerKind { kFullLayer, kSlidingLayer };

// A family's keys and defaults, by LayerKind.
struct LayerRotaryKeys {
  // The bases in the form of before Transformers 5.
  const char* thetas[2];
  double usual_thetas[2];
  bool scales_windows = false;  // rope_scaling is for both kinds
};

// Reads them from rope_parameters, which has an object for each kind, or in the
// older form.
std::vector<RotaryDescription> ReadLayerRotaries(ConfigReader* config,
                                                 const LayerRotaryKeys& keys,
                                                 int head_size,
                                                 int max_positions);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_LAYER_ROTARIES_H_
