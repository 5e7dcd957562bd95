#ifndef TRIVIUM_MODEL_GGUF_GGUF_TOKENIZER_H_
#define TRIVIUM_MODEL_GGUF_GGUF_TOKENIZER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Returns the tokenizer.json that corresponds to a GGUF file's metadata, for
// the kinds "gpt2" (byte-level BPE, whose words tokenizer.ggml.pre names) and
// "llama" (SentencePiece's BPE with bytes for unknown characters). Returns null
// if the file has no tokenizer. UNIMPLEMENTED names an unsupported kind,
// INVALID_ARGUMENT what is broken.
absl::StatusOr<nlohmann::json> GgufTokenizerJson(const nlohmann::json& metadata,
                                                 std::string_view architecture);

// Returns tokenizer_config.json: special tokens by their roles, and the chat
// template.
nlohmann::json GgufTokenizerConfig(const nlohmann::json& metadata);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_GGUF_TOKENIZER_H_
