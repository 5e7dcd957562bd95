#ifndef TRIVIUM_SERVER_BATCHING_PREFILL_BUDGET_H_
#define TRIVIUM_SERVER_BATCHING_PREFILL_BUDGET_H_

#include <cstdint>

namespace trivium {

// Decides how many prefix tokens an iteration reads beside the next token of
// every running request, from the recent cost of both: as many as fit into
// NewcomersSeconds. A prefix token costs what iterations with such tokens take
// longer than those without. Not thread-safe: each worker has one for each
// model.
class PrefillBudget {
 public:
  // Least budget, whatever is measured.
  static constexpr int kLeastTokens = 4;
  // Least budget if no request runs that waits for its next token. A step reads
  // all weights, so a prompt of a large model in steps of a few tokens would
  // take the time of memory: measured with 1.6 billion weights in int8, steps
  // of 12 tokens took 1.3 times as long as those of 64.
  static constexpr int kLeastAlone = 64;

  // `most_tokens`: bound for an iteration; the budget while nothing is
  // measured.
  explicit PrefillBudget(int most_tokens) : most_tokens_(most_tokens) {}

  // The budget in tokens, for so many running requests and so many that read
  // prefixes.
  int Tokens(int64_t running, int64_t reading) const;

  // Records a step: its prefix tokens, its other decoder rows, and its seconds
  // besides encoding.
  void Observe(int tokens, int rows, double seconds);

 private:
  const int most_tokens_;
  double step_seconds_ = 0;  // recent mean of a step without prefixes
  // Decaying sums over the last few steps with prefixes.
  double tokens_ = 0;
  double seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_PREFILL_BUDGET_H_
