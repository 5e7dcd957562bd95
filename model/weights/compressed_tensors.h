#ifndef TRIVIUM_MODEL_WEIGHTS_COMPRESSED_TENSORS_H_
#define TRIVIUM_MODEL_WEIGHTS_COMPRESSED_TENSORS_H_

#include <memory>

#include "base/config_reader.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Applies config.json's quantization_config to the weights. It supports none
// and compressed-tensors' W8A8, where "NAME.weight" is s8 [out, in] and
// "NAME.weight_scale" has the factors of its rows; the former then gets the
// latter as row_scales. Other kinds of quantization are reported as problems,
// except "mxfp4", which its family reads itself.
std::unique_ptr<Weights> ApplyQuantizationConfig(
    const nlohmann::json& config, std::unique_ptr<Weights> weights,
    Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_COMPRESSED_TENSORS_H_
