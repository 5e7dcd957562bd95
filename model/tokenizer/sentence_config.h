#ifndef TRIVIUM_MODEL_TOKENIZER_SENTENCE_CONFIG_H_
#define TRIVIUM_MODEL_TOKENIZER_SENTENCE_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"

namespace trivium {

// Returns the folder that has the transformer's files: config.json, weights and
// tokenizer. It is `folder`; if this has no config.json, the folder below it
// that modules.json's first module names ("0_Transformer").
std::string TransformerFolder(const std::string& folder);

// sentence-transformers' settings of the texts that a folder's Transformer
// reads. It comes from sentence_bert_config.json or a file with an older name;
// newer versions leave the length to tokenizer_config.json's model_max_length.
// It counts only if there is a modules.json.
struct SentenceConfig {
  int max_tokens = 0;  // of a text, special ones included; 0: not given
  bool lower_case = false;
  // False for tables of embeddings, which know a text's own tokens only.
  bool special_tokens = true;

  // Reads the files of the transformer of the folder `root`.
  static absl::StatusOr<SentenceConfig> Load(const std::string& root);
  // Reads the files of the module in `folder`, which reads texts.
  static absl::StatusOr<SentenceConfig> OfModule(const std::string& folder);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_SENTENCE_CONFIG_H_
