// State 0 is the start. Edges of a state are ascending and disjoint, so a
// character takes at most one; one without an edge leads nowhere. Automata are
// not minimal: two states may accept the same texts.
//
// Trim, with which most operations end, removes all states but the start from
// which no text can be completed. So a cycle means texts without end, and a
// start without texts has no edges.
#include "model/grammar/char_dfa.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/status/status.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/grammar/char_assertions.h"
#include "model/grammar/char_nfa.h"

namespace trivium {
namespace {

// The steps of making an automaton, however small.
constexpr size_t kStepsPerAutomaton = 20;

absl::Status TooManyStates() { return CharNfa::TooManyStates(); }

using NfaSet = std::vector<uint32_t>;

// Adds the states that the set reaches without reading. `work` says if it could
// not.
NfaSet ClosureOf(const CharNfa& nfa, NfaSet set, WorkBudget* work) {
  if (!work->Take(nfa.states().size() / 64)) return {};
  std::vector<bool> seen(nfa.states().size(), false);
  for (const uint32_t state : set) seen[state] = true;
  for (size_t i = 0; i < set.size(); ++i) {
    const std::vector<uint32_t>& empty = nfa.states()[set[i]].empty;
    if (!work->Take(1 + empty.size())) return {};
    for (const uint32_t next : empty) {
      if (seen[next]) continue;
      seen[next] = true;
      set.push_back(next);
    }
  }
  std::sort(set.begin(), set.end());
  return set;
}

}  // namespace

absl::StatusOr<CharDfa> CharDfa::Create(const RegexNode& expression,
                                        WorkBudget* work) {
  if (!work->Take(kStepsPerAutomaton)) return work->status();
  if (HasAssertions(expression)) return AssertionDfa(expression, work).Make();
  const CharNfa nfa(expression, work);
  TRIVIUM_RETURN_IF_ERROR(nfa.status());
  CharDfa dfa;
  std::map<NfaSet, uint32_t> ids;
  std::vector<const NfaSet*> sets;
  const auto id_of = [&](NfaSet set) {
    const auto [found, added] =
        ids.try_emplace(std::move(set), static_cast<uint32_t>(sets.size()));
    if (added) sets.push_back(&found->first);
    return found->second;
  };
  id_of(ClosureOf(nfa, {0}, work));
  for (size_t i = 0; i < sets.size(); ++i) {
    const NfaSet& set = *sets[i];
    State state;
    state.accepts = std::binary_search(set.begin(), set.end(), 1u);
    // The borders at which a character range begins or has ended.
    std::map<char32_t, std::vector<std::pair<uint32_t, int>>> borders;
    for (const uint32_t member : set) {
      for (const auto& [characters, target] : nfa.states()[member].edges) {
        if (!work->Take(characters->ranges().size())) return work->status();
        for (const auto& [first, last] : characters->ranges()) {
          borders[first].push_back({target, 1});
          borders[last + 1].push_back({target, -1});
        }
      }
    }
    std::map<uint32_t, int> open;
    for (auto at = borders.begin(); at != borders.end(); ++at) {
      for (const auto& [target, change] : at->second) {
        if ((open[target] += change) == 0) open.erase(target);
      }
      if (open.empty()) continue;
      NfaSet targets;
      for (const auto& [target, count] : open) targets.push_back(target);
      state.edges.push_back({at->first, std::next(at)->first - 1,
                             id_of(ClosureOf(nfa, std::move(targets), work))});
      if (!work->status().ok()) return work->status();
      if (sets.size() > kMostStates) return TooManyStates();
    }
    dfa.states_.push_back(std::move(state));
  }
  dfa.Trim();
  return dfa;
}

absl::StatusOr<CharDfa> CharDfa::OfLength(int64_t min, int64_t max,
                                          WorkBudget* work) {
  const int64_t last = std::max(min, max);
  if (last >= static_cast<int64_t>(kMostStates)) return TooManyStates();
  if (!work->Take(kStepsPerAutomaton + static_cast<size_t>(last))) {
    return work->status();
  }
  CharDfa dfa;
  for (int64_t i = 0; i <= last; ++i) {
    State state;
    state.accepts = i >= min && (max < 0 || i <= max);
    const bool loops = max < 0 && i == last;
    if (i < last || loops) {
      state.edges.push_back(
          {0, kLastCodePoint, static_cast<uint32_t>(loops ? i : i + 1)});
    }
    dfa.states_.push_back(std::move(state));
  }
  dfa.Trim();
  return dfa;
}

absl::StatusOr<CharDfa> CharDfa::OfTexts(std::span<const std::string> texts,
                                         WorkBudget* work) {
  CharDfa dfa;
  dfa.states_.emplace_back();
  for (const std::string& text : texts) {
    if (!work->Take(1 + text.size())) return work->status();
    uint32_t at = 0;
    for (size_t i = 0; i < text.size();) {
      const CodePoint point = FirstCodePoint(std::string_view(text).substr(i));
      i += point.size;
      std::vector<Edge>& edges = dfa.states_[at].edges;
      const auto place = std::lower_bound(
          edges.begin(), edges.end(), point.value,
          [](const Edge& edge, char32_t value) { return edge.first < value; });
      if (place != edges.end() && place->first == point.value) {
        at = place->target;
        continue;
      }
      const uint32_t next = static_cast<uint32_t>(dfa.states_.size());
      if (next >= kMostStates) return TooManyStates();
      edges.insert(place, {point.value, point.value, next});
      dfa.states_.emplace_back();
      at = next;
    }
    dfa.states_[at].accepts = true;
  }
  return dfa;
}

absl::StatusOr<CharDfa> CharDfa::MultiplesOf(int64_t divisor, int places,
                                             WorkBudget* work) {
  // State 0: nothing read; 1: a minus; 2, 3: the number 0 and -0; then, for
  // each remainder of the digits so far: the whole number, the point behind
  // it, and 1 .. places digits behind that.
  const size_t kinds = places == 0 ? 1 : static_cast<size_t>(places) + 2;
  const size_t size = 4 + kinds * static_cast<size_t>(divisor);
  if (!work->Take(10 * size)) return work->status();
  if (size > kMostStates) return TooManyStates();
  const auto state = [&](int64_t remainder, size_t kind) {
    return static_cast<uint32_t>(4 + kind * static_cast<size_t>(divisor)) +
           static_cast<uint32_t>(remainder);
  };
  CharDfa dfa;
  dfa.states_.resize(size);
  const auto add_digits = [&](uint32_t from, int64_t remainder, int first,
                              size_t kind) {
    for (int digit = first; digit <= 9; ++digit) {
      const char32_t c = static_cast<char32_t>('0' + digit);
      dfa.states_[from].edges.push_back(
          {c, c, state((remainder * 10 + digit) % divisor, kind)});
    }
  };
  dfa.states_[0].edges = {{'-', '-', 1}, {'0', '0', 2}};
  dfa.states_[2].accepts = true;
  add_digits(0, 0, 1, 0);
  if (places > 0) {
    dfa.states_[1].edges = {{'0', '0', 3}};
    for (const uint32_t zero : {2u, 3u}) {
      dfa.states_[zero].edges = {{'.', '.', state(0, 1)}};
    }
  }
  add_digits(1, 0, 1, 0);
  for (int64_t r = 0; r < divisor; ++r) {
    dfa.states_[state(r, 0)].edges.clear();
    if (places > 0) {
      dfa.states_[state(r, 0)].edges.push_back({'.', '.', state(r, 1)});
      add_digits(state(r, 1), r, 0, 2);
    }
    add_digits(state(r, 0), r, 0, 0);
    // The digits' remainder once all places are written.
    int64_t scaled = r;
    for (int place = places; place >= 0; --place) {
      // `place` digits behind the point.
      const size_t kind = place == 0 ? 0 : static_cast<size_t>(place) + 1;
      dfa.states_[state(r, kind)].accepts = scaled == 0;
      if (place > 0 && place < places) {
        add_digits(state(r, kind), r, 0, kind + 1);
      }
      scaled = scaled * 10 % divisor;
    }
  }
  return dfa;
}

CharDfa CharDfa::Decimals(size_t digits) {
  // State 0: nothing read; 1: the number 0; whole(n): n digits; point(n): n
  // digits and the point; fraction(n): n digits, some behind the point.
  const auto whole = [](size_t n) { return static_cast<uint32_t>(1 + n); };
  const auto point = [&](size_t n) { return whole(digits + 1 + n); };
  const auto fraction = [&](size_t n) { return point(digits + n - 1); };
  CharDfa dfa;
  dfa.states_.resize(fraction(digits) + 1);
  dfa.states_[0].edges = {{'0', '0', 1}, {'1', '9', whole(1)}};
  for (size_t n = 0; n <= digits; ++n) {
    State& integer = dfa.states_[whole(n)];
    integer.accepts = true;
    if (n < digits) {
      integer.edges.push_back({'.', '.', point(n)});
      if (n > 0) integer.edges.push_back({'0', '9', whole(n + 1)});
      dfa.states_[point(n)].edges = {{'0', '9', fraction(n + 1)}};
    }
    if (n == 0) continue;
    State& decimal = dfa.states_[fraction(n)];
    decimal.accepts = true;
    if (n < digits) decimal.edges = {{'0', '9', fraction(n + 1)}};
  }
  return dfa;
}

absl::StatusOr<CharDfa> CharDfa::Intersection(const CharDfa& other,
                                              WorkBudget* work) const {
  if (!work->Take(kStepsPerAutomaton)) return work->status();
  CharDfa dfa;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> ids;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto id_of = [&](uint32_t a, uint32_t b) {
    const auto [found, added] =
        ids.try_emplace(std::pair(a, b), static_cast<uint32_t>(pairs.size()));
    if (added) pairs.push_back({a, b});
    return found->second;
  };
  id_of(0, 0);
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs.size() > 2 * kMostStates) return TooManyStates();
    const State& a = states_[pairs[i].first];
    const State& b = other.states_[pairs[i].second];
    if (!work->Take(1 + a.edges.size() + b.edges.size())) return work->status();
    State state;
    state.accepts = a.accepts && b.accepts;
    for (size_t j = 0, k = 0; j < a.edges.size() && k < b.edges.size();) {
      const Edge& left = a.edges[j];
      const Edge& right = b.edges[k];
      const char32_t first = std::max(left.first, right.first);
      const char32_t last = std::min(left.last, right.last);
      if (first <= last) {
        state.edges.push_back({first, last, id_of(left.target, right.target)});
      }
      if (left.last < right.last) {
        ++j;
      } else {
        ++k;
      }
    }
    dfa.states_.push_back(std::move(state));
  }
  dfa.Trim();
  return dfa;
}

