// The subset construction: a state of the result is a set of the NFA's states.
// If it makes too many sets, every set is cut into single states, which keeps
// the strings and gives up determinism.
#include "model/grammar/rule_states.h"

#include <algorithm>
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
        seen_(nfa.size(), 0),
        id_of_single_(nfa.size(), kNone) {}

  // Returns false if there are more than most_states or the work runs out.
  bool Run(RuleStates* result) {
    sets_.reserve(nfa_.size());
    result->states.reserve(nfa_.size());
    result->bytes.reserve(nfa_.size());
    IdOf(0);
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (sets_.size() > most_states_) return false;
      result->states.push_back({static_cast<uint32_t>(result->bytes.size()),
                                static_cast<uint32_t>(result->calls.size())});
      const Set set = sets_[i];
      if (set.several == nullptr && IsSimple(nfa_[set.single])) {
        if (!AddSimple(set.single, result)) return false;
      } else if (!AddEdges(set.several == nullptr ? StateSet{set.single}
                                                  : *set.several,
                           result)) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  bool Spend(size_t steps) {
    if (steps > steps_left_) return false;
    steps_left_ -= steps;
    return work_->Take(steps);
  }

  // Most states of most rules: a letter of a name.
  static bool IsSimple(const RuleNfa::State& state) {
    return state.empty.empty() && state.bytes.size() <= 1 &&
           state.calls.size() <= 1;
  }

  // Does what AddEdges does, at the same price.
  bool AddSimple(uint32_t member, RuleStates* result) {
    const RuleNfa::State& from = nfa_[member];
    result->states.back().end = member == 1;
    if (!Spend(2 + from.bytes.size() + from.calls.size())) return false;
    for (const Automaton::CallEdge& call : from.calls) {
      result->calls.push_back({call.rule, IdOf(call.target)});
    }
    for (const Automaton::ByteEdge& edge : from.bytes) {
      if (merge_ && !Spend(1)) return false;
      result->bytes.push_back({edge.low, edge.high, IdOf(edge.target)});
    }
    return true;
  }

  uint32_t IdOf(uint32_t single) {
    uint32_t& id = id_of_single_[single];
    if (id == kNone) {
      id = static_cast<uint32_t>(sets_.size());
      sets_.push_back({single, nullptr});
    }
    return id;
  }

  uint32_t IdOf(StateSet set) {
    if (set.size() == 1) return IdOf(set[0]);
    const auto [found, added] =
        ids_.try_emplace(std::move(set), static_cast<uint32_t>(sets_.size()));
    if (added) sets_.push_back({kNone, &found->first});
    return found->second;
  }

  // Returns all states that the set reaches without reading.
  StateSet Closure(StateSet set) {
    ++round_;
    for (const uint32_t state : set) seen_[state] = round_;
    for (size_t i = 0; i < set.size(); ++i) {
      for (const uint32_t next : nfa_[set[i]].empty) {
        if (std::exchange(seen_[next], round_) != round_) set.push_back(next);
      }
    }
    return set;
  }

  bool AddEdges(const StateSet& set, RuleStates* result) {
    std::vector<Automaton::ByteEdge> bytes;
    std::map<RuleId, StateSet> calls;
    size_t steps = 1;
    bool end = false;
    for (const uint32_t member : Closure(set)) {
      const RuleNfa::State& from = nfa_[member];
      end = end || member == 1;
      bytes.insert(bytes.end(), from.bytes.begin(), from.bytes.end());
      for (const Automaton::CallEdge& call : from.calls) {
        calls[call.rule].push_back(call.target);
      }
      steps += 1 + from.bytes.size() + from.calls.size() + from.empty.size();
    }
    if (!Spend(steps)) return false;
    result->states.back().end = end;
    for (auto& [rule, targets] : calls) {
      AddCalls(rule, std::move(targets), result);
    }
    if (!merge_) {
      std::sort(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) {
        return std::pair(a.low, a.target) < std::pair(b.low, b.target);
      });
      for (const Automaton::ByteEdge& edge : bytes) {
        result->bytes.push_back({edge.low, edge.high, IdOf(edge.target)});
      }
      return true;
    }
    return MergeBytes(bytes, result);
  }

  void AddCalls(RuleId rule, StateSet targets, RuleStates* result) {
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    if (merge_) {
      result->calls.push_back({rule, IdOf(std::move(targets))});
      return;
    }
    for (const uint32_t target : targets) {
      result->calls.push_back({rule, IdOf(target)});
    }
  }

  bool MergeBytes(const std::vector<Automaton::ByteEdge>& bytes,
                  RuleStates* result) {
    std::vector<int> begins;
    for (const Automaton::ByteEdge& edge : bytes) {
      begins.push_back(edge.low);
      begins.push_back(edge.high + 1);
    }
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      const int low = begins[i], end = begins[i + 1];
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
        if (result->bytes.size() > result->states.back().first_byte &&
            result->bytes.back().target == target &&
            result->bytes.back().high + 1 == low) {
          result->bytes.back().high = high;
        } else {
          result->bytes.push_back({static_cast<uint8_t>(low), high, target});
        }
      }
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
  // A set of one state, or a key of ids_.
  struct Set {
    uint32_t single;
    const StateSet* several;
  };
  std::vector<Set> sets_;
  std::map<StateSet, uint32_t> ids_;    // of sets of several states
  std::vector<uint32_t> id_of_single_;  // [states]
};

}  // namespace

bool RemoveEmptyEdges(const RuleNfa& nfa, WorkBudget* work,
                      RuleStates* result) {
  // Determinism is worth a few times the states. The attempt may use a tenth of
  // the work that is left.
  const size_t most_states = 4 * nfa.size() + 256;
  if (SubsetConstruction(nfa, most_states, work->left() / 10, /*merge=*/true,
                         work)
          .Run(result)) {
    return true;
  }
  *result = RuleStates();
  return SubsetConstruction(nfa, nfa.size() + 1,
                            /*most_steps=*/~size_t{0}, /*merge=*/false, work)
      .Run(result);
}

}  // namespace trivium
