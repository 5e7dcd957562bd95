// Earley's algorithm over a recursive transition network. A byte moves the
// items that can read it. An item whose rule may end there lets the items go on
// that called the rule, which are in the state where the rule began. What the
// remaining items call is predicted when the state is used. Rules that match
// the empty string are stepped over at once (Aycock and Horspool, "Practical
// Earley Parsing", 2002).
//
// The state where a rule began is a state like any other, named by number, so
// the stack of calls is a chain of states that are shared by all that follow.
#include "model/grammar/parse_states.h"

#include <algorithm>
#include <tuple>

namespace trivium {
namespace {

uint64_t MixHash(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 32);
}

}  // namespace

ParseStates::ParseStates(const Automaton* automaton, size_t most_bytes)
    : automaton_(*automaton),
      most_bytes_(most_bytes),
      table_(64, kUnknown),
      slots_(64),
      stamps_(64, 0) {
  states_.emplace_back();  // kDead
  states_[kDead].closed = true;
  states_[kDead].next = std::make_unique<Next>();
  states_[kDead].next->fill(kDead);
}

bool ParseStates::Allocate(size_t bytes) {
  bytes_ += bytes;
  exhausted_ = exhausted_ || bytes_ > most_bytes_;
  return !exhausted_;
}

ParseStates::Id ParseStates::Start() {
  return At(automaton_.rule(automaton_.root()).start, kDead);
}

ParseStates::Id ParseStates::At(Position position, Id origin) {
  Close(origin);
  ++round_;
  added_.clear();
  Add({position, origin});
  return Intern(EndRules());
}

void ParseStates::Add(Item item) {
  if (2 * (added_.size() + 1) > slots_.size()) {
    if (added_.size() > 4 * kMostItems) {
      exhausted_ = true;
      return;
    }
    slots_.assign(2 * slots_.size(), 0);
    stamps_.assign(slots_.size(), 0);
    round_ = 1;
    std::vector<Item> again;
    again.swap(added_);
    for (const Item& old : again) Add(old);
  }
  const size_t mask = slots_.size() - 1;
  size_t slot = MixHash(item.at, item.origin) & mask;
  for (; stamps_[slot] == round_; slot = (slot + 1) & mask) {
    if (added_[slots_[slot]] == item) return;
  }
  stamps_[slot] = round_;
  slots_[slot] = static_cast<uint32_t>(added_.size());
  added_.push_back(item);
}

bool ParseStates::EndRules() {
  bool complete = false;
  ends_unique_ = false;
  for (size_t i = 0; i < added_.size(); ++i) {
    const Item item = added_[i];
    if (!automaton_.MayEnd(item.at)) continue;
    if (item.origin == kDead) {
      complete = true;
      continue;
    }
    const RuleId rule = automaton_.RuleOf(item.at);
    ends_unique_ = ends_unique_ || automaton_.rule(rule).unique;
    const std::vector<Waiting>& waiting = states_[item.origin].waiting;
    auto at = std::lower_bound(
        waiting.begin(), waiting.end(), rule,
        [](const Waiting& entry, RuleId id) { return entry.rule < id; });
    for (; at != waiting.end() && at->rule == rule; ++at) {
      Add({at->then.at,
           at->then.origin == kSelf ? item.origin : at->then.origin});
    }
  }
  return complete;
}

ParseStates::Id ParseStates::Compute(Id id, uint8_t byte) {
  if (exhausted_) return kDead;
  Close(id);
  ++round_;
  added_.clear();
  for (const Item& item : states_[id].items) {
    for (const Automaton::ByteEdge& edge : automaton_.bytes(item.at)) {
      if (edge.low > byte) break;
      if (byte <= edge.high) {
        Add({edge.target, item.origin == kSelf ? id : item.origin});
      }
    }
  }
  const Id next = Intern(EndRules());
  if (exhausted_) return kDead;
  State& state = states_[id];
  if (state.next == nullptr) {
    if (!Allocate(sizeof(Next))) return kDead;
    state.next = std::make_unique<Next>();
    state.next->fill(kUnknown);
  }
  (*state.next)[byte] = next;
  return next;
}

