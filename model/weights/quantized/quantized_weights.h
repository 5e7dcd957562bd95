#ifndef TRIVIUM_MODEL_WEIGHTS_QUANTIZED_QUANTIZED_WEIGHTS_H_
#define TRIVIUM_MODEL_WEIGHTS_QUANTIZED_QUANTIZED_WEIGHTS_H_

#include <memory>

#include "base/config_reader.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Applies config.json's quantization_config to the weights: modules that are
// stored in one of the formats of this folder get a tensor "NAME.weight", whose
// values are unpacked as they are read, and the tensors that it is made of are
// hidden. Other tensors are unchanged. Reports a quantization that is not read,
// and modules that are damaged. "mxfp4" is left to its family, which reads it
// itself.
std::unique_ptr<Weights> ApplyQuantizationConfig(
    const nlohmann::json& config, std::unique_ptr<Weights> weights,
    Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_QUANTIZED_QUANTIZED_WEIGHTS_H_
