#ifndef TRIVIUM_MODEL_TOKENIZER_SENTENCE_CONFIG_H_
#define TRIVIUM_MODEL_TOKENIZER_SENTENCE_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"

namespace trivium {

// What sentence-transformers says of the texts that a folder's Transformer
// reads: sentence_bert_config.json, or the older names of it; newer versions
// leave the length to tokenizer_config.json's model_max_length. It counts where
// there is a modules.json.
struct SentenceConfig {
  int max_tokens = 0;  // of a text, special ones included; 0: not said
  bool lower_case = false;

  static absl::StatusOr<SentenceConfig> Load(const std::string& folder);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_SENTENCE_CONFIG_H_
