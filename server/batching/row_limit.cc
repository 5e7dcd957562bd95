#include "server/batching/row_limit.h"

#include <algorithm>

// A window is 32 steps at one level in which the limit kept requests out. It
// gives the cost of this level, in seconds a row:
//
//   measured = sum of seconds / sum of rows
//   cost     = (cost + measured) / 2, or measured if the old cost is stale
//
// A cost is stale if it was never measured, or not in the last 16 windows.
// After each window the limit moves to the cheapest neighbour whose cost is not
// stale and below 0.99 of its own; else to a stale neighbour, to measure it;
// else it stays.

namespace trivium {
namespace {

constexpr int kLeastRows = 16;
constexpr int kFirstRows = 64;
// Steps in a window.
constexpr int kWindowSteps = 32;
// A neighbour's cost is stale after so many windows.
constexpr int kStaleWindows = 16;
// A neighbour must cost less than this part of the current cost.
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
  // The old cost counts half, unless it is stale.
  level.cost = Stale(at_) ? cost : (level.cost + cost) / 2;
  level.measured = windows_;
  // A known cheaper neighbour wins; else a stale one is measured.
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
