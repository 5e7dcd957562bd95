#ifndef TRIVIUM_CLIENT_LOAD_RATE_SEARCH_H_
#define TRIVIUM_CLIENT_LOAD_RATE_SEARCH_H_

#include <limits>

namespace trivium {

// Finds the highest rate that passes, with few measurements. It goes up or down
// in steps until one rate passes and the next does not, then halves the
// interval between them. It measures nothing itself:
//
//   RateSearch search(100, {});
//   while (!search.done()) search.Add(Passes(search.rate()));
class RateSearch {
 public:
  struct Options {
    double tolerance = 0.03;  // relative to the highest rate
    // A rate fails after this many measurements that did not pass, since a busy
    // machine fails one now and then.
    int tries = 2;
  };

  // Begins at `start`, which is positive.
  RateSearch(double start, Options options)
      : options_(options), start_(start), rate_(start) {}

  bool done() const { return done_; }
  double rate() const { return rate_; }  // the rate to measure next
  // Records whether rate() passed.
  void Add(bool passed);
  // The highest rate that passed, when done; 0 if not even a hundredth of the
  // first one did.
  double highest() const { return low_; }

 private:
  const Options options_;
  const double start_;
  double rate_;
  double low_ = 0;                                         // it passed
  double high_ = std::numeric_limits<double>::infinity();  // it did not
  int failures_ = 0;  // measurements of rate_ that did not pass
  bool done_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_RATE_SEARCH_H_
