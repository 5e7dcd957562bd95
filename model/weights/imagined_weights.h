#ifndef TRIVIUM_MODEL_WEIGHTS_IMAGINED_WEIGHTS_H_
#define TRIVIUM_MODEL_WEIGHTS_IMAGINED_WEIGHTS_H_

#include <memory>

#include "model/weights/weights.h"

namespace trivium {

// Returns the weights of a folder that has none yet: every tensor that a
// configuration asks for exists, as f32 and in the required shape, but without
// data. They only tell a model's size.
std::unique_ptr<Weights> ImagineWeights();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_IMAGINED_WEIGHTS_H_
