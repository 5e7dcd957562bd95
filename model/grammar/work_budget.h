#ifndef TRIVIUM_MODEL_GRAMMAR_WORK_BUDGET_H_
#define TRIVIUM_MODEL_GRAMMAR_WORK_BUDGET_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "base/alive_check.h"
#include "fmt/format.h"

namespace trivium {

// The steps that a compilation may still take. A step is a state, an edge or a
// comparison: some tens of nanoseconds. Steps are counted, not timed, so the
// same text is always compiled or always refused.
class WorkBudget {
 public:
  explicit WorkBudget(size_t steps, AliveCheck check_alive = {})
      : steps_(steps), left_(steps), check_alive_(std::move(check_alive)) {}

  // Takes steps that are about to be made. Returns false, now and from then on,
  // if there are not enough of them, or nobody waits for the result.
  bool Take(size_t steps) {
    if (!status_.ok()) return false;
    if (steps > left_) {
      status_ = absl::ResourceExhaustedError(
          fmt::format("compiling takes more than {} steps of work; give a "
                      "smaller or simpler constraint",
                      steps_));
      return false;
    }
    left_ -= steps;
    unchecked_ += steps;
    if (unchecked_ >= kStepsPerCheck) {
      unchecked_ = 0;
      status_ = check_alive_();
    }
    return status_.ok();
  }

  size_t left() const { return left_; }
  // Why Take returned false.
  const absl::Status& status() const { return status_; }

 private:
  static constexpr size_t kStepsPerCheck = 20'000;

  const size_t steps_;
  size_t left_;
  size_t unchecked_ = 0;
  const AliveCheck check_alive_;
  absl::Status status_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_WORK_BUDGET_H_
