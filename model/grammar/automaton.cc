// A rule becomes an NFA by Thompson's construction, then states without empty
// edges (rule_states.h), then positions. A repetition that is too large to be
// spelled out becomes a counted rule. At the end, one pass along reversed edges
// finds the positions from which the end of their rule can be reached; edges to
// all others are removed.
#include "model/grammar/automaton.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "model/grammar/rule_states.h"
#include "model/grammar/work_budget.h"

namespace trivium {
namespace {

// The most states that a repetition is spelled out with.
constexpr size_t kMostSpelledStates = 96;

// The most positions of counted rules together.
constexpr uint64_t kMostCountedPositions = uint64_t{1} << 31;

// Marks an edge that reads a byte, among those that call a rule.
constexpr RuleId kByte = -1;

}  // namespace

class AutomatonBuilder {
 public:
  AutomatonBuilder(const Grammar& grammar, const AliveCheck& check_alive)
      : grammar_(grammar), work_(grammar.limits().work, check_alive) {}

  absl::StatusOr<Automaton> Build() {
    TRIVIUM_RETURN_IF_ERROR(grammar_.Check());
    result_.root_ = grammar_.root();
    result_.rules_.resize(grammar_.rules());
    for (const RuleId rule : grammar_.unique()) {
      result_.rules_[rule].unique = true;
      result_.has_unique_ = true;
    }
    // Rules that repetitions need are appended on the way.
    for (RuleId rule = 0; rule < static_cast<RuleId>(result_.rules_.size());
         ++rule) {
      if (!result_.rules_[rule].counted && !AddRule(rule)) return TooLarge();
    }
    TRIVIUM_RETURN_IF_ERROR(PlaceCountedRules());
    ReverseEdges();
    FindEnds(/*by_bytes=*/false, &Draft::nullable_end,
             &Automaton::Rule::nullable);
    FindEnds(/*by_bytes=*/true, &Draft::live, &Automaton::Rule::productive);
    if (!result_.rules_[result_.root_].productive) {
      return absl::InvalidArgumentError(
          "no text matches: every way through it needs itself or a choice of "
          "nothing; give an alternative that ends");
    }
    Freeze();
    return std::move(result_);
  }

 private:
  // A position while it is built.
  struct Draft {
    RuleId rule;
    RuleStates::State edges;    // in draft_bytes_ and draft_calls_
    bool nullable_end = false;  // its rule may end here
    bool live = false;          // the end of its rule can be reached
  };

  std::span<const Automaton::ByteEdge> BytesOf(Position at) const {
    return std::span(draft_bytes_)
        .subspan(drafts_[at].edges.first_byte,
                 (at + 1 < drafts_.size() ? drafts_[at + 1].edges.first_byte
                                          : draft_bytes_.size()) -
                     drafts_[at].edges.first_byte);
  }
  std::span<const Automaton::CallEdge> CallsOf(Position at) const {
    return std::span(draft_calls_)
        .subspan(drafts_[at].edges.first_call,
                 (at + 1 < drafts_.size() ? drafts_[at + 1].edges.first_call
                                          : draft_calls_.size()) -
                     drafts_[at].edges.first_call);
  }

  absl::Status TooLarge() const {
    if (!work_.status().ok()) return work_.status();
    return absl::ResourceExhaustedError(fmt::format(
        "the grammar needs an automaton of more than {} states or {} edges; "
        "give a smaller one",
        grammar_.limits().positions, grammar_.limits().edges));
  }

  bool AddRule(RuleId rule) {
    const ExpressionId definition = rule < static_cast<RuleId>(grammar_.rules())
                                        ? grammar_.definition(rule)
                                        : body_of_[rule - grammar_.rules()];
    rule_ = rule;
    nfa_.Clear();
    if (definition >= 0) Connect(definition, 0, 1);
    RuleStates states;
    if (failed_ || !RemoveEmptyEdges(nfa_, &work_, &states)) return false;
    const Position base = static_cast<Position>(drafts_.size());
    result_.rules_[rule].start = base;
    const auto first_byte = static_cast<uint32_t>(draft_bytes_.size());
    const auto first_call = static_cast<uint32_t>(draft_calls_.size());
    for (RuleStates::State state : states.states) {
      state.first_byte += first_byte;
      state.first_call += first_call;
      drafts_.push_back({rule, state});
    }
    for (Automaton::ByteEdge edge : states.bytes) {
      edge.target += base;
      draft_bytes_.push_back(edge);
    }
    for (Automaton::CallEdge call : states.calls) {
      call.target += base;
      draft_calls_.push_back(call);
    }
    edges_ = draft_bytes_.size() + draft_calls_.size();
    return drafts_.size() <= grammar_.limits().positions &&
           edges_ <= grammar_.limits().edges;
  }

