#ifndef TRIVIUM_MODEL_GRAMMAR_CHAR_NFA_H_
#define TRIVIUM_MODEL_GRAMMAR_CHAR_NFA_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "model/grammar/code_points.h"
#include "model/grammar/regex_syntax.h"
#include "model/grammar/work_budget.h"

namespace trivium {

// Thompson's automaton of an expression. State 0 is the start, 1 the end.
class CharNfa {
 public:
  struct State {
    std::vector<std::pair<const CodePointSet*, uint32_t>> edges;
    std::vector<uint32_t> empty;
    // Edges that read nothing, where an assertion holds.
    std::vector<std::pair<const RegexNode*, uint32_t>> asserted;
  };

  // `expression` outlives this.
  CharNfa(const RegexNode& expression, WorkBudget* work);

  const std::vector<State>& states() const { return states_; }
  absl::Status status() const {
    return too_large_ ? TooManyStates() : work_->status();
  }
  static absl::Status TooManyStates();

 private:
  uint32_t NewState();
  void Connect(const RegexNode& node, uint32_t from, uint32_t to);
  uint32_t After(const RegexNode& node, uint32_t from);

  WorkBudget* const work_;
  std::vector<State> states_;
  bool too_large_ = false;
  bool failed_ = false;  // too large, or out of work
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_CHAR_NFA_H_