CharDfa CharDfa::UnionWithPrefix(char32_t prefix, const CharDfa& other) const {
  CharDfa dfa = *this;
  const uint32_t base = static_cast<uint32_t>(states_.size());
  for (State state : other.states_) {
    for (Edge& edge : state.edges) edge.target += base;
    dfa.states_.push_back(std::move(state));
  }
  // The start may be entered again only by edges of its own, which no number
  // has, so the prefix is read at the beginning alone.
  std::vector<Edge>& edges = dfa.states_[0].edges;
  const auto place = std::lower_bound(
      edges.begin(), edges.end(), prefix,
      [](const Edge& edge, char32_t value) { return edge.first < value; });
  edges.insert(place, {prefix, prefix, base});
  dfa.Trim();
  return dfa;
}

absl::StatusOr<CharDfa> CharDfa::Complement(WorkBudget* work) const {
  if (!work->Take(kStepsPerAutomaton + Steps())) return work->status();
  CharDfa dfa = *this;
  const uint32_t other = static_cast<uint32_t>(dfa.states_.size());
  dfa.states_.emplace_back();
  for (State& state : dfa.states_) {
    state.accepts = !state.accepts;
    std::vector<Edge> edges;
    char32_t next = 0;
    for (const Edge& edge : state.edges) {
      if (edge.first > next) edges.push_back({next, edge.first - 1, other});
      edges.push_back(edge);
      next = edge.last + 1;
    }
    if (next <= kLastCodePoint) edges.push_back({next, kLastCodePoint, other});
    state.edges = std::move(edges);
  }
  dfa.Trim();
  return dfa;
}

