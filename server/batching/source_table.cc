// Invariants:
// - A source with readers is in sources_[slot], and its slot is under its key
//   in slots_by_key_. All other slots are in free_slots_.
// - encoding_ holds the slots with layers left, oldest first.
// - 0 <= planned <= layers_left. `planned` of a source with readers is 0 except
//   between PlanEncode and CommitPlan. A step that fails has no CommitPlan: the
//   batch answers all readers of the planned sources instead.
// - pending_work_ is the sum of tokens x layers_left for each priority.
// - unopened_blocks_ is the sum of the blocks of sources that the engine does
//   not know yet.
#include "server/batching/source_table.h"

#include <algorithm>

#include "base/status.h"
#include "server/batching/encode_budget.h"
#include "server/batching/source_sharing.h"

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
  const Priority priority = request.request.priority;
  if (*shared) {
    Source& source = sources_[slot];
    ++source.readers;
    if (priority < source.priority) {
      pending_work(source) -= source.work();
      source.priority = priority;
      pending_work(source) += source.work();
    }
    return slot;
  }
  if (free_slots_.empty()) {
    // Room for all slots, so that Release needs no memory.
    free_slots_.reserve(sources_.size() + 1);
    sources_.emplace_back();
    free_slots_.push_back(static_cast<int>(sources_.size()) - 1);
  }
  slot = free_slots_.back();
  Source& source = sources_[slot];
  source.input = request.request.source;
  source.salt = request.request.salt;
  source.options = SourceOptionsOf(request.request);
  source.priority = priority;
  source.key = request.source_key;
  source.blocks = request.cost.source_blocks;
  source.readers = 1;
  source.id = kNoSource;
  source.layers_left = layers_;
  source.planned = 0;
  encoding_.push_back(slot);
  try {
    const auto [entry, is_new] = slots_by_key_.try_emplace(source.key);
    try {
      entry->second.push_back(slot);
    } catch (...) {
      if (is_new) slots_by_key_.erase(entry);
      throw;
    }
  } catch (...) {
    encoding_.pop_back();
    throw;
  }
  free_slots_.pop_back();
  unopened_blocks_ += source.blocks;
  pending_work(source) += source.work();
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
  pending_work(source) -= source.work();
  free_slots_.push_back(slot);
  return source.id;
}

void SourceTable::PlanEncode(const Budgets& budgets,
                             std::vector<StepPlan::Encode>* plan) {
  for (int i = 0; i < kPriorities; ++i) {
    PlanEncodeOf(static_cast<Priority>(i), budgets[i]);
  }
  for (const int slot : encoding_) {
    const Source& source = sources_[slot];
    if (source.planned > 0) plan->push_back({source.id, source.planned});
  }
}

void SourceTable::PlanEncodeOf(Priority priority, int budget_tokens) {
  // Oldest first, until it is sorted below.
  shortest_first_.clear();
  for (const int slot : encoding_) {
    if (sources_[slot].priority == priority) shortest_first_.push_back(slot);
  }
  if (shortest_first_.empty() || budget_tokens <= 0) return;
  int64_t budget = static_cast<int64_t>(budget_tokens) * layers_;
  const auto plan_layers = [this, &budget](int slot, int layers) {
    sources_[slot].planned += layers;
    budget -= static_cast<int64_t>(layers) * tokens(slot);
  };
  const int64_t least = std::min<int64_t>(
      budget, static_cast<int64_t>(EncodeBudget::kLeastTokens) * layers_);
  int64_t for_oldest = budget / 2;
  const int oldest = shortest_first_.front();
  for (const int slot : shortest_first_) {
    int layers = static_cast<int>(std::min<int64_t>(
        for_oldest / tokens(slot), sources_[slot].layers_left));
    if (slot == oldest) layers = std::max(layers, 1);
    if (layers <= 0) break;
    plan_layers(slot, layers);
    for_oldest -= static_cast<int64_t>(layers) * tokens(slot);
  }
  budget = std::max(budget, least);
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
    plan_layers(slot, static_cast<int>(std::min<int64_t>(
                          affordable, source.layers_left - source.planned)));
  }
}

int64_t SourceTable::planned_work(Priority priority) const {
  int64_t work = 0;
  for (const int slot : encoding_) {
    if (sources_[slot].priority != priority) continue;
    work += static_cast<int64_t>(sources_[slot].planned) * tokens(slot);
  }
  return work;
}

void SourceTable::CommitPlan() {
  for (const int slot : encoding_) {
    Source& source = sources_[slot];
    pending_work(source) -= static_cast<int64_t>(source.planned) * tokens(slot);
    source.layers_left -= source.planned;
    source.planned = 0;
  }
  std::erase_if(encoding_, [this](int slot) { return ready(slot); });
}

int64_t SourceTable::pending_tokens(Priority priority) const {
  if (layers_ == 0) return 0;
  int64_t work = 0;
  for (int i = 0; i <= static_cast<int>(priority); ++i) {
    work += pending_work_[i];
  }
  return (work + layers_ - 1) / layers_;
}

}  // namespace trivium
