#ifndef TRIVIUM_MODEL_GRAMMAR_GRAMMAR_H_
#define TRIVIUM_MODEL_GRAMMAR_GRAMMAR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace trivium {

// The bounds of a compilation. They count work, not time, so the same text is
// always compiled or always refused.
struct GrammarLimits {
  size_t text_bytes = 128 << 10;  // a schema, an expression, a GBNF text
  size_t expressions = 200'000;   // of a Grammar
  size_t positions = 200'000;     // of an Automaton
  size_t edges = 1'000'000;       // of an Automaton
  size_t work = 20'000'000;       // steps of making it
};

// The largest count that a repetition may have.
inline constexpr int32_t kMaxRepetitions = 1 << 24;

using ExpressionId = int32_t;
using RuleId = int32_t;

// A part of a grammar: a set of byte strings.
struct Expression {
  enum class Kind : uint8_t {
    kBytes,     // one byte, low .. high
    kLiteral,   // `text`
    kSequence,  // all of `parts`, one after the other; the empty string if none
    kChoice,    // any of `parts`; nothing if there is none
    kRepeat,    // parts[0], min .. max times; max < 0: without limit
    kRule,      // a string of rule `index`
    kGraph,     // a path of graph `index`; max >= 0: of at most `max` edges
  };
  Kind kind = Kind::kSequence;
  uint8_t low = 0, high = 0;
  int32_t min = 0, max = 0;
  int32_t index = 0;
  size_t size = 1;  // states of an automaton that spells it out, saturated
  std::string text;
  std::vector<ExpressionId> parts;
};

// A finite automaton whose edges are expressions. A path from node 0 to a final
// node is a string of it.
struct ExpressionGraph {
  struct Edge {
    int32_t from, to;
    ExpressionId label;  // kNoLabel: the empty string
  };
  static constexpr ExpressionId kNoLabel = -1;

  int32_t AddNode() {
    final.push_back(false);
    return static_cast<int32_t>(final.size()) - 1;
  }
  std::vector<bool> final;  // [nodes]
  std::vector<Edge> edges;
};

// A context-free grammar over bytes. A rule may call itself anywhere, also on
// its left. Expressions may be used more than once.
//
//   Grammar grammar(limits);
//   const RuleId list = grammar.AddRule();
//   grammar.Define(list, grammar.Sequence({grammar.Literal("["),
//       grammar.Repeat(grammar.Rule(list), 0, -1), grammar.Literal("]")}));
//   grammar.set_root(list);
class Grammar {
 public:
  explicit Grammar(const GrammarLimits& limits = {}) : limits_(limits) {}

  ExpressionId Bytes(uint8_t low, uint8_t high);
  ExpressionId Literal(std::string_view text);
  ExpressionId Sequence(std::vector<ExpressionId> parts);
  ExpressionId Choice(std::vector<ExpressionId> parts);
  ExpressionId Repeat(ExpressionId part, int32_t min, int32_t max);
  ExpressionId Optional(ExpressionId part) { return Repeat(part, 0, 1); }
  ExpressionId Rule(RuleId rule);
  // With max >= 0, the paths of at most `max` edges, each of which must read
  // something. Like a count, the bound costs no memory.
  ExpressionId Graph(ExpressionGraph graph, int32_t max = -1);

  // A rule without a definition has no strings.
  RuleId AddRule();
  void Define(RuleId rule, ExpressionId expression) {
    rules_[rule] = expression;
  }
  // Returns a call of a new rule for the expression. The same expression gives
  // the same rule.
  ExpressionId AsRule(ExpressionId expression);
  // Says that the rule is an item of arrays whose items must differ. It has
  // scalars of JSON, each in one spelling.
  void SetUnique(RuleId rule) { unique_.push_back(rule); }
  void set_root(RuleId rule) { root_ = rule; }
  // Sets the place that errors about the whole name first: the JSON pointer
  // "#" of a schema.
  void set_place(std::string place) { place_ = std::move(place); }

  // RESOURCE_EXHAUSTED if there are more expressions than the limits allow.
  // Whatever was added beyond them is not to be used.
  absl::Status Check() const;

  const GrammarLimits& limits() const { return limits_; }
  RuleId root() const { return root_; }
  const std::string& place() const { return place_; }
  size_t rules() const { return rules_.size(); }
  const std::vector<RuleId>& unique() const { return unique_; }
  // The rule's expression; -1 if it has none.
  ExpressionId definition(RuleId rule) const { return rules_[rule]; }
  const Expression& expression(ExpressionId id) const {
    return expressions_[id];
  }
  const ExpressionGraph& graph(int32_t index) const { return graphs_[index]; }

 private:
  ExpressionId Add(Expression expression);

  GrammarLimits limits_;
  std::vector<Expression> expressions_;
  std::vector<ExpressionGraph> graphs_;
  std::vector<ExpressionId> rules_;
  std::map<ExpressionId, RuleId> rule_of_;  // made by AsRule
  std::vector<RuleId> unique_;              // set by SetUnique
  size_t size_ = 0;                         // parts, edges and bytes of texts
  RuleId root_ = 0;
  std::string place_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_GRAMMAR_H_
