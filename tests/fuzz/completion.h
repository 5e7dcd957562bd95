#ifndef TRIVIUM_TESTS_FUZZ_COMPLETION_H_
#define TRIVIUM_TESTS_FUZZ_COMPLETION_H_

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/grammar/automaton.h"
#include "model/grammar/parse_states.h"

namespace trivium {

// Finds the fewest bytes that complete a text. It searches nothing: the least
// bytes from each position of a rule to the rule's end are known beforehand,
// and a state's callers tell what comes after.
class Completion {
 public:
  // The automaton outlives this.
  explicit Completion(const Automaton* automaton);

  // Returns the bytes from a state of `states`, which are the automaton's, to
  // the end of the text. Nothing but "" completes a complete text.
  std::string After(ParseStates::Id from, ParseStates* states);

 private:
  struct Call {  // of an item that goes on when the called rule ends
    Position target;
    ParseStates::Id origin;
  };
  using Calls = std::map<RuleId, std::vector<Call>>;

  // A position of a counted graph at the same node, before any edge.
  Position NodeOf(Position at) const;
  // Least bytes from a position to the end of its rule, and of a rule. The
  // bound of a graph is left to the states, which have ways to an end alone.
  uint64_t ToEnd(Position at) const;
  uint64_t OfRule(RuleId rule) const;
  void FindPositions();
  // Least bytes from a state to the end of the text.
  uint64_t Left(ParseStates::Id state, const ParseStates& states);
  // Least bytes from the end of a rule that began in the state `origin`.
  uint64_t LeftAfter(RuleId rule, ParseStates::Id origin,
                     const ParseStates& states);
  const Calls& CallsOf(ParseStates::Id state, const ParseStates& states);

  const Automaton& automaton_;
  // Those that have edges of their own, and the nodes of graphs.
  std::vector<Position> positions_;
  std::unordered_map<Position, uint64_t> to_end_;
  // Of the states of one After.
  std::unordered_map<ParseStates::Id, Calls> calls_;
  std::map<std::pair<RuleId, ParseStates::Id>, uint64_t> left_after_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_FUZZ_COMPLETION_H_
