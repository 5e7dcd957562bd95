#ifndef TRIVIUM_MODEL_TOKENIZER_PATTERN_H_
#define TRIVIUM_MODEL_TOKENIZER_PATTERN_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/normalized_text.h"

namespace trivium {

// What a normalizer replaces or a pre-tokenizer splits at: a string, or a
// regular expression. Thread-safe.
//
// An expression may ask for time exponential in a text (`(a+)+$`), so a search
// has so much of a core's time for each byte and gives up after it.
class Pattern {
 public:
  virtual ~Pattern() = default;

  // The matches in a text, ascending and apart, none empty. INVALID_ARGUMENT
  // if the expression needs more time or memory for this text than it may have.
  virtual absl::StatusOr<std::vector<ByteSpan>> Find(
      std::string_view text) const = 0;

  static std::unique_ptr<Pattern> Literal(std::string text);
  // The words of GPT-2:
  // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  static std::unique_ptr<Pattern> Gpt2Words();
  // In the syntax of ICU, which is that of Oniguruma for the expressions that
  // tokenizers are published with. INVALID_ARGUMENT where it does not compile
  // or is longer than any of those.
  static absl::StatusOr<std::unique_ptr<Pattern>> Regex(
      const std::string& expression);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_PATTERN_H_
