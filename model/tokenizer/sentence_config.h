#ifndef TRIVIUM_MODEL_TOKENIZER_SENTENCE_CONFIG_H_
#define TRIVIUM_MODEL_TOKENIZER_SENTENCE_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"

namespace trivium {

// sentence-transformers' settings of the texts that a folder's Transformer
// reads. It comes from sentence_bert_config.json or a file with an older name;
// newer versions leave the length to tokenizer_config.json's model_max_length.
// It counts only if there is a modules.json.
struct SentenceConfig {
  int max_tokens = 0;  // of a text, special ones included; 0: not given
  bool lower_case = false;

  static absl::StatusOr<SentenceConfig> Load(const std::string& folder);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_SENTENCE_CONFIG_H_
