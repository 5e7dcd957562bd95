#ifndef TRIVIUM_MODEL_WEIGHTS_IMAGINED_WEIGHTS_H_
#define TRIVIUM_MODEL_WEIGHTS_IMAGINED_WEIGHTS_H_

#include <memory>

#include "model/weights/weights.h"

namespace trivium {

// Weights of a folder that has none yet: every tensor that a configuration
// calls for is there, f32 and of the shape that it must have, without data.
// They tell a model's size and nothing more.
std::unique_ptr<Weights> ImagineWeights();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_IMAGINED_WEIGHTS_H_
