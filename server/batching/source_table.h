#ifndef TRIVIUM_SERVER_BATCHING_SOURCE_TABLE_H_
#define TRIVIUM_SERVER_BATCHING_SOURCE_TABLE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "model/engine.h"
#include "server/batching/queued_request.h"

namespace trivium {

// The sources of one worker's running requests of one model. Equal sources are
// encoded once, and held while any request reads them. The table also
// distributes an iteration's encoder work. A source has the priority of the
// most urgent request that ever read it. Not thread-safe.
//
// A slot is the table's handle of a source, reused after the last reader's
// Release; id(slot) is the engine's handle.
//
//   slot = table.Acquire(request, &shared);
//   table.Open(slot);               // now the engine knows the source
//   table.PlanEncode({interactive, background}, &plan.encode);
//   ... ReadyAfterPlan(slot): decode work of the same plan may read it
//   engine.Step(plan, ...);
//   table.CommitPlan();             // ready(slot) may have become true
//   table.Release(slot);
class SourceTable {
 public:
  explicit SourceTable(Engine* engine);

  // True if the request would share a source of the table.
  bool Has(const QueuedRequest& request) const;
  // Adds a reader of the request's source and returns the slot. Sets `shared`
  // if the source was in the table already.
  int Acquire(const QueuedRequest& request, bool* shared);
  // Gives the source to the engine, unless that was done before. Returns the
  // engine's error.
  absl::Status Open(int slot);
  // Removes a reader. Returns the engine's handle of the source if this was its
  // last reader, else kNoSource.
  SourceId Release(int slot);

  // Encoder work for each priority, in tokens through all layers.
  using Budgets = std::array<int, kPriorities>;
  // Adds encoder work to the plan, within the budgets. A long source may
  // advance by a few of its layers. For each priority:
  // - Half of the budget goes to the oldest sources, so that short ones do not
  //   overtake a long one for ever. The oldest gets at least one layer, unless
  //   the budget is 0.
  // - The rest, and at least EncodeBudget::kLeastTokens, goes to the sources
  //   with the least work left, so that a short source does not wait for a long
  //   one.
  void PlanEncode(const Budgets& budgets, std::vector<StepPlan::Encode>* plan);
  // Work in the plan under way, in tokens x layers.
  int64_t planned_work(Priority priority) const;
  int64_t planned_work() const {
    return planned_work(Priority::kInteractive) +
           planned_work(Priority::kBackground);
  }
  // The engine did the planned work.
  void CommitPlan();

  SourceId id(int slot) const { return sources_[slot].id; }
  int tokens(int slot) const {
    return static_cast<int>(sources_[slot].input.ids.size());
  }
  bool ready(int slot) const { return sources_[slot].layers_left == 0; }
  bool ReadyAfterPlan(int slot) const {
    return sources_[slot].layers_left == sources_[slot].planned;
  }
  int readers(int slot) const { return sources_[slot].readers; }
  bool planned(int slot) const { return sources_[slot].planned > 0; }

  // KV blocks that the sources that are not open yet will use.
  int64_t unopened_blocks() const { return unopened_blocks_; }
  // Encoder work left for this priority and more urgent ones, in tokens through
  // all layers, rounded up.
  int64_t pending_tokens(Priority priority) const;

 private:
  struct Source {
    EncoderInput input;
    std::string salt;
    SourceOptions options;
    Priority priority = Priority::kBackground;
    uint64_t key = 0;
    int64_t blocks = 0;
    int readers = 0;  // 0: the slot is free
    SourceId id = kNoSource;
    int layers_left = 0;
    int planned = 0;        // layers in the plan under way
    int64_t work() const {  // tokens x layers
      return static_cast<int64_t>(input.ids.size()) * layers_left;
    }
  };

  // Returns the slot of a source that serves the request, or -1.
  int Find(const QueuedRequest& request) const;
  void PlanEncodeOf(Priority priority, int budget_tokens);
  int64_t& pending_work(const Source& source) {
    return pending_work_[static_cast<int>(source.priority)];
  }

  Engine* const engine_;
  const int layers_;
  std::vector<Source> sources_;
  std::vector<int> free_slots_;
  absl::flat_hash_map<uint64_t, std::vector<int>> slots_by_key_;
  std::vector<int> encoding_;  // slots with work left, oldest first
  std::vector<int> shortest_first_;
  int64_t unopened_blocks_ = 0;
  std::array<int64_t, kPriorities> pending_work_ = {};  // tokens x layers
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SOURCE_TABLE_H_
