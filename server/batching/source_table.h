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

// The sources that one worker's running requests of one model read: equal ones
// are encoded once and kept while any request reads them. Also shares out the
// encoder's work of an iteration: a source has the priority of the most urgent
// request that has read it. Not thread-safe.
//
// A slot is the table's handle of a source, reused after its last reader's
// release; id(slot) is the engine's.
//
//   slot = table.Acquire(request, &shared);
//   table.Open(slot);               // now the engine knows it
//   table.PlanEncode({interactive, batch}, &plan.encode);
//   ... ReadyAfterPlan(slot): decode work of the same plan may read it
//   engine.Step(plan, ...);
//   table.CommitPlan();             // ready(slot) may have become true
//   table.Release(slot);
class SourceTable {
 public:
  explicit SourceTable(Engine* engine);

  // Whether a request for this source would share one that is here.
  bool Has(const QueuedRequest& request) const;
  // One more reader of the request's source, whose slot it returns. `shared`:
  // it was here already.
  int Acquire(const QueuedRequest& request, bool* shared);
  // Hands the source to the engine if that has not happened yet; the engine's
  // error otherwise.
  absl::Status Open(int slot);
  // Returns the source that the engine gave up with its last reader, or
  // kNoSource.
  SourceId Release(int slot);

  // Tokens through all layers, for the sources of each priority.
  using Budgets = std::array<int, kPriorities>;
  // Adds encoder work of at most so many tokens, or the same in part: a long
  // source goes through fewer layers. Of each budget half goes to the oldest
  // sources, to the first at least one layer of any budget but 0, so that short
  // ones do not pass a long one for ever; the rest, and in any case
  // EncodeBudget::kLeastTokens of the budget, to those that need least, so that
  // a short source does not wait for a long one.
  void PlanEncode(const Budgets& budgets, std::vector<StepPlan::Encode>* plan);
  // In tokens x layers.
  int64_t planned_work(Priority priority) const;
  int64_t planned_work() const {
    return planned_work(Priority::kInteractive) +
           planned_work(Priority::kBackground);
  }
  // The planned work was done.
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

  // KV blocks that the sources here will take when they are opened.
  int64_t unopened_blocks() const { return unopened_blocks_; }
  // Encoder work to be done for this priority and those before it, in tokens
  // through all layers, rounded up.
  int64_t pending_tokens(Priority priority) const;

 private:
  struct Source {
    EncoderInput input;
    std::string salt;
    SourceOptions options;
    Priority priority = Priority::kBackground;
    uint64_t key = 0;
    int64_t blocks = 0;
    int readers = 0;  // 0: a free slot
    SourceId id = kNoSource;
    int layers_left = 0;
    int planned = 0;        // layers in the plan under way
    int64_t work() const {  // tokens x layers
      return static_cast<int64_t>(input.ids.size()) * layers_left;
    }
  };

  // The slot of a source that serves the request; -1: none.
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
