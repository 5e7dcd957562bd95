#ifndef TRIVIUM_MODEL_SEARCH_LOGITS_RULES_H_
#define TRIVIUM_MODEL_SEARCH_LOGITS_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/search/decoding.h"

namespace trivium {

// What the rules do to one row of logits.
struct LogitsEdits {
  // If set, this token alone is possible and its logit is 0; the row is not
  // read.
  std::optional<int32_t> forced;
  // The tokens whose logits change: ascending, no duplicates.
  std::vector<int32_t> watched;
  // [watched] Whether the token is impossible; else it is penalized.
  std::vector<bool> banned;
  double repetition_penalty = 1;
  std::vector<int32_t> banned_ids;  // scratch of EditsAfter

  // The edited logit (or log-probability) of watched[i].
  double Apply(size_t i, double logit) const;
};

// The rules that change logits before a token is chosen, with Transformers'
// meaning and in its order: repetition penalty, no repeated n-grams, banned
// sequences, minimum of new tokens, forced first token, forced last token.
class LogitsRules {
 public:
  explicit LogitsRules(const DecodingOptions& options);

  // Edits for the token after `history` (prefix, then the new tokens, of
  // which there are `new_tokens`).
  void EditsAfter(std::span<const int32_t> history, int new_tokens,
                  LogitsEdits* edits) const;

 private:
  void BanRepeatedNgrams(std::span<const int32_t> history,
                         std::vector<int32_t>* banned) const;
  void BanSequences(std::span<const int32_t> history,
                    std::vector<int32_t>* banned) const;

  const double repetition_penalty_;
  const int ngram_size_;
  const int min_new_tokens_;
  const int max_new_tokens_;
  const std::vector<int32_t> end_ids_;
  const std::optional<int32_t> forced_first_id_;
  const std::optional<int32_t> forced_last_id_;
  std::vector<int32_t> banned_tokens_;  // sequences of one token
  // Longer sequences, by the token before their last one.
  std::unordered_map<int32_t, std::vector<std::vector<int32_t>>>
      banned_sequences_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_LOGITS_RULES_H_
