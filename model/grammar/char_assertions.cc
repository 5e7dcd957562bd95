#include "model/grammar/char_assertions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

bool IsBehind(const RegexNode& node) {
  return node.kind == RegexNode::Kind::kBehind ||
         node.kind == RegexNode::Kind::kNotBehind;
}

RegexNode Followed(const RegexNode& first, const RegexNode& second) {
  RegexNode sequence;
  sequence.parts = {first, second};
  return sequence;
}

absl::Status CannotStand(const RegexNode& assertion, std::string_view where) {
  return absl::InvalidArgumentError(
      fmt::format("byte {} of the expression: {}", assertion.at, where));
}

}  // namespace

AssertionDfa::AssertionDfa(const RegexNode& expression, Part part,
                           WorkBudget* work)
    : part_(part), work_(work), nfa_(expression, work) {}

absl::Status AssertionDfa::MakeBefores() {
  for (const CharNfa::State& state : nfa_.states()) {
    for (const auto& [assertion, target] : state.asserted) {
      if (!IsBehind(*assertion) || before_of_.contains(assertion)) continue;
      if (part_ == Part::kRest) {
        return CannotStand(*assertion,
                           "a look-behind or \\b cannot stand in a look-ahead "
                           "that is not at the beginning of the text");
      }
      // The same ones share an automaton: each \b has two.
      const RegexNode& behind = assertion->parts[0];
      const auto same = std::find_if(
          before_of_.begin(), before_of_.end(),
          [&](const auto& known) { return known.first->parts[0] == behind; });
      if (same != before_of_.end()) {
        before_of_[assertion] = same->second;
        continue;
      }
      const RegexNode texts = Followed(AnyText(), behind);
      TRIVIUM_ASSIGN_OR_RETURN(
          CharDfa before, AssertionDfa(texts, Part::kBefore, work_).Make());
      before_of_[assertion] = befores_.size();
      befores_.push_back(std::move(before));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> AssertionDfa::RestOf(const RegexNode& assertion,
                                              bool at_begin) {
  const std::pair key(&assertion, at_begin);
  if (const auto found = rest_of_.find(key); found != rest_of_.end()) {
    return found->second;
  }
  for (const auto& [known, rest] : rest_of_) {
    if (known.second == at_begin && *known.first == assertion) {
      return rest_of_[key] = rest;
    }
  }
  if (part_ == Part::kBefore) {
    return CannotStand(assertion,
                       "a look-ahead, $ or \\b cannot stand in a look-behind");
  }
  RegexNode expression;
  if (assertion.kind != RegexNode::Kind::kEnd) {
    expression = Followed(assertion.parts[0], AnyText());
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      CharDfa texts,
      AssertionDfa(expression, at_begin ? Part::kWhole : Part::kRest, work_)
          .Make());
  if (assertion.kind == RegexNode::Kind::kNotAhead) {
    TRIVIUM_ASSIGN_OR_RETURN(texts, texts.Complement(work_));
  }
  // A state from which any character leads to such a state: those from which a
  // gap is reached are taken away until none is left.
  const std::vector<CharDfa::State>& states = texts.states_;
  std::vector<bool> any(states.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    if (!work_->Take(texts.Steps())) return work_->status();
    for (size_t i = 0; i < states.size(); ++i) {
      if (!any[i]) continue;
      bool all = states[i].accepts;
      std::vector<CodePointSet::Range> read;
      for (const CharDfa::Edge& edge : states[i].edges) {
        all = all && any[edge.target];
        read.push_back({edge.first, edge.last});
      }
      any[i] = all && CodePointSet(std::move(read)) == CodePointSet::All();
      changed = changed || !any[i];
    }
  }
  const uint32_t index = static_cast<uint32_t>(rests_.size());
  rests_.push_back({std::move(texts), std::move(any)});
  return rest_of_[key] = index;
}

uint32_t AssertionDfa::Next(const CharDfa& dfa, uint32_t state,
                            char32_t character) {
  if (state == kNowhere) return kNowhere;
  const std::vector<CharDfa::Edge>& edges = dfa.states_[state].edges;
  const auto edge =
      std::lower_bound(edges.begin(), edges.end(), character,
                       [](const CharDfa::Edge& one, char32_t value) {
                         return one.last < value;
                       });
  return edge != edges.end() && edge->first <= character ? edge->target
                                                         : kNowhere;
}

uint32_t AssertionDfa::NumberOf(Needs needs) {
  std::sort(needs.begin(), needs.end());
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  const auto [found, added] = numbers_.try_emplace(
      std::move(needs), static_cast<uint32_t>(needs_.size()));
  if (added) needs_.push_back(found->first);
  return found->second;
}

absl::Status AssertionDfa::Close(bool at_begin, Places* places) {
  std::vector<Place>& list = places->places;
  std::set<Place> seen(list.begin(), list.end());
  list.assign(seen.begin(), seen.end());
  for (size_t i = 0; i < list.size(); ++i) {
    const auto [at, needs] = list[i];
    const CharNfa::State& state = nfa_.states()[at];
    if (!work_->Take(1 + state.empty.size() + state.asserted.size())) {
      return work_->status();
    }
    const auto add = [&](Place place) {
      if (seen.insert(place).second) list.push_back(place);
    };
    for (const uint32_t next : state.empty) add({next, needs});
    for (const auto& [assertion, next] : state.asserted) {
      if (assertion->kind == RegexNode::Kind::kBegin) {
        if (at_begin) add({next, needs});
      } else if (IsBehind(*assertion)) {
        const size_t before = before_of_.at(assertion);
        const uint32_t reached = places->before[before];
        const bool matches =
            reached != kNowhere && befores_[before].states_[reached].accepts;
        if (matches == (assertion->kind == RegexNode::Kind::kBehind)) {
          add({next, needs});
        }
      } else {
        TRIVIUM_ASSIGN_OR_RETURN(const uint32_t rest,
                                 RestOf(*assertion, at_begin));
        if (rests_[rest].texts.empty()) continue;
        Needs more = needs_[needs];
        if (!rests_[rest].any[0]) more.push_back({rest, 0});
        if (!work_->Take(more.size())) return work_->status();
        add({next, NumberOf(std::move(more))});
      }
    }
    if (list.size() > CharDfa::kMostStates) return CharNfa::TooManyStates();
  }
  std::sort(list.begin(), list.end());
  Simplify(&list);
  return work_->status();
}

void AssertionDfa::Simplify(std::vector<Place>* places) const {
  std::vector<Place> kept;
  for (size_t begin = 0, end = 0; begin < places->size(); begin = end) {
    const auto at = [&](size_t i) { return (*places)[i]; };
    while (end < places->size() && at(end).first == at(begin).first) ++end;
    if (!work_->Take((end - begin) * (end - begin))) return;
    for (size_t i = begin; i < end; ++i) {
      const Needs& needs = needs_[at(i).second];
      bool asks_more = false;
      for (size_t j = begin; j < end && !asks_more; ++j) {
        const Needs& fewer = needs_[at(j).second];
        asks_more = j != i && std::includes(needs.begin(), needs.end(),
                                            fewer.begin(), fewer.end());
      }
      if (!asks_more) kept.push_back(at(i));
    }
  }
  *places = std::move(kept);
}

absl::StatusOr<AssertionDfa::Places> AssertionDfa::Step(const Places& places,
                                                        char32_t character) {
  Places next;
  for (const auto& [at, number] : places.places) {
    const auto& edges = nfa_.states()[at].edges;
    if (edges.empty()) continue;
    if (!work_->Take(edges.size() + needs_[number].size())) {
      return work_->status();
    }
    std::optional<uint32_t> then;
    for (const auto& [characters, target] : edges) {
      if (!characters->Has(character)) continue;
      if (!then.has_value()) {
        Needs left;
        bool met = true;
        for (const auto& [rest, state] : needs_[number]) {
          const uint32_t to = Next(rests_[rest].texts, state, character);
          met = met && to != kNowhere;
          if (!met) break;
          if (!rests_[rest].any[to]) left.push_back({rest, to});
        }
        if (!met) break;
        then = NumberOf(std::move(left));
      }
      next.places.push_back({target, *then});
    }
  }
  if (next.places.empty()) return next;
  std::sort(next.places.begin(), next.places.end());
  for (size_t i = 0; i < befores_.size(); ++i) {
    next.before.push_back(Next(befores_[i], places.before[i], character));
  }
  return next;
}

bool AssertionDfa::Accepts(const Places& places) const {
  return std::any_of(
      places.places.begin(), places.places.end(), [&](const Place& place) {
        const Needs& needs = needs_[place.second];
        return place.first == 1 &&
               std::all_of(needs.begin(), needs.end(), [&](const auto& need) {
                 return rests_[need.first].texts.states_[need.second].accepts;
               });
      });
}

std::vector<char32_t> AssertionDfa::Borders(const Places& places) const {
  std::set<char32_t> borders;
  const auto add = [&](char32_t first, char32_t last) {
    borders.insert(first);
    borders.insert(last + 1);
  };
  const auto add_edges = [&](const CharDfa& dfa, uint32_t state) {
    for (const CharDfa::Edge& edge : dfa.states_[state].edges) {
      add(edge.first, edge.last);
    }
  };
  std::set<const CodePointSet*> sets;
  std::set<uint32_t> numbers;
  for (const auto& [at, number] : places.places) {
    for (const auto& [characters, target] : nfa_.states()[at].edges) {
      sets.insert(characters);
    }
    numbers.insert(number);
  }
  for (const CodePointSet* characters : sets) {
    if (!work_->Take(characters->ranges().size())) return {};
    for (const auto& [first, last] : characters->ranges()) add(first, last);
  }
  for (const uint32_t number : numbers) {
    for (const auto& [rest, state] : needs_[number]) {
      add_edges(rests_[rest].texts, state);
    }
  }
  for (size_t i = 0; i < befores_.size(); ++i) {
    if (places.before[i] != kNowhere) add_edges(befores_[i], places.before[i]);
  }
  work_->Take(borders.size());
  return {borders.begin(), borders.end()};
}

absl::StatusOr<CharDfa> AssertionDfa::Make() {
  TRIVIUM_RETURN_IF_ERROR(nfa_.status());
  TRIVIUM_RETURN_IF_ERROR(MakeBefores());
  CharDfa dfa;
  std::map<Places, uint32_t> ids;
  std::vector<const Places*> states;
  const auto id_of = [&](Places places) {
    const auto [found, added] = ids.try_emplace(
        std::move(places), static_cast<uint32_t>(states.size()));
    if (added) states.push_back(&found->first);
    return found->second;
  };
  Places start;
  start.places = {{0, 0}};
  start.before.assign(befores_.size(), 0);
  TRIVIUM_RETURN_IF_ERROR(Close(part_ != Part::kRest, &start));
  id_of(std::move(start));
  for (size_t i = 0; i < states.size(); ++i) {
    const Places& places = *states[i];
    CharDfa::State state;
    state.accepts = Accepts(places);
    const std::vector<char32_t> borders = Borders(places);
    std::map<Places, uint32_t> closed;  // by the places before Close
    for (size_t j = 0; j + 1 < borders.size(); ++j) {
      TRIVIUM_ASSIGN_OR_RETURN(Places next, Step(places, borders[j]));
      if (next.places.empty()) continue;
      const auto [known, added] = closed.try_emplace(next, 0);
      if (added) {
        TRIVIUM_RETURN_IF_ERROR(Close(false, &next));
        known->second = id_of(std::move(next));
      }
      const char32_t last = borders[j + 1] - 1;
      if (!state.edges.empty() && state.edges.back().target == known->second &&
          state.edges.back().last + 1 == borders[j]) {
        state.edges.back().last = last;
      } else {
        state.edges.push_back({borders[j], last, known->second});
      }
    }
    if (!work_->status().ok()) return work_->status();
    if (states.size() > CharDfa::kMostStates) return CharNfa::TooManyStates();
    dfa.states_.push_back(std::move(state));
  }
  dfa.Trim();
  return dfa;
}

}  // namespace trivium
