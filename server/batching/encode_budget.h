#ifndef TRIVIUM_SERVER_BATCHING_ENCODE_BUDGET_H_
#define TRIVIUM_SERVER_BATCHING_ENCODE_BUDGET_H_

#include <cstdint>

namespace trivium {

// Decides how much encoder work an iteration does beside running requests, from
// the recent cost of both: as much as fits into NewcomersSeconds, and at most
// `most_tokens`, which is the only bound while nothing is measured. Not
// thread-safe: each worker has one for each model.
class EncodeBudget {
 public:
  // Least budget, whatever is measured: a short sentence.
  static constexpr int kLeastTokens = 32;

  // `layers`: encoder layers. `most_tokens`: bound for an iteration, at
  // least 1.
  EncodeBudget(int layers, int most_tokens)
      : layers_(layers), most_tokens_(most_tokens) {}

  // The budget in tokens through all layers, for so many running requests and
  // so many waiting newcomers.
  int Tokens(int64_t running, int64_t waiting) const;
  // The tokens that recently took so many seconds; 0 only if `seconds` <= 0.
  int TokensIn(double seconds) const;

  // Records a step: its encoder work in tokens x layers and its decoder rows
  // (each may be 0), and the seconds of both.
  void Observe(int64_t encode_work, double encode_seconds, int decoder_rows,
               double other_seconds);

 private:
  const int layers_;
  const int most_tokens_;
  // Decaying sums over the last few steps with encoder work.
  double encode_seconds_ = 0;
  double encode_work_ = 0;
  // Decaying mean over the last few steps with decoder rows.
  double other_seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ENCODE_BUDGET_H_