  uint32_t NewState() {
    failed_ = failed_ || nfa_.size() >= 4 * grammar_.limits().positions ||
              !work_.Take(1);
    return nfa_.AddState();
  }

  // Adds paths from state `from` to state `to` that read the expression.
  void Connect(ExpressionId id, uint32_t from, uint32_t to) {
    failed_ = failed_ || !work_.Take(1);
    if (failed_) return;
    const Expression& expression = grammar_.expression(id);
    switch (expression.kind) {
      case Expression::Kind::kBytes:
        nfa_[from].bytes.push_back({expression.low, expression.high, to});
        return;
      case Expression::Kind::kLiteral:
        ConnectLiteral(expression.text, from, to);
        return;
      case Expression::Kind::kSequence:
        for (size_t i = 0; i < expression.parts.size(); ++i) {
          const bool last = i + 1 == expression.parts.size();
          const uint32_t next = last ? to : NewState();
          Connect(expression.parts[i], from, next);
          from = next;
        }
        if (expression.parts.empty()) nfa_[from].empty.push_back(to);
        return;
      case Expression::Kind::kChoice:
        for (const ExpressionId part : expression.parts) {
          Connect(part, from, to);
        }
        return;
      case Expression::Kind::kRepeat:
        ConnectRepeat(expression, from, to);
        return;
      case Expression::Kind::kRule:
        if (expression.index == rule_ && to == 1) {
          // A rule that ends with itself begins again instead: the stack of a
          // list that is written so does not grow.
          nfa_[from].empty.push_back(0);
        } else {
          nfa_[from].calls.push_back({expression.index, to});
        }
        return;
      case Expression::Kind::kGraph:
        if (expression.max < 0) {
          ConnectGraph(grammar_.graph(expression.index), from, to);
        } else {
          nfa_[from].calls.push_back({NewGraphRule(expression), to});
        }
        return;
    }
  }

  void ConnectLiteral(const std::string& text, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < text.size(); ++i) {
      const uint32_t next = i + 1 == text.size() ? to : NewState();
      const uint8_t byte = static_cast<uint8_t>(text[i]);
      nfa_[from].bytes.push_back({byte, byte, next});
      from = next;
    }
    if (text.empty()) nfa_[from].empty.push_back(to);
  }

  void ConnectGraph(const ExpressionGraph& graph, uint32_t from, uint32_t to) {
    std::vector<uint32_t> states(graph.final.size());
    for (uint32_t& state : states) state = NewState();
    if (failed_) return;
    nfa_[from].empty.push_back(states[0]);
    for (size_t i = 0; i < states.size(); ++i) {
      if (graph.final[i]) nfa_[states[i]].empty.push_back(to);
    }
    for (const ExpressionGraph::Edge& edge : graph.edges) {
      if (edge.label == ExpressionGraph::kNoLabel) {
        nfa_[states[edge.from]].empty.push_back(states[edge.to]);
      } else {
        Connect(edge.label, states[edge.from], states[edge.to]);
      }
    }
  }

  void ConnectRepeat(const Expression& repeat, uint32_t from, uint32_t to) {
    const ExpressionId part = repeat.parts[0];
    if (repeat.max < 0 &&
        (repeat.min == 0 || repeat.size <= kMostSpelledStates)) {
      from = ConnectTimes(part, repeat.min, from);
      // A state of its own, so that the loop stays inside.
      const uint32_t loop = NewState();
      nfa_[from].empty.push_back(loop);
      nfa_[loop].empty.push_back(to);
      const uint32_t again = NewState();
      Connect(part, loop, again);
      nfa_[again].empty.push_back(loop);
      return;
    }
    if (repeat.max >= 0 &&
        (repeat.max <= 1 || repeat.size <= kMostSpelledStates)) {
      from = ConnectTimes(part, repeat.min, from);
      for (int32_t i = repeat.min; i < repeat.max && !failed_; ++i) {
        nfa_[from].empty.push_back(to);
        const uint32_t next = i + 1 == repeat.max ? to : NewState();
        Connect(part, from, next);
        from = next;
      }
      if (from != to) nfa_[from].empty.push_back(to);
      return;
    }
    nfa_[from].calls.push_back({NewCountedRule(repeat), to});
  }

