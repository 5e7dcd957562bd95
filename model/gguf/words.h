#ifndef TRIVIUM_MODEL_GGUF_WORDS_H_
#define TRIVIUM_MODEL_GGUF_WORDS_H_

#include <optional>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace trivium {

// The rules by which a byte-level BPE splits a text into words.
struct GgufWords {
  nlohmann::json pre_tokenizer;  // tokenizer.json's
  nlohmann::json normalizer;     // null: none
  bool ignore_merges = false;    // words in the vocabulary are not split
  bool begin_token = false;      // default if the file does not say
};

// Returns the words of a tokenizer.ggml.pre name (see llama.cpp's
// llama-vocab.cpp), as the tokenizer.json of the models with that name has
// them; nullopt for an unknown name.
std::optional<GgufWords> FindGgufWords(std::string_view name);
// Returns the known names, separated by commas.
std::string GgufWordsNames();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_WORDS_H_
