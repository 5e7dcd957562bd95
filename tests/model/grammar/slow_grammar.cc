#include "tests/model/grammar/slow_grammar.h"

#include <algorithm>
#include <compare>

namespace trivium {
namespace {

constexpr int64_t kNoWay = int64_t{1} << 40;

// The least edges from each node to a final one. Each edge has a string.
std::vector<int64_t> EdgesToEnd(const ExpressionGraph& graph) {
  std::vector<int64_t> least(graph.final.size(), kNoWay);
  for (size_t i = 0; i < least.size(); ++i) {
    if (graph.final[i]) least[i] = 0;
  }
  for (size_t round = 0; round < least.size(); ++round) {
    for (const ExpressionGraph::Edge& edge : graph.edges) {
      least[edge.from] = std::min(least[edge.from], least[edge.to] + 1);
    }
  }
  return least;
}

// The edges that a path may have.
int64_t MostEdges(int32_t max) { return max < 0 ? kNoWay - 1 : max; }

}  // namespace

SlowGrammar::SlowGrammar(const Grammar* grammar)
    : grammar_(*grammar), productive_(grammar->rules(), false) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t rule = 0; rule < productive_.size(); ++rule) {
      const ExpressionId id = grammar_.definition(static_cast<RuleId>(rule));
      if (productive_[rule] || id < 0 || !HasString(id)) continue;
      productive_[rule] = changed = true;
    }
  }
}

bool SlowGrammar::HasString(ExpressionId id) const {
  const Expression& expression = grammar_.expression(id);
  const auto has = [this](ExpressionId part) { return HasString(part); };
  switch (expression.kind) {
    case Expression::Kind::kSequence:
      return std::all_of(expression.parts.begin(), expression.parts.end(), has);
    case Expression::Kind::kChoice:
      return std::any_of(expression.parts.begin(), expression.parts.end(), has);
    case Expression::Kind::kRepeat:
      return expression.min == 0 || HasString(expression.parts[0]);
    case Expression::Kind::kRule:
      return productive_[expression.index];
    case Expression::Kind::kGraph:
      return EdgesToEnd(grammar_.graph(expression.index))[0] <=
             MostEdges(expression.max);
    default:
      return true;
  }
}

void SlowGrammar::Solve(std::string_view text) {
  text_ = text;
  rules_.clear();
  rules_[{grammar_.root(), 0}];
  for (bool changed = true; changed;) {
    changed = false;
    const size_t known = rules_.size();
    std::vector<std::pair<RuleId, size_t>> keys;
    for (const auto& [key, reading] : rules_) keys.push_back(key);
    for (const auto& key : keys) {
      const ExpressionId id = grammar_.definition(key.first);
      if (id < 0) continue;
      Reading reading = Read(id, key.second);
      if (reading == rules_[key]) continue;
      rules_[key] = std::move(reading);
      changed = true;
    }
    changed = changed || rules_.size() > known;
  }
}

bool SlowGrammar::Accepts(std::string_view text) {
  Solve(text);
  return rules_[{grammar_.root(), 0}].ends.contains(text.size());
}

bool SlowGrammar::IsPrefix(std::string_view text) {
  Solve(text);
  const Reading& reading = rules_[{grammar_.root(), 0}];
  return reading.open || reading.ends.contains(text.size());
}

SlowGrammar::Reading SlowGrammar::Read(ExpressionId id, size_t at) {
  const Expression& expression = grammar_.expression(id);
  Reading reading;
  switch (expression.kind) {
    case Expression::Kind::kBytes:
      if (at == text_.size()) {
        reading.open = true;
      } else if (const auto byte = static_cast<uint8_t>(text_[at]);
                 expression.low <= byte && byte <= expression.high) {
        reading.ends.insert(at + 1);
      }
      return reading;
    case Expression::Kind::kLiteral: {
      const std::string_view rest = text_.substr(at);
      if (rest.starts_with(expression.text)) {
        reading.ends.insert(at + expression.text.size());
      } else {
        reading.open = std::string_view(expression.text).starts_with(rest);
      }
      return reading;
    }
    case Expression::Kind::kSequence:
      return ReadParts(expression.parts, at);
    case Expression::Kind::kChoice:
      for (const ExpressionId part : expression.parts) {
        const Reading one = Read(part, at);
        reading.ends.insert(one.ends.begin(), one.ends.end());
        reading.open = reading.open || one.open;
      }
      return reading;
    case Expression::Kind::kRepeat:
      return ReadRepeat(expression, at);
    case Expression::Kind::kRule:
      if (!productive_[expression.index]) return reading;
      return rules_[{expression.index, at}];
    case Expression::Kind::kGraph:
      return ReadGraph(grammar_.graph(expression.index), expression.max, at);
  }
  return reading;
}

SlowGrammar::Reading SlowGrammar::ReadParts(
    const std::vector<ExpressionId>& parts, size_t at) {
  Reading reading;
  // What can never be completed is not open, either.
  for (const ExpressionId part : parts) {
    if (!HasString(part)) return reading;
  }
  reading.ends.insert(at);
  for (const ExpressionId part : parts) {
    std::set<size_t> begins;
    begins.swap(reading.ends);
    for (const size_t begin : begins) {
      const Reading one = Read(part, begin);
      reading.ends.insert(one.ends.begin(), one.ends.end());
      reading.open = reading.open || one.open;
    }
  }
  return reading;
}

SlowGrammar::Reading SlowGrammar::ReadRepeat(const Expression& repeat,
                                             size_t at) {
  Reading reading;
  std::set<size_t> begins = {at};
  if (repeat.min == 0) reading.ends.insert(at);
  // More than text + min times round adds nothing.
  const size_t rounds = text_.size() + static_cast<size_t>(repeat.min) + 1;
  for (size_t i = 1; i <= rounds && !begins.empty(); ++i) {
    if (repeat.max >= 0 && i > static_cast<size_t>(repeat.max)) break;
    std::set<size_t> ends;
    for (const size_t begin : begins) {
      const Reading one = Read(repeat.parts[0], begin);
      ends.insert(one.ends.begin(), one.ends.end());
      reading.open = reading.open || one.open;
    }
    if (i >= static_cast<size_t>(repeat.min)) {
      reading.ends.insert(ends.begin(), ends.end());
    }
    begins = std::move(ends);
  }
  return reading;
}

SlowGrammar::Reading SlowGrammar::ReadGraph(const ExpressionGraph& graph,
                                            int32_t max, size_t at) {
  struct Path {
    int32_t node;
    size_t place;
    int64_t edges;  // 0 without a bound, so that the paths are finitely many
    auto operator<=>(const Path&) const = default;
  };
  const std::vector<int64_t> to_end = EdgesToEnd(graph);
  Reading reading;
  std::set<Path> seen = {{0, at, 0}};
  std::vector<Path> todo = {{0, at, 0}};
  while (!todo.empty()) {
    const auto [node, place, edges] = todo.back();
    todo.pop_back();
    if (graph.final[node]) reading.ends.insert(place);
    for (const ExpressionGraph::Edge& edge : graph.edges) {
      if (edge.from != node || edges + 1 + to_end[edge.to] > MostEdges(max)) {
        continue;
      }
      Reading one;
      if (edge.label == ExpressionGraph::kNoLabel) {
        one.ends = {place};
      } else {
        one = Read(edge.label, place);
      }
      reading.open = reading.open || one.open;
      for (const size_t end : one.ends) {
        const Path next = {edge.to, end, max < 0 ? 0 : edges + 1};
        if (seen.insert(next).second) todo.push_back(next);
      }
    }
  }
  return reading;
}

}  // namespace trivium
