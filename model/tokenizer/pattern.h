#ifndef TRIVIUM_MODEL_TOKENIZER_PATTERN_H_
#define TRIVIUM_MODEL_TOKENIZER_PATTERN_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/normalized_text.h"

namespace trivium {

// A string or a regular expression that a normalizer replaces or a
// pre-tokenizer splits at. Thread-safe.
//
// An expression may need time exponential in a text (`(a+)+$`). So a search may
// use a certain time for each byte, and gives up after it.
class Pattern {
 public:
  virtual ~Pattern() = default;

  // Returns the matches in a text, ascending, disjoint and not empty.
  // RESOURCE_EXHAUSTED if an expression needs more time or memory than it may
  // have.
  virtual absl::StatusOr<std::vector<ByteSpan>> Find(
      std::string_view text) const = 0;

  static std::unique_ptr<Pattern> Literal(std::string text);
  // The words of GPT-2:
  //
  //   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
  //   ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  static std::unique_ptr<Pattern> Gpt2Words();
  // Compiles an expression in ICU's syntax. For the expressions that tokenizers
  // are published with, it equals Oniguruma's. INVALID_ARGUMENT if it does not
  // compile or is longer than any published one.
  static absl::StatusOr<std::unique_ptr<Pattern>> Regex(
      const std::string& expression);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_PATTERN_H_
