#include "tests/fuzz/completion.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace trivium {
namespace {

constexpr uint64_t kFar = uint64_t{1} << 40;

// The sum of two numbers of bytes; beyond kFar all are equal.
uint64_t Sum(uint64_t a, uint64_t b) { return std::min(kFar, a + b); }

}  // namespace

Completion::Completion(const Automaton* automaton) : automaton_(*automaton) {
  FindPositions();
  for (bool changed = true; changed;) {
    changed = false;
    // What is found last is mostly nearest to an end.
    for (auto at = positions_.rbegin(); at != positions_.rend(); ++at) {
      uint64_t least = automaton_.MayEnd(*at) ? 0 : kFar;
      for (const Automaton::ByteEdge& edge : automaton_.bytes(*at)) {
        least = std::min(least, Sum(1, ToEnd(edge.target)));
      }
      automaton_.ForEachCall(*at, [&](RuleId rule, Position target) {
        least = std::min(least, Sum(OfRule(rule), ToEnd(target)));
      });
      uint64_t& known = to_end_[*at];
      changed = changed || least != known;
      known = least;
    }
  }
}

void Completion::FindPositions() {
  std::unordered_set<RuleId> rules = {automaton_.root()};
  std::vector<RuleId> waiting = {automaton_.root()};
  const auto find_rule = [&](RuleId rule) {
    if (rules.insert(rule).second) waiting.push_back(rule);
  };
  while (!waiting.empty()) {
    const Automaton::Rule& rule = automaton_.rule(waiting.back());
    waiting.pop_back();
    const bool is_graph = rule.graph != Automaton::kNoGraph;
    if (rule.counted && !is_graph) {
      find_rule(rule.body);
      continue;
    }
    size_t next = positions_.size();
    const auto find = [&](Position at) {
      if (to_end_.emplace(at, kFar).second) positions_.push_back(at);
    };
    find(rule.start);
    for (; next < positions_.size(); ++next) {
      const Position at = positions_[next];
      for (const auto& edge : automaton_.bytes(at)) find(edge.target);
      automaton_.ForEachCall(at, [&](RuleId called, Position target) {
        find_rule(called);
        find(is_graph ? NodeOf(target) : target);
      });
    }
  }
}

uint64_t Completion::OfRule(RuleId id) const {
  const Automaton::Rule& rule = automaton_.rule(id);
  return rule.nullable ? 0 : ToEnd(rule.start);
}

Position Completion::NodeOf(Position at) const {
  const Position start = automaton_.rule(automaton_.RuleOf(at)).start;
  const Position nodes = automaton_.CountAt(start).next - start;
  return start + (at - start) % nodes;
}

uint64_t Completion::ToEnd(Position at) const {
  if (!automaton_.IsCounted(at)) return to_end_.at(at);
  if (automaton_.rule(automaton_.RuleOf(at)).graph != Automaton::kNoGraph) {
    return to_end_.at(NodeOf(at));
  }
  if (automaton_.MayEnd(at)) return 0;
  const uint64_t bodies = automaton_.CountAt(at).may_end - at;
  const uint64_t body = OfRule(automaton_.rule(automaton_.RuleOf(at)).body);
  return std::min(kFar, bodies * body);
}

const Completion::Calls& Completion::CallsOf(ParseStates::Id state,
                                             const ParseStates& states) {
  const auto [found, added] = calls_.try_emplace(state);
  if (!added) return found->second;
  const auto kernel = states.KernelItems(state);
  std::vector<ParseStates::Item> items(kernel.begin(), kernel.end());
  const auto add = [&](ParseStates::Item item) {
    if (std::find(items.begin(), items.end(), item) == items.end()) {
      items.push_back(item);
    }
  };
  for (size_t i = 0; i < items.size(); ++i) {
    const ParseStates::Item item = items[i];
    automaton_.ForEachCall(item.at, [&](RuleId rule, Position target) {
      found->second[rule].push_back({target, item.origin});
      const Automaton::Rule& called = automaton_.rule(rule);
      add({called.start, state});
      if (called.nullable && !automaton_.IsCounted(target)) {
        add({target, item.origin});
      }
    });
  }
  return found->second;
}

uint64_t Completion::LeftAfter(RuleId rule, ParseStates::Id origin,
                               const ParseStates& states) {
  if (origin == ParseStates::kDead) return 0;
  // A rule that calls itself first is far while it is looked at.
  const auto [known, added] = left_after_.try_emplace({rule, origin}, kFar);
  if (!added) return known->second;
  uint64_t least = kFar;
  const Calls& calls = CallsOf(origin, states);
  if (const auto found = calls.find(rule); found != calls.end()) {
    for (const Call& call : found->second) {
      least = std::min(least, Sum(ToEnd(call.target),
                                  LeftAfter(automaton_.RuleOf(call.target),
                                            call.origin, states)));
    }
  }
  left_after_[{rule, origin}] = least;
  return least;
}

uint64_t Completion::Left(ParseStates::Id state, const ParseStates& states) {
  if (states.IsComplete(state)) return 0;
  uint64_t least = kFar;
  for (const ParseStates::Item& item : states.KernelItems(state)) {
    least = std::min(
        least, Sum(ToEnd(item.at),
                   LeftAfter(automaton_.RuleOf(item.at), item.origin, states)));
  }
  return least;
}

std::string Completion::After(ParseStates::Id from, ParseStates* states) {
  calls_.clear();
  left_after_.clear();
  std::string bytes;
  for (ParseStates::Id at = from; !states->IsComplete(at);) {
    const auto next = states->NextBytes(at);
    std::optional<std::pair<uint64_t, int>> best;  // bytes left, byte
    const auto try_byte = [&](int byte) {
      if (!next[static_cast<size_t>(byte)]) return;
      const auto reached = states->Step(at, static_cast<uint8_t>(byte));
      if (reached == ParseStates::kDead) return;
      const uint64_t left = Left(reached, *states);
      if (!best || left < best->first) best = {left, byte};
    };
    const uint64_t left = Left(at, *states);
    for (const char byte : {'"', '}', ']'}) try_byte(byte);
    for (int byte = 0; byte < 256 && !(best && best->first < left); ++byte) {
      try_byte(byte);
    }
    if (!best) break;
    bytes.push_back(static_cast<char>(best->second));
    at = states->Step(at, static_cast<uint8_t>(best->second));
  }
  return bytes;
}

}  // namespace trivium
