#include "server/batching/row_limit.h"

#include <algorithm>

// A window is 32 steps in which the limit kept requests out, at one level. It
// gives the cost of this level, in seconds a row:
//   measured = sum of seconds / sum of rows
//   cost     = (cost + measured) / 2, or measured where the old one is stale
// A cost is stale that was never measured, or not in the last 16 windows. After
// each window the limit goes to the cheapest neighbour whose cost is known, not
// stale, and below 0.99 of its own; else to a stale one, to measure it; else it
// stays.

namespace trivium {
namespace {

constexpr int kLeastRows = 16;
constexpr int kFirstRows = 64;
// Full steps that a level is judged by.
constexpr int kWindowSteps = 32;
// A neighbour that was not measured for so many windows is tried again.
constexpr int kStaleWindows = 16;
// A neighbour must be so much cheaper.
constexpr double kWorthMoving = 0.99;

}  // namespace

RowLimit::RowLimit(int most_rows, bool fixed) {
  // 16, 24, 32, 48, 64...
  for (int rows = kLeastRows; !fixed && rows < most_rows; rows *= 2) {
    levels_.push_back({rows});
    if (rows + rows / 2 < most_rows) levels_.push_back({rows + rows / 2});
  }
  levels_.push_back({most_rows});
  while (at_ + 1 < static_cast<int>(levels_.size()) && rows() < kFirstRows) {
    ++at_;
  }
}

void RowLimit::Observe(int rows, double seconds) {
  const bool full = refused_ && joined_;
  refused_ = false;
  if (!full || rows == 0) return;
  rows_ += rows;
  seconds_ += seconds;
  if (++steps_ < kWindowSteps) return;
  Choose();
  steps_ = 0;
  rows_ = 0;
  seconds_ = 0;
}

bool RowLimit::Stale(int level) const {
  return levels_[level].cost <= 0 ||
         windows_ - levels_[level].measured >= kStaleWindows;
}

void RowLimit::Choose() {
  ++windows_;
  Level& level = levels_[at_];
  const double cost = seconds_ / static_cast<double>(rows_);
  // Half of what was known counts, unless it is old.
  level.cost = Stale(at_) ? cost : (level.cost + cost) / 2;
  level.measured = windows_;
  // Wherever a known neighbour is cheaper, there; else where least is known.
  int best = at_, unknown = at_;
  double least = level.cost * kWorthMoving;
  for (const int next : {at_ - 1, at_ + 1}) {
    if (next < 0 || next >= static_cast<int>(levels_.size())) continue;
    if (Stale(next)) {
      unknown = next;
    } else if (levels_[next].cost < least) {
      best = next;
      least = levels_[next].cost;
    }
  }
  const int next = best != at_ ? best : unknown;
  if (next == at_) return;
  at_ = next;
  joined_ = false;
}

}  // namespace trivium
