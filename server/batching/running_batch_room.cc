// KV blocks of a running batch: who gives them up, and who gets them.
#include <algorithm>
#include <utility>

#include "server/batching/running_batch.h"

namespace trivium {

int64_t RunningBatch::UnclaimedBlocks() const {
  return engine_->free_blocks() - sources_.unopened_blocks() -
         all().owed_blocks;
}

void RunningBatch::MakeRoom() {
  if (draft_tokens_ > 0 &&
      engine_->BlocksNeeded(plan_) > engine_->free_blocks()) {
    for (Sequence* sequence : order_) sequence->DropDraft(&plan_);
    draft_tokens_ = 0;
  }
  while (engine_->BlocksNeeded(plan_) > engine_->free_blocks()) {
    // The first needs no more than there is once it has all for itself.
    Sequence* const last = LastHolder();
    if (last == nullptr) return;
    Suspend(last);
  }
}

void RunningBatch::MakeRoomFor(const Sequence& newcomer) {
  if (newcomer.priority() == Priority::kBackground) return;
  while (sources_.unopened_blocks() > engine_->free_blocks()) {
    Sequence* const last = LastHolder();
    if (last == nullptr || last == order_.front() ||
        last->priority() == Priority::kInteractive) {
      return;
    }
    Suspend(last);
  }
}

Sequence* RunningBatch::LastHolder() {
  const auto last =
      std::find_if(order_.rbegin(), order_.rend(),
                   [](const Sequence* one) { return one->may_hold_blocks(); });
  return last == order_.rend() ? nullptr : *last;
}

void RunningBatch::Suspend(Sequence* sequence) {
  // The last holder of blocks: no decode entries follow its own.
  sequence->Suspend(&plan_);
  if (sequence->priority() == Priority::kInteractive) {
    share_->Ended(options_.clock->Now());
  }
  if (options_.observer != nullptr) {
    options_.observer->OnSuspended(*options_.model);
  }
}

void RunningBatch::ResumeSuspended() {
  // As for a newcomer: a block more for every hypothesis that may run. One
  // that has the engine for itself always fits.
  int64_t rows = 0;
  bool alone = true;
  bool failed = false;
  for (const Sequence* sequence : order_) {
    if (!sequence->may_hold_blocks()) continue;
    rows += sequence->reserved_rows();
    alone = false;
  }
  for (Sequence* sequence : order_) {
    if (!sequence->suspended()) continue;
    const QueuedRequest& queued = sequence->queued();
    rows += sequence->reserved_rows();
    const int64_t source_blocks =
        sources_.Has(queued) ? 0 : queued.cost.source_blocks;
    const int64_t blocks = source_blocks + sequence->owed_blocks();
    if (!alone && blocks + rows > UnclaimedBlocks()) break;
    alone = false;
    int source_slot = -1;
    bool shared = false;
    if (!queued.request.source.ids.empty()) {
      source_slot = sources_.Acquire(queued, &shared);
    }
    sequence->Resume(source_slot);
    for (int i = static_cast<int>(sequence->priority()); i < kPriorities; ++i) {
      sums_[i].owed_blocks += sequence->owed_blocks();
      --sums_[i].suspended;
    }
    if (sequence->priority() == Priority::kInteractive) share_->Began();
    // The engine took the source before, so this is a fault of the engine.
    if (absl::Status status = sequence->Open(); !status.ok()) {
      Answer(sequence, status);
      failed = true;
    }
  }
  if (failed) RemoveFinished();
}

}  // namespace trivium