size_t CharDfa::Steps() const {
  size_t steps = states_.size();
  for (const State& state : states_) steps += state.edges.size();
  return steps;
}

void CharDfa::Trim() {
  std::vector<std::vector<uint32_t>> before(states_.size());
  std::vector<uint32_t> reached;
  for (uint32_t i = 0; i < states_.size(); ++i) {
    for (const Edge& edge : states_[i].edges) before[edge.target].push_back(i);
    if (states_[i].accepts) reached.push_back(i);
  }
  std::vector<bool> live(states_.size(), false);
  for (const uint32_t state : reached) live[state] = true;
  while (!reached.empty()) {
    const uint32_t state = reached.back();
    reached.pop_back();
    for (const uint32_t from : before[state]) {
      if (live[from]) continue;
      live[from] = true;
      reached.push_back(from);
    }
  }
  std::vector<uint32_t> renamed(states_.size(), 0);
  std::vector<State> kept;
  for (uint32_t i = 0; i < states_.size(); ++i) {
    renamed[i] = static_cast<uint32_t>(kept.size());
    if (live[i] || i == 0) kept.push_back(std::move(states_[i]));
  }
  for (State& state : kept) {
    std::erase_if(state.edges,
                  [&](const Edge& edge) { return !live[edge.target]; });
    for (Edge& edge : state.edges) edge.target = renamed[edge.target];
  }
  states_ = std::move(kept);
}

