// The work of one iteration. Beside interactive requests, background ones have
// a bound in seconds (BackgroundShare, limited_): first it pays for the next
// tokens of the oldest of them, and the others pause; the seconds that are left
// bound both their encoder work and the prefix rows that they read. Interactive
// requests have no such bound. All requests share max_rows: first the least
// rows of each, then guesses, then interactive prefixes, then background ones.
// There are guesses only while no interactive request reads a prefix. Tokens
// that a constraint forces are read ahead at any time: each saves a row of a
// later iteration. At most they double the iteration's rows, or are as many as
// one request may guess.
#include <algorithm>
#include <array>
#include <cmath>

#include "server/batching/running_batch.h"

namespace trivium {

void RunningBatch::MakePlan() {
  const BatchTotals::Totals& interactive = totals_.of(Priority::kInteractive);
  const BatchTotals::Totals& all = totals_.all();
  const double allowed = share_->Seconds(options_.clock->Now());
  limited_ = std::isfinite(allowed);
  const double left = PauseBackground(allowed);
  sources_.PlanEncode({EncodeTokens(Priority::kInteractive),
                       std::min(EncodeTokens(Priority::kBackground),
                                costs_.encode().TokensIn(left))},
                      &plan_.encode);
  draft_tokens_ = Draft();
  int rows = options_.max_rows - draft_tokens_;
  for (const Sequence* sequence : order_) rows -= sequence->MinRows();
  std::array<int, kPriorities> spare = {};
  if (interactive.reading() > 0) {
    spare[0] = std::min(rows, costs_.prefill().Tokens(interactive.searching,
                                                      interactive.reading()));
  }
  spare[1] = std::min({rows - spare[0],
                       limited_ ? costs_.RowsIn(left) : options_.max_rows,
                       costs_.prefill().Tokens(all.searching, all.reading())});
  prefill_tokens_ = spare[0] + spare[1];
  for (Sequence* sequence : order_) {
    sequence->Plan(&spare[static_cast<int>(sequence->priority())], &plan_);
  }
  prefill_tokens_ -= spare[0] + spare[1];
}

double RunningBatch::PauseBackground(double seconds) {
  paused_ = 0;
  int64_t rows =
      options_.max_rows - totals_.of(Priority::kInteractive).reserved_rows;
  const double row = costs_.row_seconds();
  for (Sequence* sequence : order_) {
    sequence->set_paused(false);
    if (!limited_ || sequence->priority() == Priority::kInteractive) continue;
    const int its_rows = sequence->MinRows();
    // A sequence without rows pauses too: if this iteration finishes its
    // source, it continues in the next one.
    sequence->set_paused(its_rows == 0 || its_rows > rows || seconds <= 0);
    if (sequence->paused()) {
      paused_ += its_rows > 0;
      continue;
    }
    rows -= its_rows;
    // While the time of a row is unknown, one request runs to measure it.
    seconds = row > 0 ? seconds - its_rows * row : 0;
  }
  return seconds;
}

int RunningBatch::Draft() {
  int rows = 0;
  for (const Sequence* sequence : order_) rows += sequence->MinRows();
  const double price = costs_.draft().Price(rows);
  int most =
      std::min(costs_.draft().MostTokens(rows), options_.max_rows - rows);
  // Iterations in which other requests read prefixes are long enough.
  const BatchTotals::Totals& its =
      totals_.of(limited_ ? Priority::kInteractive : Priority::kBackground);
  if (!options_.speculate || its.reading() > 0) most = 0;
  const int most_forced =
      options_.speculate ? std::max(rows, DraftBudget::kMostTokens) : 0;
  const auto allot = [](int most) {
    return std::min(most, DraftBudget::kMostTokens);
  };
  int drafted = 0, forced = 0;
  for (Sequence* sequence : order_) {
    // Background requests do not spend their bounded seconds on guesses.
    const bool may =
        !limited_ || sequence->priority() == Priority::kInteractive;
    const int room = may ? options_.max_rows - rows - drafted - forced : 0;
    const int its_tokens =
        sequence->Draft(price, allot(std::min(room, most - drafted)),
                        allot(std::min(room, most_forced - forced)));
    (sequence->forced() ? forced : drafted) += its_tokens;
  }
  return drafted + forced;
}

int RunningBatch::EncodeTokens(Priority priority) const {
  const BatchTotals::Totals& its = totals_.of(priority);
  return costs_.encode().Tokens(
      its.past_source, its.at_source + waiting_[static_cast<int>(priority)]);
}

}  // namespace trivium