  uint32_t ConnectTimes(ExpressionId part, int32_t times, uint32_t from) {
    for (int32_t i = 0; i < times && !failed_; ++i) {
      const uint32_t next = NewState();
      Connect(part, from, next);
      from = next;
    }
    return from;
  }

  // Counted rules are not shared, so that most have only one caller.
  RuleId NewCountedRule(const Expression& repeat) {
    const RuleId body = BodyRule(repeat.parts[0]);
    const RuleId id = NewRule(-1);
    Automaton::Rule& rule = result_.rules_[id];
    rule.counted = true;
    rule.body = body;
    rule.min = repeat.min;
    rule.max = repeat.max;
    return id;
  }

  RuleId NewGraphRule(const Expression& expression) {
    const ExpressionGraph& graph = grammar_.graph(expression.index);
    if (!work_.Take(graph.final.size() + 2 * graph.edges.size())) {
      failed_ = true;
      return 0;
    }
    Automaton::Graph made;
    std::vector<std::vector<uint32_t>> before(graph.final.size());
    std::vector<uint32_t> begin(graph.final.size() + 1, 0);
    for (const ExpressionGraph::Edge& edge : graph.edges) {
      ++begin[static_cast<size_t>(edge.from) + 1];
      before[edge.to].push_back(static_cast<uint32_t>(edge.from));
    }
    for (size_t i = 0; i < graph.final.size(); ++i) begin[i + 1] += begin[i];
    for (const uint32_t first : begin) {
      made.nodes.push_back({first, Automaton::kNone});
    }
    made.edges.resize(graph.edges.size());
    for (const ExpressionGraph::Edge& edge : graph.edges) {
      made.edges[begin[edge.from]++] = {BodyRule(edge.label),
                                        static_cast<uint32_t>(edge.to)};
    }
    std::vector<uint32_t> reached;
    for (uint32_t i = 0; i < graph.final.size(); ++i) {
      if (!graph.final[i]) continue;
      made.nodes[i].to_end = 0;
      reached.push_back(i);
    }
    for (size_t i = 0; i < reached.size(); ++i) {
      const uint32_t next = made.nodes[reached[i]].to_end + 1;
      made.farthest = next - 1;
      for (const uint32_t from : before[reached[i]]) {
        if (made.nodes[from].to_end != Automaton::kNone) continue;
        made.nodes[from].to_end = next;
        reached.push_back(from);
      }
    }
    const RuleId id = NewRule(-1);
    Automaton::Rule& rule = result_.rules_[id];
    rule.counted = true;
    rule.graph = static_cast<int32_t>(result_.graphs_.size());
    rule.max = expression.max;
    result_.graphs_.push_back(
        std::make_shared<const Automaton::Graph>(std::move(made)));
    return id;
  }

  const Automaton::Graph* GraphOf(const Automaton::Rule& rule) const {
    return rule.graph < 0 ? nullptr : result_.graphs_[rule.graph].get();
  }

  RuleId NewRule(ExpressionId definition) {
    failed_ = failed_ || result_.rules_.size() > grammar_.limits().positions;
    result_.rules_.emplace_back();
    body_of_.push_back(definition);
    return static_cast<RuleId>(result_.rules_.size()) - 1;
  }

  RuleId BodyRule(ExpressionId part) {
    const Expression& expression = grammar_.expression(part);
    if (expression.kind == Expression::Kind::kRule) return expression.index;
    const auto [found, added] = bodies_.try_emplace(part, 0);
    if (added) found->second = NewRule(part);
    return found->second;
  }

  absl::Status PlaceCountedRules() {
    uint64_t base = drafts_.size();
    for (size_t id = 0; id < result_.rules_.size(); ++id) {
      Automaton::Rule& rule = result_.rules_[id];
      if (!rule.counted) continue;
      rule.start = static_cast<Position>(base);
      const Automaton::Graph* graph = GraphOf(rule);
      base += (1 + static_cast<uint64_t>(std::max(rule.min, rule.max))) *
              (graph == nullptr ? 1 : graph->size());
      if (base > kMostCountedPositions) {
        return absl::ResourceExhaustedError(
            fmt::format("the counts of the grammar's repetitions add up to "
                        "more than {}; lower them",
                        kMostCountedPositions));
      }
    }
    return absl::OkStatus();
  }

