#ifndef TRIVIUM_MODEL_TOKENIZER_POST_PROCESSOR_H_
#define TRIVIUM_MODEL_TOKENIZER_POST_PROCESSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace trivium {

// Finishes the tokens of a text or of a pair: adds special tokens and segment
// ids, and takes the spaces at a token's ends out of its offsets.
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

  // Joins the texts without adding anything.
  PostProcessor();

  // Such as "[CLS] $A [SEP]" and "[CLS] $A [SEP] $B [SEP]".
  void set_templates(Template single, Template pair);
  // Takes the leading spaces of byte-level tokens out of their offsets (not out
  // of the tokens). The space before the first word stays if a prefix space is
  // added anyway.
  void set_trim_offsets(bool prefix_space_added);

  // Number of tokens that are added to every text, or to every pair.
  int special_token_count(bool pair) const;

  // Joins the tokens of texts after TrimOffsets.
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
