#include "server/batching/batch_totals.h"

namespace trivium {

void BatchTotals::Recount(
    std::span<const std::unique_ptr<Sequence>> sequences) {
  *this = {};
  for (const std::unique_ptr<Sequence>& sequence : sequences) {
    Add(*sequence);
    if (sequence->priority() == Priority::kBackground &&
        sequence != sequences.front() && !sequence->suspended()) {
      background_blocks_ += sequence->held_blocks() + sequence->owed_blocks();
    }
  }
}

void BatchTotals::Add(const Sequence& sequence) {
  const Priority priority = sequence.priority();
  if (priority == Priority::kBackground && requests(priority) == 0) {
    oldest_background_rows_ = sequence.reserved_rows();
  }
  for (int i = static_cast<int>(priority); i < kPriorities; ++i) {
    Totals& totals = totals_[i];
    ++totals.requests;
    totals.reserved_rows += sequence.reserved_rows();
    totals.pending_tokens += sequence.pending_tokens();
    if (sequence.suspended()) {
      ++totals.suspended;
      continue;
    }
    totals.owed_blocks += sequence.owed_blocks();
    ++(sequence.in_source_phase() ? totals.at_source : totals.past_source);
    totals.searching += sequence.searching();
  }
}

void BatchTotals::AddResumed(const Sequence& sequence) {
  for (int i = static_cast<int>(sequence.priority()); i < kPriorities; ++i) {
    totals_[i].owed_blocks += sequence.owed_blocks();
    --totals_[i].suspended;
  }
}

}  // namespace trivium
