#ifndef TRIVIUM_SERVER_BATCHING_REREADING_H_
#define TRIVIUM_SERVER_BATCHING_REREADING_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/engine.h"

namespace trivium {

// Restores the hypotheses of a suspended search in the engine, by reading their
// tokens again. A common beginning is read once: the hypotheses form a tree,
// whose branches fork where they differ. Not thread-safe; call Finish or Clear
// before destruction.
//
//   found = rereading.Begin(engine, source, histories, salt);
//   while (!rereading.done()) {
//     rereading.Plan(&spare_rows, &plan); the engine steps;
//     rereading.Apply(engine);
//   }
//   ids = rereading.Finish(engine);   // [histories]
class Rereading {
 public:
  using Histories = std::vector<std::vector<int32_t>>;

  // `histories`: the tokens that each hypothesis had read; all of one length,
  // and with the same first token, the prefix's. Returns how many tokens the
  // engine had cached.
  int Begin(Engine* engine, SourceId source, Histories histories,
            std::string_view salt);

  bool done() const;
  // Least number of rows in this iteration: one for each unfinished branch.
  int MinRows() const;
  // Adds MinRows() rows, and further ones from `spare_rows`.
  void Plan(int* spare_rows, StepPlan* plan);
  void Apply(Engine* engine);

  // Hands the hypotheses over, in the order of the histories.
  std::vector<HypothesisId> Finish(Engine* engine);
  void Clear(Engine* engine);

 private:
  // Histories that are equal as far as they have been read.
  struct Branch {
    HypothesisId id;
    std::vector<int> members;  // ascending, not empty
    int until = 0;             // length of their common beginning
    int read = 0;
    int planned = 0;
  };

  int CommonLength(const std::vector<int>& members) const;
  // Splits the branch where its members differ.
  void Split(size_t branch, Engine* engine);

  Histories histories_;
  std::vector<Branch> branches_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REREADING_H_
