#ifndef TRIVIUM_SERVER_BATCHING_DRAFT_BUDGET_H_
#define TRIVIUM_SERVER_BATCHING_DRAFT_BUDGET_H_

namespace trivium {

// Estimates the cost of reading a guessed token along with an iteration, from
// recent iterations, and so how many guesses are worth it. One row and a few
// rows read the weights once, so a further row is cheap while few run and
// expensive while many do. Not thread-safe: each worker has one for each model.
class DraftBudget {
 public:
  // Bound for one request in one iteration, whatever the cost.
  static constexpr int kMostTokens = 15;

  // Price of one guess: the tokens that the iteration's `rows` would produce in
  // the time of a guess. A guess that is less probable than this is not worth
  // it.
  double Price(int rows) const;
  // Bound on the guesses of all requests together. They take at most the time
  // of one token, so requests without guesses wait little longer.
  int MostTokens(int rows) const;

  // Records a step without prefix tokens: how many of its rows were guesses,
  // and its seconds besides encoding.
  void Observe(int drafted, double seconds);

 private:
  double step_seconds_ = 0;  // recent mean of a step without guesses
  // Decaying sums over the last few steps with guesses.
  double tokens_ = 0;
  double seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_DRAFT_BUDGET_H_