  // The edges into each position, and the counted rules of each body.
  void ReverseEdges() {
    // Counted first, so that they are one list.
    before_begin_.assign(drafts_.size() + 1, 0);
    for (const auto& edge : draft_bytes_) ++before_begin_[edge.target];
    for (const auto& call : draft_calls_) ++before_begin_[call.target];
    uint32_t sum = 0;
    for (uint32_t& begin : before_begin_) sum = begin += sum;
    before_.resize(sum);
    callers_.resize(result_.rules_.size());
    counters_.resize(result_.rules_.size());
    for (Position i = 0; i < drafts_.size(); ++i) {
      for (const auto& edge : BytesOf(i)) {
        before_[--before_begin_[edge.target]] = {i, kByte};
      }
      for (const auto& call : CallsOf(i)) {
        before_[--before_begin_[call.target]] = {i, call.rule};
        callers_[call.rule].push_back({i, call.target});
      }
    }
    for (RuleId id = 0; id < static_cast<RuleId>(result_.rules_.size()); ++id) {
      if (result_.rules_[id].counted &&
          GraphOf(result_.rules_[id]) == nullptr) {
        counters_[result_.rules_[id].body].push_back(id);
      }
    }
  }

  // Marks each position from which its rule's end can be reached, by any edges
  // or by calls of empty strings alone (Draft::*reaches), and each rule whose
  // start is such a position (Rule::*whole). Looks at each edge once or twice.
  void FindEnds(bool by_bytes, bool Draft::*reaches,
                bool Automaton::Rule::*whole) {
    std::vector<Position> reached;
    std::vector<RuleId> done;
    for (Position i = 0; i < drafts_.size(); ++i) {
      if (drafts_[i].edges.end) reached.push_back(i);
    }
    for (RuleId id = 0; id < static_cast<RuleId>(result_.rules_.size()); ++id) {
      const Automaton::Rule& rule = result_.rules_[id];
      if (!rule.counted) continue;
      // The edges of a graph read characters, which all have a text.
      if (const Automaton::Graph* graph = GraphOf(rule)) {
        const uint32_t to_end = graph->nodes[0].to_end;
        if (by_bytes ? to_end <= static_cast<uint32_t>(rule.max)
                     : to_end == 0) {
          done.push_back(id);
        }
      } else if (rule.min == 0) {
        done.push_back(id);
      }
    }
    while (!reached.empty() || !done.empty()) {
      if (!done.empty()) {
        const RuleId id = done.back();
        done.pop_back();
        if (std::exchange(result_.rules_[id].*whole, true)) continue;
        done.insert(done.end(), counters_[id].begin(), counters_[id].end());
        for (const auto& [from, target] : callers_[id]) {
          if (drafts_[target].*reaches) reached.push_back(from);
        }
        continue;
      }
      const Position at = reached.back();
      reached.pop_back();
      if (std::exchange(drafts_[at].*reaches, true)) continue;
      if (result_.rules_[drafts_[at].rule].start == at) {
        done.push_back(drafts_[at].rule);
      }
      for (uint32_t i = before_begin_[at]; i < before_begin_[at + 1]; ++i) {
        const auto& [from, rule] = before_[i];
        if (rule == kByte ? by_bytes : result_.rules_[rule].*whole) {
          reached.push_back(from);
        }
      }
    }
  }

