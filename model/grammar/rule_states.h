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
struct RuleNfa {
  struct State {
    std::vector<Automaton::ByteEdge> bytes;
    std::vector<Automaton::CallEdge> calls;
    std::vector<uint32_t> empty;  // targets of edges that read nothing
  };
  std::vector<State> states;
};

// The automaton of one rule without empty edges. State 0 is the start.
struct RuleStates {
  struct State {
    std::vector<Automaton::ByteEdge> bytes;  // by byte; targets are states
    std::vector<Automaton::CallEdge> calls;
    bool end = false;
  };
  std::vector<State> states;
};

// Removes empty edges. The result is deterministic unless that would need many
// more states than the NFA has. Returns false if `work` does not suffice.
bool RemoveEmptyEdges(const RuleNfa& nfa, WorkBudget* work, RuleStates* result);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_RULE_STATES_H_
