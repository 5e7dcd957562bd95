#ifndef TRIVIUM_SERVER_BATCHING_ENCODE_BUDGET_H_
#define TRIVIUM_SERVER_BATCHING_ENCODE_BUDGET_H_

#include <cstdint>

namespace trivium {

// How much encoder work an iteration takes beside running requests, from what
// both cost lately. Not thread-safe: one worker's, of one model.
//
// It may take NewcomersSeconds; `most_tokens` is a bound always, and the only
// one while nothing is measured.
class EncodeBudget {
 public:
  // Whatever is measured, so much is encoded: a short sentence.
  static constexpr int kLeastTokens = 32;

  // `layers`: of the encoder; `most_tokens`: an iteration's, at least 1.
  EncodeBudget(int layers, int most_tokens)
      : layers_(layers), most_tokens_(most_tokens) {}

  // In tokens through all layers.
  int Tokens(int64_t running, int64_t waiting) const;
  // What lately took so many seconds; 0 only for 0 or less.
  int TokensIn(double seconds) const;

  // A step: its encoder work in tokens x layers and its decoder rows (0: none
  // of the kind), and how long both took.
  void Observe(int64_t encode_work, double encode_seconds, int decoder_rows,
               double other_seconds);

 private:
  const int layers_;
  const int most_tokens_;
  // Sums that forget: of the last few steps with encoder work...
  double encode_seconds_ = 0;
  double encode_work_ = 0;
  // ...and the mean over the last few with decoder rows.
  double other_seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ENCODE_BUDGET_H_
