#ifndef TRIVIUM_SERVER_BATCHING_REREADING_H_
#define TRIVIUM_SERVER_BATCHING_REREADING_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/engine.h"

namespace trivium {

// Lets the engine read once more what the hypotheses of a suspended search had
// read, so that it has them as before. What several begin with is read once:
// the hypotheses are a tree, whose branches fork where they part. Not
// thread-safe; Take or Clear before destruction.
//
//   found = rereading.Begin(engine, source, histories, salt);
//   while (!rereading.done()) {
//     rereading.Plan(&spare_rows, &plan); the engine steps;
//     rereading.Apply(engine);
//   }
//   ids = rereading.Take(engine);   // [histories]
class Rereading {
 public:
  using Histories = std::vector<std::vector<int32_t>>;

  // `histories`: what each has read; all of one length, and with the same first
  // token, the prefix's. Returns how many tokens the engine had kept.
  int Begin(Engine* engine, SourceId source, Histories histories,
            std::string_view salt);

  bool done() const;
  // Rows that it takes at least of this iteration: one a branch.
  int MinRows() const;
  // Adds these, and further ones out of `spare_rows`.
  void Plan(int* spare_rows, StepPlan* plan);
  void Apply(Engine* engine);

  // Hands the hypotheses over, in the order of the histories.
  std::vector<HypothesisId> Take(Engine* engine);
  void Clear(Engine* engine);

 private:
  // Histories that are alike as far as they have been read.
  struct Branch {
    HypothesisId id;
    std::vector<int> members;  // ascending, not empty
    int until = 0;             // they are alike so far
    int read = 0;
    int planned = 0;
  };

  int CommonLength(const std::vector<int>& members) const;
  // Makes branches of the members that part here.
  void Split(size_t branch, Engine* engine);

  Histories histories_;
  std::vector<Branch> branches_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REREADING_H_
