#ifndef TRIVIUM_SERVER_BATCHING_DRAFT_BUDGET_H_
#define TRIVIUM_SERVER_BATCHING_DRAFT_BUDGET_H_

namespace trivium {

// What it costs to read a guessed token along with an iteration, from what
// iterations lately took, and so how many are worth it. Weights are read once
// for few rows or one, so a further row is cheap while few run, and dear when
// many do. Not thread-safe: one worker's, of one model.
class DraftBudget {
 public:
  // Of one request in one iteration, whatever they cost.
  static constexpr int kMostTokens = 15;

  // In tokens that the iteration's `rows` would bring in the time that a
  // guessed one takes; a guess that is less probable than that is not worth it.
  double Price(int rows) const;
  // Guessed tokens that all requests together may read along: no more than
  // take the time of one token, so that who has no guesses waits little longer.
  int MostTokens(int rows) const;

  // A step without tokens of prefixes: of its rows those that were guesses, and
  // how long it took besides encoding.
  void Observe(int drafted, double seconds);

 private:
  double step_seconds_ = 0;  // of a step without guesses, lately
  // Sums that forget, over the last few steps with guesses.
  double tokens_ = 0;
  double seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_DRAFT_BUDGET_H_
