#include "server/batching/source_table.h"

#include <algorithm>

#include "base/status.h"
#include "server/batching/encode_budget.h"
#include "server/batching/source_sharing.h"

// - A source is here while it has readers: sources_[slot], and the slot under
//   its key in slots_by_key_. Other slots are in free_slots_.
// - encoding_ has the slots with layers left, oldest first.
// - 0 <= planned <= layers_left, and planned is 0 but between PlanEncode and
//   CommitPlan.
// - pending_work_ is the sum of tokens x layers_left, and unopened_blocks_ that
//   of the blocks of sources that the engine does not know yet.

namespace trivium {

SourceTable::SourceTable(Engine* engine)
    : engine_(engine), layers_(engine->limits().encoder_layers) {}

bool SourceTable::Has(const QueuedRequest& request) const {
  return Find(request) >= 0;
}

int SourceTable::Find(const QueuedRequest& request) const {
  const auto found = slots_by_key_.find(request.source_key);
  if (found == slots_by_key_.end()) return -1;
  const SourceOptions want = SourceOptionsOf(request.request);
  for (const int slot : found->second) {
    if (sources_[slot].input == request.request.source &&
        sources_[slot].salt == request.request.salt &&
        Covers(sources_[slot].options, want)) {
      return slot;
    }
  }
  return -1;
}

int SourceTable::Acquire(const QueuedRequest& request, bool* shared) {
  int slot = Find(request);
  *shared = slot >= 0;
  if (*shared) {
    ++sources_[slot].readers;
    return slot;
  }
  if (free_slots_.empty()) {
    slot = static_cast<int>(sources_.size());
    sources_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Source& source = sources_[slot];
  source.input = request.request.source;
  source.salt = request.request.salt;
  source.options = SourceOptionsOf(request.request);
  source.key = request.source_key;
  source.blocks = request.cost.source_blocks;
  source.readers = 1;
  source.id = kNoSource;
  source.layers_left = layers_;
  source.planned = 0;
  slots_by_key_[source.key].push_back(slot);
  encoding_.push_back(slot);
  unopened_blocks_ += source.blocks;
  pending_work_ += source.work();
  return slot;
}

absl::Status SourceTable::Open(int slot) {
  Source& source = sources_[slot];
  if (source.id != kNoSource) return absl::OkStatus();
  TRIVIUM_ASSIGN_OR_RETURN(source.id,
                           engine_->AddSource(source.input, source.options));
  unopened_blocks_ -= source.blocks;
  return absl::OkStatus();
}

SourceId SourceTable::Release(int slot) {
  Source& source = sources_[slot];
  if (--source.readers > 0) return kNoSource;
  if (source.id == kNoSource) {
    unopened_blocks_ -= source.blocks;
  } else {
    engine_->ReleaseSource(source.id);
  }
  const auto found = slots_by_key_.find(source.key);
  std::erase(found->second, slot);
  if (found->second.empty()) slots_by_key_.erase(found);
  if (source.layers_left > 0) std::erase(encoding_, slot);
  pending_work_ -= source.work();
  free_slots_.push_back(slot);
  return source.id;
}

void SourceTable::PlanEncode(int budget_tokens,
                             std::vector<StepPlan::Encode>* plan) {
  if (encoding_.empty()) return;
  int64_t budget = static_cast<int64_t>(budget_tokens) * layers_;
  const auto take = [this, &budget](int slot, int layers) {
    sources_[slot].planned += layers;
    budget -= static_cast<int64_t>(layers) * tokens(slot);
  };
  const int64_t least = std::min<int64_t>(
      budget, static_cast<int64_t>(EncodeBudget::kLeastTokens) * layers_);
  int64_t for_oldest = budget / 2;
  for (const int slot : encoding_) {
    int layers = static_cast<int>(std::min<int64_t>(
        for_oldest / tokens(slot), sources_[slot].layers_left));
    if (slot == encoding_.front()) layers = std::max(layers, 1);
    if (layers <= 0) break;
    take(slot, layers);
    for_oldest -= static_cast<int64_t>(layers) * tokens(slot);
  }
  budget = std::max(budget, least);
  shortest_first_ = encoding_;
  std::sort(shortest_first_.begin(), shortest_first_.end(),
            [this](int a, int b) {
              const int64_t work_a = sources_[a].work();
              const int64_t work_b = sources_[b].work();
              return work_a != work_b ? work_a < work_b : a < b;
            });
  for (const int slot : shortest_first_) {
    if (budget <= 0) break;
    const Source& source = sources_[slot];
    const int64_t affordable = budget / tokens(slot);
    take(slot, static_cast<int>(std::min<int64_t>(
                   affordable, source.layers_left - source.planned)));
  }
  for (const int slot : encoding_) {
    const Source& source = sources_[slot];
    if (source.planned > 0) plan->push_back({source.id, source.planned});
  }
}

int64_t SourceTable::planned_work() const {
  int64_t work = 0;
  for (const int slot : encoding_) {
    work += static_cast<int64_t>(sources_[slot].planned) * tokens(slot);
  }
  return work;
}

void SourceTable::CommitPlan() {
  for (const int slot : encoding_) {
    Source& source = sources_[slot];
    pending_work_ -= static_cast<int64_t>(source.planned) * tokens(slot);
    source.layers_left -= source.planned;
    source.planned = 0;
  }
  std::erase_if(encoding_, [this](int slot) { return ready(slot); });
}

int64_t SourceTable::pending_tokens() const {
  if (layers_ == 0) return 0;
  return (pending_work_ + layers_ - 1) / layers_;
}

}  // namespace trivium