  void Freeze() {
    std::vector<int> sites(result_.rules_.size(), 0);
    result_.rule_of_.reserve(drafts_.size());
    result_.ends_.reserve(drafts_.size());
    result_.byte_begin_.reserve(drafts_.size() + 1);
    result_.call_begin_.reserve(drafts_.size() + 1);
    result_.bytes_.reserve(edges_);
    for (Position i = 0; i < drafts_.size(); ++i) {
      const Draft& draft = drafts_[i];
      result_.rule_of_.push_back(draft.rule);
      result_.ends_.push_back(draft.nullable_end);
      result_.byte_begin_.push_back(
          static_cast<uint32_t>(result_.bytes_.size()));
      result_.call_begin_.push_back(
          static_cast<uint32_t>(result_.calls_.size()));
      for (const auto& edge : BytesOf(i)) {
        if (drafts_[edge.target].live) result_.bytes_.push_back(edge);
      }
      for (const auto& call : CallsOf(i)) {
        Automaton::Rule& rule = result_.rules_[call.rule];
        if (!drafts_[call.target].live || !rule.productive) continue;
        result_.calls_.push_back(call);
        // Two calls from one position lead to different places, too.
        rule.site = ++sites[call.rule] == 1 ? i : Automaton::kNone;
      }
    }
    result_.byte_begin_.push_back(static_cast<uint32_t>(result_.bytes_.size()));
    result_.call_begin_.push_back(static_cast<uint32_t>(result_.calls_.size()));
    // The caller of the root is outside.
    result_.rules_[result_.root_].site = Automaton::kNone;
    for (RuleId id = 0; id < static_cast<RuleId>(result_.rules_.size()); ++id) {
      const Automaton::Rule& rule = result_.rules_[id];
      if (!rule.counted) continue;
      Automaton::Counted counted;
      counted.rule = id;
      counted.base = rule.start;
      if (const Automaton::Graph* graph = GraphOf(rule)) {
        counted.graph = graph;
        counted.last = static_cast<uint32_t>(rule.max);
        result_.counted_.push_back(counted);
        for (const Automaton::Graph::Edge& edge : graph->edges) {
          result_.rules_[edge.rule].site = Automaton::kNone;
        }
        continue;
      }
      const Automaton::Rule& body = result_.rules_[rule.body];
      const bool endless = rule.max < 0;
      counted.body = rule.body;
      counted.needed =
          body.nullable ? 0 : static_cast<uint32_t>(std::max(rule.min, 0));
      counted.last = static_cast<uint32_t>(endless ? rule.min : rule.max);
      counted.endless = endless;
      if (!body.productive) {
        counted.last = 0;
        counted.endless = false;
      }
      result_.counted_.push_back(counted);
      result_.rules_[rule.body].site = Automaton::kNone;
    }
  }

  const Grammar& grammar_;
  WorkBudget work_;
  size_t edges_ = 0;
  bool failed_ = false;
  RuleId rule_ = 0;  // the rule that nfa_ is for
  RuleNfa nfa_;
  std::vector<Draft> drafts_;
  std::vector<Automaton::ByteEdge> draft_bytes_;  // targets are positions
  std::vector<Automaton::CallEdge> draft_calls_;
  std::vector<ExpressionId> body_of_;  // of rules beyond the grammar's
  std::map<ExpressionId, RuleId> bodies_;
  // The edges into position i: before_[before_begin_[i] .. [i + 1]).
  std::vector<std::pair<Position, RuleId>> before_;
  std::vector<uint32_t> before_begin_;
  std::vector<std::vector<std::pair<Position, Position>>> callers_;
  std::vector<std::vector<RuleId>> counters_;
  Automaton result_;
};

absl::StatusOr<Automaton> Automaton::Create(const Grammar& grammar,
                                            const AliveCheck& check_alive) {
  auto automaton = AutomatonBuilder(grammar, check_alive).Build();
  if (automaton.ok() || grammar.place().empty()) return automaton;
  return absl::Status(automaton.status().code(),
                      fmt::format("{}: {}", grammar.place(),
                                  std::string(automaton.status().message())));
}

Automaton::Count Automaton::CountAt(Position at) const {
  const Counted& counted = CountedAt(at);
  if (counted.graph != nullptr) {
    const uint32_t node = counted.NodeOf(at);
    const uint32_t size = counted.graph->size();
    const uint32_t left =
        counted.last - counted.CountOf(at) - counted.graph->nodes[node].to_end;
    return {.endless = false,
            .left = left,
            .next = at + size,
            .last = at + left * size,
            .may_end = at};
  }
  const uint32_t count = at - counted.base;
  return {.endless = counted.endless,
          .left = counted.endless ? 0 : counted.last - count,
          .next = count < counted.last ? at + 1 : at,
          .last = counted.base + counted.last,
          .may_end = counted.base + counted.needed};
}

Position Automaton::Representative(Position at, uint32_t length) const {
  if (!IsCounted(at)) return at;
  const Counted& counted = CountedAt(at);
  if (counted.graph != nullptr) {
    const bool far =
        uint64_t{counted.CountOf(at)} + length + counted.graph->farthest <=
        counted.last;
    return far ? counted.base + counted.NodeOf(at) : at;
  }
  const uint32_t count = at - counted.base;
  // Each body has at least one byte here: an empty one changes nothing.
  if (!counted.endless && counted.last - count <= length) return at;
  if (count >= counted.needed) {
    return counted.base + (counted.endless ? counted.last : counted.needed);
  }
  if (counted.needed - count <= length) return at;
  // Neither bound can be reached: the least count that is as far from both.
  return counted.base;
}

}  // namespace trivium
