#ifndef TRIVIUM_MODEL_SEARCH_LOGITS_RULES_H_
#define TRIVIUM_MODEL_SEARCH_LOGITS_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/search/decoding.h"

namespace trivium {

// The changes that the rules make to one row of logits.
struct LogitsEdits {
  // If set, only this token is possible, with logit 0, and the row is not read.
  std::optional<int32_t> forced;
  // The tokens whose logits change: ascending, no duplicates.
  std::vector<int32_t> watched;
  struct Change {
    bool banned = false;     // impossible, whatever else applies
    bool repeated = false;   // the repetition penalty applies
    bool of_source = false;  // the source's bonus applies
    double bias = 0;
    double loss = 0;    // penalty for how often it was written
    double growth = 0;  // relative growth of an end token in a long text
  };
  std::vector<Change> changes;  // [watched]
  double repetition_penalty = 1;
  double source_bonus = 1;
  // Scratch of EditsAfter, each sorted.
  std::vector<int32_t> banned_ids, read, written;

  // Returns the edited logit (or log-probability) of watched[i].
  double Apply(size_t i, double logit) const;
};

// The rules that change logits before a token is chosen, with Transformers'
// meaning and in its order: bias, the source's bonus, repetition penalty, no
// repeated n-grams, none of the source's n-grams, banned sequences, minimum of
// new tokens, forced first token, forced last token, growth of end tokens,
// suppressed tokens. Penalties for frequency and presence, which Transformers
// lacks, come after the repetition penalty, as in vLLM:
//
//   x <- x + bias
//   x <- x < 0 ? x / bonus : x * bonus                 of tokens in the source
//   x <- x < 0 ? x * repetition : x / repetition       of tokens in the history
//   x <- x - frequency * count - presence * (count > 0)  count of new tokens
//     (both only of the last penalty_window tokens, as llama.cpp's last_n)
//   x <- x + |x| (growth^(new tokens - start) - 1)     of end tokens
class LogitsRules {
 public:
  explicit LogitsRules(const DecodingOptions& options);

  // Computes the edits for the token after `history`, which is the prefix and
  // then `new_tokens` new tokens.
  void EditsAfter(std::span<const int32_t> history, int new_tokens,
                  LogitsEdits* edits) const;

  // Returns why a text of `new_tokens` tokens ends with this last one, or
  // nothing if it does not. A forced last token is a cut (kLength), even if it
  // is an end token.
  std::optional<FinishReason> EndOf(int32_t token, int new_tokens) const;

 private:
  bool ForcesLast(int new_tokens) const {
    return new_tokens == max_new_tokens_ && forced_last_id_.has_value();
  }
  void Watch(std::span<const int32_t> history, int new_tokens,
             LogitsEdits* edits) const;
  LogitsEdits::Change ChangeOf(int32_t token, int new_tokens,
                               const LogitsEdits& edits) const;
  bool EndsGrow(int new_tokens) const {
    return end_growth_ != 1 && new_tokens > end_growth_start_;
  }
  void BanAlways(const std::vector<std::vector<int32_t>>& sequences);
  void BanSourceNgrams(std::span<const int32_t> source, size_t size);
  void BanRepeatedNgrams(std::span<const int32_t> history,
                         std::vector<int32_t>* banned) const;
  void BanSequences(std::span<const int32_t> history,
                    std::vector<int32_t>* banned) const;

  const double repetition_penalty_;
  const double frequency_penalty_;
  const double presence_penalty_;
  const size_t penalty_window_;  // the most tokens that penalties look at
  const std::vector<std::pair<int32_t, float>> bias_;
  const int ngram_size_;
  const int min_new_tokens_;
  const int max_new_tokens_;
  const std::vector<int32_t> end_ids_;
  const int end_growth_start_;
  const double end_growth_;
  const std::vector<int32_t> stop_ids_;
  const std::optional<int32_t> forced_first_id_;
  const std::optional<int32_t> forced_last_id_;
  const std::vector<int32_t> first_suppressed_ids_;
  const double source_bonus_;
  std::vector<int32_t> source_;  // ascending; empty without a bonus
  std::vector<int32_t>
      banned_tokens_;  // sequences of one token, and suppressed tokens
  // Longer sequences, by their second-to-last token.
  std::unordered_map<int32_t, std::vector<std::vector<int32_t>>>
      banned_sequences_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_LOGITS_RULES_H_
