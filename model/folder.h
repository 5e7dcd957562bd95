#ifndef TRIVIUM_MODEL_FOLDER_H_
#define TRIVIUM_MODEL_FOLDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/families/registry.h"
#include "model/generation_config.h"
#include "model/model.h"
#include "model/tokenizer/tokenizer.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A model folder, read and checked as a whole, before anything is computed
// from it.
struct ModelFolder {
  nlohmann::json config;
  nlohmann::json tokenizer_config;  // null when there is none
  std::unique_ptr<Weights> weights;
  std::unique_ptr<Tokenizer> tokenizer;  // null when there is none
  std::string family;
  TransformerDescription description;  // points into weights
  GenerationConfig generation;
  std::optional<HeadInfo> head;
  std::optional<int32_t> mask_id;
  SentenceEncoder sentence_encoder;
  Precision precision = Precision::kF32;  // resolved
  std::string revision;
};

// Reads `path` and adds everything that is wrong with it to `problems`; the
// result is of use only if there is nothing.
ModelFolder ReadModelFolder(const std::string& path, const LoadOptions& options,
                            Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FOLDER_H_
