#ifndef TRIVIUM_MODEL_GGUF_GGUF_MODEL_H_
#define TRIVIUM_MODEL_GGUF_GGUF_MODEL_H_

#include <memory>
#include <string>

#include "base/config_reader.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The key of `config` that says how embeddings are pooled of states, as
// sentence-transformers names it ("lasttoken"); absent: they are not. No
// config.json has it.
inline constexpr char kGgufPooling[] = "gguf.pooling";

// A .gguf file told as the Hugging Face folder that it was made of, so that
// families and tokenizers know one kind of model. Null is what a folder would
// not have, or what had a problem.
struct GgufModel {
  nlohmann::json config;             // config.json
  nlohmann::json generation_config;  // generation_config.json
  nlohmann::json tokenizer;          // tokenizer.json
  nlohmann::json tokenizer_config;   // tokenizer_config.json
  std::unique_ptr<Weights> weights;
};

// Reads the file at `path` and adds everything that is wrong with it to
// `problems`.
GgufModel ReadGgufModel(const std::string& path, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_GGUF_MODEL_H_
