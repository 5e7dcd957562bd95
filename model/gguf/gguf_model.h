#ifndef TRIVIUM_MODEL_GGUF_GGUF_MODEL_H_
#define TRIVIUM_MODEL_GGUF_GGUF_MODEL_H_

#include <memory>
#include <string>

#include "base/config_reader.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The key of `config` that says how states are pooled to embeddings, with
// sentence-transformers' names ("lasttoken"); absent if they are not. No real
// config.json has it.
inline constexpr char kGgufPooling[] = "gguf.pooling";

// True for a file that begins as a GGUF file does, whatever its name (Ollama
// names them by their hash), or that is named .gguf, as it may be broken.
bool IsGgufFile(const std::string& path);

// A GGUF file, presented as the Hugging Face folder that it was made from, so
// that families and tokenizers know only one kind of model. A member is null if
// a folder would not have it or if it had a problem.
struct GgufModel {
  nlohmann::json config;             // config.json
  nlohmann::json generation_config;  // generation_config.json
  nlohmann::json tokenizer;          // tokenizer.json
  nlohmann::json tokenizer_config;   // tokenizer_config.json
  std::unique_ptr<Weights> weights;
};

// Reads the file at `path` and adds all its problems to `problems`.
GgufModel ReadGgufModel(const std::string& path, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_GGUF_MODEL_H_
