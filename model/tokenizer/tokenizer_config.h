#ifndef TRIVIUM_MODEL_TOKENIZER_TOKENIZER_CONFIG_H_
#define TRIVIUM_MODEL_TOKENIZER_TOKENIZER_CONFIG_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace trivium {

// The settings that tokenizers read from tokenizer_config.json; unset: not
// given there.
struct TokenizerConfig {
  std::optional<std::string> end;      // eos_token
  std::optional<std::string> unknown;  // unk_token
  std::optional<std::string> padding;  // pad_token
  std::optional<bool> separate_vocabularies;
  std::optional<bool> clean_up_spaces;  // clean_up_tokenization_spaces

  // Sets nothing if the folder has no such file.
  static absl::StatusOr<TokenizerConfig> Load(const std::string& folder);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TOKENIZER_CONFIG_H_
