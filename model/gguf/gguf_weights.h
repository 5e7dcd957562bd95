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

// Returns a GGUF file's tensors with a folder's names and layout; most are
// views of the file. `config` is the config.json made from the file. A tensor
// that the architecture does not have becomes a problem.
std::unique_ptr<Weights> MakeGgufWeights(std::unique_ptr<MappedFile> file,
                                         const TensorMap& tensors,
                                         const GgufArchitecture& architecture,
                                         const nlohmann::json& config,
                                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_GGUF_WEIGHTS_H_
