// Rows and KV blocks of a running batch: who joins, who is suspended, and who
// resumes.
//
// Blocks are used by the engine, or claimed: by sources that are not open yet
// (SourceTable::unopened_blocks) and by prefixes that are not read yet
// (Sequence::owed_blocks). A newcomer or a suspended sequence must fit beside
// all of these. For an interactive newcomer only the blocks of the oldest
// sequence and of interactive ones count, since the others can be suspended.
//
// Suspending never counts on claims: it looks only at the blocks that the plan
// needs and the engine has free.
#include <algorithm>
#include <utility>

#include "server/batching/running_batch.h"

namespace trivium {
namespace {

// See CanJoin.
constexpr int kNewCallsBudgets = 4;
constexpr int kHeadroomShare = 8;

}  // namespace

FairQueue::Verdict RunningBatch::CanJoin(const QueuedRequest& request) {
  using enum FairQueue::Verdict;
  if (sequences_.empty()) return kTake;
  const Priority priority = request.request.priority;
  const bool interactive = priority == Priority::kInteractive;
  const BatchTotals::Totals& its = totals_.of(priority);
  bool& lacks_room = lacks_room_[static_cast<int>(priority)];
  const bool new_call = !requests_of_call_.contains(request.call);
  const bool new_client =
      interactive && !requests_of_client_.contains(request.request.client);
  int limit = costs_.row_limit().rows();
  const int few = limit / kHeadroomShare;
  if (only_new_clients_ && interactive) {
    if (overtaken_ >= few) return kStop;
    if (!new_client) return kSkipClient;
  }
  if (!new_call && lacks_room) return kSkip;
  const int64_t encode = sources_.pending_tokens(priority);
  if (encode >= int64_t{kNewCallsBudgets} * options_.encode_budget_tokens) {
    return kStop;
  }
  if (!new_call && encode >= EncodeTokens(priority)) return kSkip;

  int64_t rows = its.reserved_rows + request.cost.rows;
  if (interactive && its.requests > 0) rows += totals_.oldest_background_rows();
  if ((new_call && std::ssize(requests_of_call_) < few) ||
      (new_client && std::ssize(requests_of_client_) < few)) {
    limit = options_.max_rows;
  }
  const auto less_headroom = [new_call](int room) {
    return new_call ? room : room - room / kHeadroomShare;
  };
  if (rows > less_headroom(limit)) {
    costs_.row_limit().Refused();
    if (new_call && interactive && !new_client && overtaken_ < few) {
      only_new_clients_ = true;
      return kSkipClient;
    }
  } else if (request.cost.rows == 0) {
    return kTake;
  } else if (its.suspended == 0 && !sequences_.front()->suspended()) {
    const int total_blocks = engine_->limits().total_blocks;
    const int64_t source_blocks =
        sources_.Has(request) ? 0 : request.cost.source_blocks;
    // Blocks that are used or claimed, those of the newcomer, and one more for
    // every hypothesis that may run.
    int64_t blocks = total_blocks - UnclaimedBlocks() + source_blocks +
                     request.cost.prefix_blocks + rows;
    if (interactive) blocks -= totals_.background_blocks();
    if (blocks <= less_headroom(total_blocks)) return kTake;
  }
  background_waits_ |= !interactive && requests(Priority::kBackground) == 0;
  // Interactive requests wait for a background one that is to join first.
  if (new_call || (!interactive && wants_background())) return kStop;
  lacks_room = true;
  return kSkip;
}

int64_t RunningBatch::UnclaimedBlocks() const {
  return engine_->free_blocks() - sources_.unopened_blocks() -
         totals_.all().owed_blocks;
}

void RunningBatch::MakeRoom() {
  if (draft_tokens_ > 0 &&
      engine_->BlocksNeeded(plan_) > engine_->free_blocks()) {
    for (Sequence* sequence : order_) sequence->DropDraft(&plan_);
    draft_tokens_ = 0;
  }
  while (engine_->BlocksNeeded(plan_) > engine_->free_blocks()) {
    // The first sequence alone never needs more blocks than there are.
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
  // This is the last holder of blocks, so no decode entries follow its own.
  sequence->Suspend(&plan_);
  if (sequence->priority() == Priority::kInteractive) {
    share_->Ended(options_.clock->Now());
  }
  if (options_.observer != nullptr) {
    options_.observer->OnSuspended(*options_.model);
  }
}

void RunningBatch::ResumeSuspended() {
  // Resuming needs one more block for every hypothesis that may run, like
  // joining. A sequence that is alone in the engine always fits.
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
    totals_.AddResumed(*sequence);
    if (sequence->priority() == Priority::kInteractive) share_->Began();
    // The engine accepted the source before, so this is a fault of the engine.
    if (absl::Status status = sequence->Open(); !status.ok()) {
      Answer(sequence, status);
      failed = true;
    }
  }
  if (failed) RemoveFinished();
}

}  // namespace trivium
