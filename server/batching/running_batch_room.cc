// KV blocks of a running batch: who gives them up, and who gets them.
#include <algorithm>
#include <utility>

#include "server/batching/running_batch.h"

namespace trivium {

int64_t RunningBatch::UnclaimedBlocks() const {
  return engine_->free_blocks() - sources_.unopened_blocks() - owed_blocks_;
}

void RunningBatch::MakeRoom() {
  if (draft_tokens_ > 0 &&
      engine_->BlocksNeeded(plan_) > engine_->free_blocks()) {
    for (const auto& sequence : sequences_) sequence->DropDraft(&plan_);
    draft_tokens_ = 0;
  }
  while (engine_->BlocksNeeded(plan_) > engine_->free_blocks()) {
    // The oldest needs no more than there is once it has all for itself.
    const auto youngest =
        std::find_if(sequences_.rbegin(), sequences_.rend(),
                     [](const auto& one) { return one->holds_blocks(); });
    if (youngest == sequences_.rend()) return;
    Suspend(youngest->get());
  }
}

void RunningBatch::Suspend(Sequence* sequence) {
  // None that comes after it has decode work.
  if (sequence->decodes() > 0) {
    plan_.decode.erase(
        plan_.decode.begin() + static_cast<ptrdiff_t>(sequence->first_decode()),
        plan_.decode.end());
  }
  const SourceId source = sequence->Suspend();
  std::erase_if(plan_.encode, [source](const StepPlan::Encode& work) {
    return work.source == source;
  });
  ++suspended_;
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
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    if (!sequence->holds_blocks()) continue;
    rows += sequence->reserved_rows();
    alone = false;
  }
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    if (!sequence->suspended()) continue;
    const QueuedRequest& queued = sequence->queued();
    rows += sequence->reserved_rows();
    const int64_t source_blocks =
        sources_.Has(queued) ? 0 : queued.cost.source_blocks;
    const int64_t blocks = source_blocks + sequence->owed_blocks();
    if (!alone && blocks + rows > UnclaimedBlocks()) return;
    alone = false;
    int source_slot = -1;
    bool shared = false;
    if (!queued.request.source.ids.empty()) {
      source_slot = sources_.Acquire(queued, &shared);
    }
    owed_blocks_ += sequence->owed_blocks();
    sequence->Resume(source_slot);
    --suspended_;
    // The engine took the source before, so this is a fault of the engine.
    if (absl::Status status = sequence->Open(); !status.ok()) {
      Answer(sequence.get(), status);
      failed = true;
    }
  }
  if (failed) Sweep();
}

}  // namespace trivium
