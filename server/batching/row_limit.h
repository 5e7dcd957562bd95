#ifndef TRIVIUM_SERVER_BATCHING_ROW_LIMIT_H_
#define TRIVIUM_SERVER_BATCHING_ROW_LIMIT_H_

#include <cstdint>
#include <vector>

namespace trivium {

// How many rows a worker runs of a model at once, from what a row cost lately.
// More rows share the reading of the weights; but the keys and values of too
// many no longer fit the caches, and each costs more again. Where the best is
// depends on model, machine and lengths, so it is sought: while requests wait
// for room, the limit goes to the cheapest of its neighbours, and each of these
// is tried now and then. Not thread-safe: one worker's, of one model.
//
//   while (a request waits) {
//     if (all would need more than limit.rows() rows) {
//       limit.Refused();
//       break;
//     }
//     limit.Joined();
//   }
//   ... a step ...
//   limit.Observe(the step's decoder rows, seconds);
class RowLimit {
 public:
  // At least 1. The limit never exceeds it; with `fixed` it is always that.
  explicit RowLimit(int most_rows, bool fixed = false);

  int rows() const { return levels_[at_].rows; }

  // Before a step: a request joined; one had to wait for want of rows.
  void Joined() { joined_ = true; }
  void Refused() { refused_ = true; }
  // After it: its rows, and its seconds besides encoding. A step tells
  // something of the limit only when this is what kept others out, and not
  // while more run than a lower limit would let in.
  void Observe(int rows, double seconds);

 private:
  struct Level {
    int rows;
    double cost = 0;       // seconds a row; 0: never measured
    int64_t measured = 0;  // when: windows_
  };

  bool Stale(int level) const;
  void Choose();

  std::vector<Level> levels_;  // ascending
  int at_ = 0;
  int64_t windows_ = 0;
  bool joined_ = false;   // since the limit moved
  bool refused_ = false;  // since the last step
  // Of the window under way.
  int steps_ = 0;
  int64_t rows_ = 0;
  double seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ROW_LIMIT_H_