ParseStates::Id ParseStates::Walk(Id state, std::string_view bytes) {
  for (const char byte : bytes) {
    if (state == kDead) break;
    state = Step(state, static_cast<uint8_t>(byte));
  }
  return state;
}

ParseStates::Id ParseStates::Intern(bool complete) {
  // Items that only end are done.
  std::erase_if(
      added_, [&](const Item& item) { return !automaton_.HasEdges(item.at); });
  if (added_.size() > kMostItems) exhausted_ = true;
  if (exhausted_ || (added_.empty() && !complete)) return kDead;
  std::sort(added_.begin(), added_.end(), [](const Item& a, const Item& b) {
    return std::tie(a.at, a.origin) < std::tie(b.at, b.origin);
  });
  uint64_t hash = (complete ? 1 : 2) + (ends_unique_ ? 2 : 0);
  for (const Item& item : added_) {
    hash = MixHash(MixHash(hash, item.at), item.origin);
  }
  const size_t mask = table_.size() - 1;
  size_t slot = hash & mask;
  for (; table_[slot] != kUnknown; slot = (slot + 1) & mask) {
    const State& state = states_[table_[slot]];
    if (state.hash == hash && state.complete == complete &&
        state.ends_unique == ends_unique_ && state.kernel == added_) {
      return table_[slot];
    }
  }
  if (!Allocate(sizeof(State) + added_.size() * sizeof(Item) + 16))
    return kDead;
  const Id id = static_cast<Id>(states_.size());
  table_[slot] = id;
  State& state = states_.emplace_back();
  state.kernel = added_;
  state.hash = hash;
  state.complete = complete;
  state.ends_unique = ends_unique_;
  if (2 * states_.size() > table_.size()) {
    table_.assign(2 * table_.size(), kUnknown);
    const size_t new_mask = table_.size() - 1;
    for (Id i = 1; i < states_.size(); ++i) {
      size_t at = states_[i].hash & new_mask;
      while (table_[at] != kUnknown) at = (at + 1) & new_mask;
      table_[at] = i;
    }
  }
  return id;
}

void ParseStates::Close(Id id) {
  State& state = states_[id];
  if (state.closed) return;
  state.closed = true;
  ++round_;
  added_.clear();
  for (const Item& item : state.kernel) Add(item);
  for (size_t i = 0; i < added_.size() && !exhausted_; ++i) {
    const Item item = added_[i];
    automaton_.ForEachCall(item.at, [&](RuleId rule, Position target) {
      state.waiting.push_back({rule, {target, item.origin}});
      const Automaton::Rule& called = automaton_.rule(rule);
      state.begins_unique = state.begins_unique || called.unique;
      Add({called.start, kSelf});
      // A counted body that is empty need not be counted.
      if (called.nullable && !automaton_.IsCounted(target)) {
        Add({target, item.origin});
      }
    });
  }
  std::sort(state.waiting.begin(), state.waiting.end(),
            [](const Waiting& a, const Waiting& b) { return a.rule < b.rule; });
  state.items = added_;
  Allocate(state.items.size() * sizeof(Item) +
           state.waiting.size() * sizeof(Waiting));
}

std::vector<Position> ParseStates::Kernel(Id state) const {
  std::vector<Position> positions;
  // The kernel is sorted by position.
  for (const Item& item : states_[state].kernel) {
    if (positions.empty() || positions.back() != item.at) {
      positions.push_back(item.at);
    }
  }
  return positions;
}

std::bitset<256> ParseStates::NextBytes(Id id) {
  Close(id);
  std::bitset<256> bytes;
  for (const Item& item : states_[id].items) {
    for (const Automaton::ByteEdge& edge : automaton_.bytes(item.at)) {
      for (int byte = edge.low; byte <= edge.high; ++byte) bytes.set(byte);
    }
  }
  return bytes;
}

}  // namespace trivium
