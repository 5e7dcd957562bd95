#include "model/tokenizer/special_texts.h"

namespace trivium {

SpecialTextSearch::SpecialTextSearch(std::string_view text,
                                     const std::vector<std::string>& specials)
    : text_(text), specials_(specials) {
  for (const std::string& special : specials_) {
    next_.push_back(text_.find(special));
  }
}

SpecialTextSearch::Match SpecialTextSearch::Next() {
  Match match = {std::string_view::npos, ""};
  for (size_t i = 0; i < next_.size(); ++i) {
    // Matches before the last match's end are skipped; npos is never before it.
    if (next_[i] < done_) next_[i] = text_.find(specials_[i], done_);
    if (next_[i] == std::string_view::npos) continue;
    if (next_[i] < match.begin ||
        (next_[i] == match.begin && specials_[i].size() > match.text.size())) {
      match = {next_[i], specials_[i]};
    }
  }
  if (match.begin != std::string_view::npos) {
    done_ = match.begin + match.text.size();
  }
  return match;
}

}  // namespace trivium
