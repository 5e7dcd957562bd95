#ifndef TRIVIUM_MODEL_GGUF_GGUF_WEIGHTS_H_
#define TRIVIUM_MODEL_GGUF_GGUF_WEIGHTS_H_

#include <memory>

#include "base/config_reader.h"
#include "model/gguf/architecture.h"
#include "model/weights/gguf_file.h"
#include "model/weights/mapped_file.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A GGUF file's tensors under a folder's names and in its layout, most of them
// as they lie in the file. `config` is the config.json that was made of the
// file. A tensor that the architecture does not have becomes a problem.
std::unique_ptr<Weights> MakeGgufWeights(std::unique_ptr<MappedFile> file,
                                         const TensorMap& tensors,
                                         const GgufArchitecture& architecture,
                                         const nlohmann::json& config,
                                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_GGUF_WEIGHTS_H_
