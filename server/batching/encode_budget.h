#ifndef TRIVIUM_SERVER_BATCHING_ENCODE_BUDGET_H_
#define TRIVIUM_SERVER_BATCHING_ENCODE_BUDGET_H_

#include <cstdint>

namespace trivium {

// How much encoder work an iteration takes beside running requests, from what
// both cost lately. Not thread-safe: one worker's, of one model.
//
// What an iteration encodes delays the next token of every running request;
// what it leaves delays the first token of every waiting one. Both count
// alike: with w waiting and r running requests encoding may take
//   clamp(w / r, 1/4, 4) x the time of the iteration's other work
// so that few newcomers are hardly felt by those that run, and a batch that
// has shrunk while many wait fills up again. Where nothing runs it may take
// 0.1 s, after which newcomers and cancellations are seen again; `most_tokens`
// is a bound always, and the only one while nothing is measured.
class EncodeBudget {
 public:
  // Whatever is measured, so much is encoded: a short sentence.
  static constexpr int kLeastTokens = 32;

  // `layers`: of the encoder; `most_tokens`: an iteration's, at least 1.
  EncodeBudget(int layers, int most_tokens)
      : layers_(layers), most_tokens_(most_tokens) {}

  // In tokens through all layers.
  int Tokens(int64_t running, int64_t waiting) const;

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
