#ifndef TRIVIUM_SERVER_BATCHING_ROW_LIMIT_H_
#define TRIVIUM_SERVER_BATCHING_ROW_LIMIT_H_

#include <cstdint>
#include <vector>

namespace trivium {

// Limits the rows of a model that a worker runs at once, from the recent cost
// of a row. More rows share the reading of the weights; but keys and values of
// too many rows no longer fit the CPU's caches, and each row costs more again.
// The best number depends on model, machine and lengths, so it is searched:
// while requests wait for room, the limit moves to its cheapest neighbour, and
// each neighbour is tried now and then. Not thread-safe: each worker has one
// for each model.
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
  // `most_rows`: upper bound of the limit, at least 1; the limit itself if
  // `fixed`.
  explicit RowLimit(int most_rows, bool fixed = false);

  int rows() const { return levels_[at_].rows; }

  // Before a step: a request joined; a request had to wait for lack of rows.
  void Joined() { joined_ = true; }
  void Refused() { refused_ = true; }
  // After the step: its rows, and its seconds besides encoding. A step counts
  // only if the limit kept a request out, and if one has joined since the limit
  // moved: until then more rows may run than a lowered limit allows.
  void Observe(int rows, double seconds);

 private:
  struct Level {
    int rows;
    double cost = 0;       // seconds a row; 0: never measured
    int64_t measured = 0;  // value of windows_ then
  };

  bool Stale(int level) const;
  void Choose();

  std::vector<Level> levels_;  // ascending
  int at_ = 0;
  int64_t windows_ = 0;
  bool joined_ = false;   // since the limit moved
  bool refused_ = false;  // since the last step
  // Sums of the window under way.
  int steps_ = 0;
  int64_t rows_ = 0;
  double seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ROW_LIMIT_H_
