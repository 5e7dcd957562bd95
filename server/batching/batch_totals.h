#ifndef TRIVIUM_SERVER_BATCHING_BATCH_TOTALS_H_
#define TRIVIUM_SERVER_BATCHING_BATCH_TOTALS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "server/batching/sequence.h"

namespace trivium {

// Totals over the sequences of a batch, from which RunningBatch decides who
// joins and how much an iteration does. Not thread-safe.
class BatchTotals {
 public:
  // Over the sequences of one priority and of the more urgent ones.
  struct Totals {
    int64_t requests = 0;
    int64_t reserved_rows = 0;
    int64_t owed_blocks = 0;  // of sequences that are not suspended
    int64_t pending_tokens = 0;
    int64_t suspended = 0;
    // Sequences that are not suspended are in one of these two groups.
    int64_t at_source = 0;    // Sequence::in_source_phase
    int64_t past_source = 0;  // the others
    int64_t searching = 0;    // part of past_source: those that choose tokens

    // Sequences that encode their sources or read given tokens.
    int64_t reading() const { return at_source + past_source - searching; }
  };
  const Totals& of(Priority priority) const {
    return totals_[static_cast<int>(priority)];
  }
  const Totals& all() const { return of(Priority::kBackground); }
  // Sequences of this priority alone.
  int64_t requests(Priority priority) const {
    return priority == Priority::kInteractive
               ? of(priority).requests
               : of(priority).requests - of(Priority::kInteractive).requests;
  }
  // Reserved rows of the oldest background sequence; 0: there is none.
  int64_t oldest_background_rows() const { return oldest_background_rows_; }
  // KV blocks that interactive requests may get by suspending background ones:
  // all that these hold or will claim, except those of the oldest sequence of
  // the batch. As of the last Recount.
  int64_t background_blocks() const { return background_blocks_; }

  // `sequences`: the whole batch, by arrival.
  void Recount(std::span<const std::unique_ptr<Sequence>> sequences);
  // Adds a newcomer.
  void Add(const Sequence& sequence);
  // A suspended sequence was resumed.
  void AddResumed(const Sequence& sequence);

 private:
  std::array<Totals, kPriorities> totals_;
  int64_t oldest_background_rows_ = 0;
  int64_t background_blocks_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_BATCH_TOTALS_H_
