#ifndef TRIVIUM_SERVER_BATCHING_PROMPT_LOOKUP_H_
#define TRIVIUM_SERVER_BATCHING_PROMPT_LOOKUP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trivium {

// Guesses how a text goes on: as it did where its last tokens stood before,
// which is right where an answer copies from its prompt, or repeats itself. It
// judges itself by what comes, whether or not anybody used a guess. Not
// thread-safe.
//
//   PromptLookup lookup(tokens that are expected);
//   lookup.Update(prompt); lookup.Forgive();
//   lookup.Update(prompt and what came since);
//   guesses: what stands at lookup.match() of it
class PromptLookup {
 public:
  explicit PromptLookup(size_t most_tokens);

  // Takes note of what was added to `history`, which begins with what it was
  // the last time.
  void Update(std::span<const int32_t> history);
  // Judges anew from here on.
  void Forgive() { hit_rate_ = kFirstHitRate; }

  // Where in the history stands what may come next, or 0 where nothing tells.
  size_t match() const { return match_; }
  // How probable it is, from the guesses lately, that one is right.
  double hit_rate() const { return hit_rate_; }

 private:
  static constexpr double kFirstHitRate = 0.5;

  size_t SlotOf(std::span<const int32_t> last) const;

  std::vector<uint32_t> after_;  // [slots] where what followed an n-gram stands
  size_t seen_ = 0;
  size_t match_ = 0;
  double hit_rate_ = kFirstHitRate;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_PROMPT_LOOKUP_H_
