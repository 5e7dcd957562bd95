#ifndef TRIVIUM_MODEL_WEIGHTS_COMPRESSED_TENSORS_H_
#define TRIVIUM_MODEL_WEIGHTS_COMPRESSED_TENSORS_H_

#include <memory>

#include "base/config_reader.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// What config.json's quantization_config says of the weights: nothing, or
// compressed-tensors' W8A8, where "NAME.weight" is s8 [out, in] and
// "NAME.weight_scale" what its rows are multiplied by. There the former gets
// the latter as its row_scales. Other kinds of quantization become problems,
// but for "mxfp4", which its family reads itself.
std::unique_ptr<Weights> ApplyQuantizationConfig(
    const nlohmann::json& config, std::unique_ptr<Weights> weights,
    Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_COMPRESSED_TENSORS_H_
