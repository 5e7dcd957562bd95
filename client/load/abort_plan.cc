#include "client/load/abort_plan.h"

#include "client/load/workload.h"

namespace trivium {
namespace {

// Purposes of draws, different from those in workload.cc.
enum AbortPurpose : uint64_t { kWhether = 100, kWhen };

}  // namespace

absl::Duration AbortPlan::After(int64_t number, CallKind kind) const {
  // Used until a call has ended by itself, which takes long if the share is 1.
  constexpr absl::Duration kFirstGuess = absl::Milliseconds(100);
  if (Draw(seed_, number, kWhether) >= share_) return absl::InfiniteDuration();
  const auto known = typical_.find(kind);
  return (known == typical_.end() ? kFirstGuess : known->second) *
         Draw(seed_, number, kWhen);
}

void AbortPlan::Ended(CallKind kind, absl::Duration life) {
  constexpr int kMemory = 8;  // calls that the mean is over, roughly
  const auto [mean, first] = typical_.emplace(kind, life);
  if (!first) mean->second += (life - mean->second) / kMemory;
}

}  // namespace trivium
