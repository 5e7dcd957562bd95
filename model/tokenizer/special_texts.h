#ifndef TRIVIUM_MODEL_TOKENIZER_SPECIAL_TEXTS_H_
#define TRIVIUM_MODEL_TOKENIZER_SPECIAL_TEXTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// Finds the texts of special tokens ("</s>") in a text, leftmost first and the
// longest at each place. Next may be called until it returns npos; the whole
// search is linear in the text.
class SpecialTextSearch {
 public:
  struct Match {
    size_t begin;  // npos: no more matches
    std::string_view text;
  };

  // Both arguments must outlive the search. `specials` has no empty string.
  SpecialTextSearch(std::string_view text,
                    const std::vector<std::string>& specials);

  // Returns the next match.
  Match Next();

 private:
  const std::string_view text_;
  const std::vector<std::string>& specials_;
  std::vector<size_t> next_;  // [specials] where each occurs next
  size_t done_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_SPECIAL_TEXTS_H_
