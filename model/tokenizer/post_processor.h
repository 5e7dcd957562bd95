#ifndef TRIVIUM_MODEL_TOKENIZER_POST_PROCESSOR_H_
#define TRIVIUM_MODEL_TOKENIZER_POST_PROCESSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace trivium {

// What becomes of the tokens of a text, or of a pair of texts: special tokens
// around them, segments' ids, offsets without the spaces at a token's ends.
class PostProcessor {
 public:
  struct Item {
    enum class Kind { kFirst, kSecond, kSpecial };
    Kind kind;
    int32_t type_id = 0;
    int32_t id = 0;  // kSpecial
    std::string piece;
  };
  using Template = std::vector<Item>;

  // Nothing but the texts, one after the other.
  PostProcessor();

  // As "[CLS] $A [SEP]" and "[CLS] $A [SEP] $B [SEP]".
  void set_templates(Template single, Template pair);
  // Byte-level tokens keep their leading spaces; their offsets do not, but for
  // the one in front of the first word if a prefix space is added anyway.
  void set_trim_offsets(bool prefix_space_added);

  // Tokens that every text, or pair, gets beside its own.
  int special_token_count(bool pair) const;

  // `first` and `second` are tokens of texts, which TrimOffsets has seen.
  std::vector<Token> Join(std::vector<Token> first,
                          std::optional<std::vector<Token>> second,
                          bool add_special_tokens) const;

  void TrimOffsets(std::string_view text, std::vector<Token>* tokens) const;

 private:
  Template single_;
  Template pair_;
  bool trims_ = false;
  bool prefix_space_added_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_POST_PROCESSOR_H_
