// The figures of a sequence: rows, KV blocks and tokens that it uses now or may
// still need. BatchTotals adds them up. Each depends on the phase
// (sequence.cc).
#include <algorithm>

#include "server/batching/sequence.h"

namespace trivium {

int Sequence::MinRows() const {
  if (paused_) return 0;
  switch (phase_) {
    case Phase::kSuspended:
      return 0;
    case Phase::kSource:
      if (!request_.decodes() || !source_ready()) return 0;
      return std::max(1, static_cast<int>(hypotheses_.size()));
    case Phase::kPrefix:
      return 1;
    case Phase::kRereading:
      return rereading_.MinRows();
    case Phase::kSearch:
      return static_cast<int>(live_.size());
    case Phase::kAttention:
      return static_cast<int>(
          std::count_if(passes_.begin(), passes_.end(),
                        [](const auto& p) { return p.tokens_left() > 0; }));
    case Phase::kScore:
      return 1;
    case Phase::kDone:
      return 0;
  }
  return 0;
}

int Sequence::PlannedRows(const StepPlan& plan) const {
  int rows = 0;
  for (const StepPlan::Decode& decode : decodes_.Entries(plan)) {
    rows += static_cast<int>(decode.tokens.size());
  }
  return rows;
}

int64_t Sequence::owed_blocks() const {
  const auto blocks = [this](int64_t tokens) {
    return engine_->limits().HypothesisBlocks(tokens);
  };
  const int64_t prefix = static_cast<int64_t>(request_.prefix.size());
  switch (phase_) {
    case Phase::kSuspended:
    case Phase::kSource:
    case Phase::kRereading:
      if (decoding_ == nullptr || steps_ == 0) {
        return queued_->cost.prefix_blocks;
      }
      if (!hypotheses_.empty()) return queued_->cost.decoder_blocks();
      return static_cast<int64_t>(decoding_->continuations().size()) *
             blocks(prefix + steps_ - 1);
    case Phase::kPrefix:
      return queued_->cost.prefix_blocks - blocks(prefix_fed_);
    case Phase::kScore:
      return queued_->cost.prefix_blocks - blocks(score_->read());
    case Phase::kSearch:
    case Phase::kAttention:
    case Phase::kDone:
      return 0;
  }
  return 0;
}

int64_t Sequence::held_blocks() const {
  int64_t blocks = 0;
  if (source_slot_ >= 0 && sources_->readers(source_slot_) == 1) {
    blocks += queued_->cost.source_blocks;
  }
  // The hypotheses may share all their blocks, so only one of them counts.
  if (phase_ == Phase::kSearch) {
    blocks += engine_->limits().HypothesisBlocks(read_tokens());
  }
  return blocks;
}

int64_t Sequence::pending_tokens() const {
  if (phase_ == Phase::kDone) return 0;
  if (phase_ == Phase::kScore && !request_.decoding) {
    return score_->tokens_left();
  }
  if (decoding_ == nullptr || (phase_ == Phase::kSource && steps_ == 0)) {
    return queued_->cost.tokens;
  }
  return static_cast<int64_t>(request_.prefix.size()) - prefix_fed_ +
         reserved_rows_ * (request_.decoding->max_new_tokens - steps_);
}

}  // namespace trivium
