#ifndef TRIVIUM_SERVER_BATCHING_PROMPT_LOOKUP_H_
#define TRIVIUM_SERVER_BATCHING_PROMPT_LOOKUP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trivium {

// Guesses how a text continues: as it did where its last tokens occurred
// before. That is right if an answer copies from its prompt, or repeats itself.
// The lookup measures its hit rate on the tokens that follow, whether or not a
// guess was used. Not thread-safe.
//
//   PromptLookup lookup(tokens of the whole text);
//   lookup.Update(prompt); lookup.ResetHitRate();
//   lookup.Update(prompt and the tokens so far);
//   guesses: the text from position lookup.match() on
class PromptLookup {
 public:
  explicit PromptLookup(size_t most_tokens);

  // Records the tokens added to `history`, which extends the one of the last
  // call.
  void Update(std::span<const int32_t> history);
  // Forgets the hit rate so far.
  void ResetHitRate() { hit_rate_ = kFirstHitRate; }

  // Position in the history of the guess for the next token; 0: no guess.
  size_t match() const { return match_; }
  // Probability that a guess is right, from the recent guesses.
  double hit_rate() const { return hit_rate_; }

 private:
  static constexpr double kFirstHitRate = 0.5;

  size_t SlotOf(std::span<const int32_t> last) const;

  std::vector<uint32_t> after_;  // [slots] positions after n-grams
  size_t seen_ = 0;
  size_t match_ = 0;
  double hit_rate_ = kFirstHitRate;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_PROMPT_LOOKUP_H_
