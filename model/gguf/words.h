#ifndef TRIVIUM_MODEL_GGUF_WORDS_H_
#define TRIVIUM_MODEL_GGUF_WORDS_H_

#include <optional>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace trivium {

// How a byte-level BPE finds the words of a text.
struct GgufWords {
  nlohmann::json pre_tokenizer;  // tokenizer.json's
  nlohmann::json normalizer;     // null: none
  bool ignore_merges = false;    // a word of the vocabulary is one piece
  bool begin_token = false;      // where the file does not say
};

// Those of tokenizer.ggml.pre, of llama.cpp's llama-vocab.cpp, as the
// tokenizer.json of the models that have them says it; nothing for an unknown
// one.
std::optional<GgufWords> FindGgufWords(std::string_view name);
// The known ones, with commas between.
std::string GgufWordsNames();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_WORDS_H_
