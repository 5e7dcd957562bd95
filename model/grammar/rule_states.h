#ifndef TRIVIUM_MODEL_GRAMMAR_RULE_STATES_H_
#define TRIVIUM_MODEL_GRAMMAR_RULE_STATES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/grammar/automaton.h"
#include "model/grammar/grammar.h"
#include "model/grammar/work_budget.h"

namespace trivium {

// The nondeterministic automaton of one rule (Thompson's construction). State 0
// is the start, state 1 the end.
class RuleNfa {
 public:
  struct State {
    std::vector<Automaton::ByteEdge> bytes;
    std::vector<Automaton::CallEdge> calls;
    std::vector<uint32_t> empty;  // targets of edges that read nothing
  };

  // Leaves the states 0 and 1. Memory is kept for the rule that follows.
  void Clear() {
    size_ = 0;
    AddState();
    AddState();
  }
  uint32_t AddState() {
    if (size_ == states_.size()) {
      states_.emplace_back();
    } else {
      states_[size_].bytes.clear();
      states_[size_].calls.clear();
      states_[size_].empty.clear();
    }
    return static_cast<uint32_t>(size_++);
  }
  size_t size() const { return size_; }
  State& operator[](size_t i) { return states_[i]; }
  const State& operator[](size_t i) const { return states_[i]; }

 private:
  std::vector<State> states_;  // of which size_ are in use
  size_t size_ = 0;
};

// The automaton of one rule without empty edges. State 0 is the start. A
// state's edges are those from its first one to the next state's.
struct RuleStates {
  struct State {
    uint32_t first_byte, first_call;
    bool end = false;
  };
  std::vector<State> states;
  std::vector<Automaton::ByteEdge> bytes;  // by byte; targets are states
  std::vector<Automaton::CallEdge> calls;
};

// Removes empty edges. The result is deterministic unless that would need many
// more states than the NFA has. Returns false if `work` does not suffice.
bool RemoveEmptyEdges(const RuleNfa& nfa, WorkBudget* work, RuleStates* result);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_RULE_STATES_H_
