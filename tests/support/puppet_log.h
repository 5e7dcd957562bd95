#ifndef TRIVIUM_TESTS_SUPPORT_PUPPET_LOG_H_
#define TRIVIUM_TESTS_SUPPORT_PUPPET_LOG_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "model/engine.h"

namespace trivium {

// What a puppet engine noticed; outlives the engine, so that a test can look
// after the batcher has taken the engine with it. Thread-safe.
class PuppetLog {
 public:
  struct Step {
    std::vector<StepPlan::Encode> encode;
    int encode_work = 0;     // tokens x layers
    int decoder_rows = 0;    // tokens that decode work appends
    int projected_rows = 0;  // of these, whose logits were asked for
    int hypotheses = 0;      // of the plan
    int prefilling = 0;      // of these with more than one token
    int used_blocks = 0;     // after the step
  };

  void Add(Step step);
  // A breach of engine.h's contract by whoever uses the engine.
  void AddMisuse(std::string what);
  void SetLeaks(int count);

  std::vector<Step> steps() const;
  std::vector<std::string> misuses() const;
  // Sources and hypotheses that were never released; -1 while the engine
  // lives.
  int leaks() const;

 private:
  mutable Mutex mutex_;
  std::vector<Step> steps_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> misuses_ ABSL_GUARDED_BY(mutex_);
  int leaks_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_PUPPET_LOG_H_
