#ifndef TRIVIUM_SERVER_BATCHING_PREFILL_BUDGET_H_
#define TRIVIUM_SERVER_BATCHING_PREFILL_BUDGET_H_

#include <cstdint>

namespace trivium {

// How many tokens of prefixes an iteration reads beside the next token of
// every running request, from what both cost lately. Not thread-safe: one
// worker's, of one model.
//
// It may take NewcomersSeconds. What a token costs is what iterations with such
// tokens take longer than those without.
class PrefillBudget {
 public:
  // Whatever is measured, so many are read.
  static constexpr int kLeastTokens = 4;

  // `most_tokens`: an iteration's; all of them while nothing is measured.
  explicit PrefillBudget(int most_tokens) : most_tokens_(most_tokens) {}

  int Tokens(int64_t running, int64_t reading) const;

  // A step: its tokens of prefixes, its other decoder rows, and how long it
  // took besides encoding.
  void Observe(int tokens, int rows, double seconds);

 private:
  const int most_tokens_;
  double step_seconds_ = 0;  // of a step without prefixes, lately
  // Sums that forget, over the last few steps with prefixes.
  double tokens_ = 0;
  double seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_PREFILL_BUDGET_H_