bool CharDfa::empty() const {
  return !states_[0].accepts && states_[0].edges.empty();
}

int64_t CharDfa::Shortest() const {
  std::vector<uint32_t> states = {0};
  std::vector<int64_t> length(states_.size(), -1);
  length[0] = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    const State& state = states_[states[i]];
    if (state.accepts) return length[states[i]];
    for (const Edge& edge : state.edges) {
      if (length[edge.target] >= 0) continue;
      length[edge.target] = length[states[i]] + 1;
      states.push_back(edge.target);
    }
  }
  return 0;
}

std::optional<int64_t> CharDfa::Longest() const {
  // States in the order in which all edges go forward. After Trim every state
  // leads to a text, so a cycle is a text without end.
  std::vector<uint32_t> entering(states_.size(), 0);
  for (const State& state : states_) {
    for (const Edge& edge : state.edges) ++entering[edge.target];
  }
  std::vector<int64_t> length(states_.size(), 0);
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < states_.size(); ++i) {
    if (entering[i] == 0) ready.push_back(i);
  }
  int64_t longest = 0;
  size_t passed = 0;
  for (; !ready.empty(); ++passed) {
    const uint32_t at = ready.back();
    ready.pop_back();
    longest = std::max(longest, length[at]);
    for (const Edge& edge : states_[at].edges) {
      length[edge.target] = std::max(length[edge.target], length[at] + 1);
      if (--entering[edge.target] == 0) ready.push_back(edge.target);
    }
  }
  if (passed < states_.size()) return std::nullopt;
  return longest;
}

int64_t CharDfa::Count() const {
  constexpr int64_t kMany = int64_t{1} << 40;
  if (!Longest().has_value()) return kMany;
  // A state is counted once all that follow it are: there is no cycle.
  std::vector<int64_t> texts(states_.size(), 0);
  std::vector<size_t> left(states_.size(), 0);
  std::vector<std::vector<uint32_t>> before(states_.size());
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < states_.size(); ++i) {
    left[i] = states_[i].edges.size();
    for (const Edge& edge : states_[i].edges) before[edge.target].push_back(i);
    if (left[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const uint32_t at = ready.back();
    ready.pop_back();
    const State& state = states_[at];
    texts[at] = state.accepts ? 1 : 0;
    for (const Edge& edge : state.edges) {
      const CodePointSet set({{edge.first, edge.last}});
      for (const auto& [first, last] : set.ranges()) {
        const int64_t characters = int64_t{last} - int64_t{first} + 1;
        const int64_t behind = std::min(texts[edge.target], kMany >> 21);
        texts[at] = std::min(kMany, texts[at] + characters * behind);
      }
    }
    for (const uint32_t from : before[at]) {
      if (--left[from] == 0) ready.push_back(from);
    }
  }
  return texts[0];
}

bool CharDfa::Matches(std::string_view text) const {
  uint32_t at = 0;
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    text.remove_prefix(point.size);
    const auto& edges = states_[at].edges;
    const auto edge =
        std::find_if(edges.begin(), edges.end(), [&](const Edge& candidate) {
          return candidate.first <= point.value &&
                 point.value <= candidate.last;
        });
    if (edge == edges.end()) return false;
    at = edge->target;
  }
  return states_[at].accepts;
}

ExpressionId CharDfa::ToExpression(const CharacterEncoder& encode,
                                   Grammar* grammar, int32_t max) const {
  ExpressionGraph graph;
  for (const State& state : states_) {
    graph.AddNode();
    graph.final.back() = state.accepts;
  }
  for (uint32_t i = 0; i < states_.size(); ++i) {
    std::map<uint32_t, std::vector<CodePointSet::Range>> sets;
    for (const Edge& edge : states_[i].edges) {
      sets[edge.target].push_back({edge.first, edge.last});
    }
    for (auto& [target, ranges] : sets) {
      const CodePointSet set(std::move(ranges));
      if (set.empty()) continue;  // surrogates, which are no characters
      graph.edges.push_back(
          {static_cast<int32_t>(i), static_cast<int32_t>(target), encode(set)});
    }
  }
  return grammar->Graph(std::move(graph), max);
}

}  // namespace trivium
