#ifndef TRIVIUM_SERVER_BATCHING_PLANNED_DECODES_H_
#define TRIVIUM_SERVER_BATCHING_PLANNED_DECODES_H_

#include <cassert>
#include <cstddef>
#include <span>

#include "model/engine.h"

namespace trivium {

// The entries that one sequence has in the `decode` list of the plan under way.
//
// A plan is filled by one sequence after the other and, where the KV cache is
// full, cut from its end. An index into it must not survive such a cut, so this
// range is the only place that keeps one, and TakeBack both removes the entries
// and empties the range.
//
//   decodes.Begin(plan); plan.decode.push_back(...)...; decodes.End(plan);
//   decodes.TakeBack(&plan);            // or the engine steps, then:
//   for (const StepResult::Row& row : decodes.Rows(result)) ...
//   decodes.Clear();                    // before the plan is cleared
class PlannedDecodes {
 public:
  // The entries added between Begin and End are this range.
  void Begin(const StepPlan& plan) {
    first_ = plan.decode.size();
    size_ = 0;
  }
  void End(const StepPlan& plan) { size_ = plan.decode.size() - first_; }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  std::span<StepPlan::Decode> Entries(StepPlan* plan) const {
    return RangeOf(std::span(plan->decode));
  }
  std::span<const StepPlan::Decode> Entries(const StepPlan& plan) const {
    return RangeOf(std::span(plan.decode));
  }
  // The engine's answers to the entries: [size()].
  std::span<const StepResult::Row> Rows(const StepResult& result) const {
    return RangeOf(std::span(result.rows));
  }

  // Forgets the entries of a plan that is done.
  void Clear() { size_ = 0; }
  // Removes the entries from the plan, whose last ones they must be.
  void TakeBack(StepPlan* plan) {
    if (empty()) return;
    assert(first_ + size_ == plan->decode.size());
    plan->decode.erase(plan->decode.begin() + static_cast<ptrdiff_t>(first_),
                       plan->decode.end());
    size_ = 0;
  }

 private:
  template <typename T>
  std::span<T> RangeOf(std::span<T> all) const {
    if (empty()) return {};
    return all.subspan(first_, size_);
  }

  size_t first_ = 0;  // means nothing while size_ is 0
  size_t size_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_PLANNED_DECODES_H_
