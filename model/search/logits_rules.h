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

// What the rules do to one row of logits.
struct LogitsEdits {
  // If set, this token alone is possible and its logit is 0; the row is not
  // read.
  std::optional<int32_t> forced;
  // The tokens whose logits change: ascending, no duplicates.
  std::vector<int32_t> watched;
  struct Change {
    bool banned = false;     // impossible, whatever else
    bool repeated = false;   // the repetition penalty applies
    bool of_source = false;  // the source's bonus applies
    double bias = 0;
    double loss = 0;    // for how often it was written
    double growth = 0;  // of an end token in a long text
  };
  std::vector<Change> changes;  // [watched]
  double repetition_penalty = 1;
  double source_bonus = 1;
  // Scratch of EditsAfter, each sorted.
  std::vector<int32_t> banned_ids, read, written;

  // The edited logit (or log-probability) of watched[i].
  double Apply(size_t i, double logit) const;
};

// The rules that change logits before a token is chosen, with Transformers'
// meaning and in its order: bias, the source's bonus, repetition penalty, no
// repeated n-grams, none of the source's, banned sequences, minimum of new
// tokens, forced first token, forced last token, growth of end tokens,
// suppressed tokens. Penalties for frequency and presence, which it does not
// have, come after the one for repetition, as in vLLM:
//
//   x <- x + bias
//   x <- x < 0 ? x / bonus : x * bonus                 of tokens in the source
//   x <- x < 0 ? x * repetition : x / repetition       of tokens that were read
//   x <- x - frequency * count - presence * (count > 0)  count of new tokens
//   x <- x + |x| (growth^(new tokens - start) - 1)     of end tokens
class LogitsRules {
 public:
  explicit LogitsRules(const DecodingOptions& options);

  // Edits for the token after `history` (prefix, then the new tokens, of
  // which there are `new_tokens`).
  void EditsAfter(std::span<const int32_t> history, int new_tokens,
                  LogitsEdits* edits) const;

  // Whether and why a text of so many new tokens ends with this last one. A
  // forced last token is a cut, even where that id is an end token.
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
  std::vector<int32_t> source_;         // ascending, where it has a bonus
  std::vector<int32_t> banned_tokens_;  // sequences of one token, suppressed
  // Longer sequences, by the token before their last one.
  std::unordered_map<int32_t, std::vector<std::vector<int32_t>>>
      banned_sequences_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_LOGITS_RULES_H_
