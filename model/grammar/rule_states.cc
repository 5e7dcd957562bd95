// The subset construction: a state of the result is a set of the NFA's states.
// If it makes too many sets, every set is cut into single states, which keeps
// the strings and gives up determinism.
#include "model/grammar/rule_states.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <utility>

namespace trivium {
namespace {

using StateSet = std::vector<uint32_t>;  // sorted, without duplicates

class SubsetConstruction {
 public:
  // `most_steps` bounds this construction's part of the work.
  SubsetConstruction(const RuleNfa& nfa, size_t most_states, size_t most_steps,
                     bool merge, WorkBudget* work)
      : nfa_(nfa),
        most_states_(most_states),
        merge_(merge),
        steps_left_(most_steps),
        work_(work),
        seen_(nfa.states.size(), 0) {}

  // Returns false if there are more than most_states or the work runs out.
  bool Run(RuleStates* result) {
    IdOf({0});
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (sets_.size() > most_states_) return false;
      result->states.emplace_back();
      if (!AddEdges(StateSet(*sets_[i]), &result->states.back())) return false;
    }
    return true;
  }

 private:
  bool Spend(size_t steps) {
    if (steps > steps_left_) return false;
    steps_left_ -= steps;
    return work_->Take(steps);
  }

  uint32_t IdOf(StateSet set) {
    const auto [found, added] =
        ids_.try_emplace(std::move(set), static_cast<uint32_t>(sets_.size()));
    if (added) sets_.push_back(&found->first);
    return found->second;
  }

  // Returns all states that the set reaches without reading.
  StateSet Closure(StateSet set) {
    ++round_;
    for (const uint32_t state : set) seen_[state] = round_;
    for (size_t i = 0; i < set.size(); ++i) {
      for (const uint32_t next : nfa_.states[set[i]].empty) {
        if (std::exchange(seen_[next], round_) != round_) set.push_back(next);
      }
    }
    return set;
  }

  bool AddEdges(const StateSet& set, RuleStates::State* state) {
    std::vector<Automaton::ByteEdge> bytes;
    std::map<RuleId, StateSet> calls;
    size_t steps = 1;
    for (const uint32_t member : Closure(set)) {
      const RuleNfa::State& from = nfa_.states[member];
      state->end = state->end || member == 1;
      bytes.insert(bytes.end(), from.bytes.begin(), from.bytes.end());
      for (const Automaton::CallEdge& call : from.calls) {
        calls[call.rule].push_back(call.target);
      }
      steps += 1 + from.bytes.size() + from.calls.size() + from.empty.size();
    }
    if (!Spend(steps)) return false;
    for (auto& [rule, targets] : calls)
      AddCalls(rule, std::move(targets), state);
    if (!merge_) {
      std::sort(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) {
        return std::pair(a.low, a.target) < std::pair(b.low, b.target);
      });
      for (const Automaton::ByteEdge& edge : bytes) {
        state->bytes.push_back({edge.low, edge.high, IdOf({edge.target})});
      }
      return true;
    }
    return MergeBytes(bytes, state);
  }

  void AddCalls(RuleId rule, StateSet targets, RuleStates::State* state) {
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    if (merge_) {
      state->calls.push_back({rule, IdOf(std::move(targets))});
      return;
    }
    for (const uint32_t target : targets) {
      state->calls.push_back({rule, IdOf({target})});
    }
  }

  bool MergeBytes(const std::vector<Automaton::ByteEdge>& bytes,
                  RuleStates::State* state) {
    std::bitset<257> begins;
    for (const Automaton::ByteEdge& edge : bytes) {
      begins.set(edge.low);
      begins.set(edge.high + 1);
    }
    for (int low = 0; low < 256;) {
      int end = low + 1;
      while (end < 256 && !begins[end]) ++end;
      StateSet targets;
      for (const Automaton::ByteEdge& edge : bytes) {
        if (edge.low <= low && low <= edge.high) targets.push_back(edge.target);
      }
      if (!targets.empty()) {
        if (!Spend(1 + bytes.size() / 8)) return false;
        std::sort(targets.begin(), targets.end());
        targets.erase(std::unique(targets.begin(), targets.end()),
                      targets.end());
        const uint32_t target = IdOf(std::move(targets));
        const uint8_t high = static_cast<uint8_t>(end - 1);
        if (!state->bytes.empty() && state->bytes.back().target == target &&
            state->bytes.back().high + 1 == low) {
          state->bytes.back().high = high;
        } else {
          state->bytes.push_back({static_cast<uint8_t>(low), high, target});
        }
      }
      low = end;
    }
    return true;
  }

  const RuleNfa& nfa_;
  const size_t most_states_;
  const bool merge_;
  size_t steps_left_;
  WorkBudget* const work_;
  std::vector<uint32_t> seen_;  // [states] the last round that saw it
  uint32_t round_ = 0;
  std::map<StateSet, uint32_t> ids_;
  std::vector<const StateSet*> sets_;  // keys of ids_
};

}  // namespace

bool RemoveEmptyEdges(const RuleNfa& nfa, WorkBudget* work,
                      RuleStates* result) {
  // Determinism is worth a few times the states. The attempt may use a tenth of
  // the work that is left.
  const size_t most_states = 4 * nfa.states.size() + 256;
  if (SubsetConstruction(nfa, most_states, work->left() / 10, /*merge=*/true,
                         work)
          .Run(result)) {
    return true;
  }
  result->states.clear();
  return SubsetConstruction(nfa, nfa.states.size() + 1,
                            /*most_steps=*/~size_t{0}, /*merge=*/false, work)
      .Run(result);
}

}  // namespace trivium
