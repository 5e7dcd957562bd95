#include "model/grammar/grammar.h"

#include <algorithm>

#include "fmt/format.h"

namespace trivium {
namespace {

// No size is greater, so that its product with a count fits.
constexpr size_t kHugeSize = size_t{1} << 32;

Expression OfKind(Expression::Kind kind) {
  Expression expression;
  expression.kind = kind;
  return expression;
}

}  // namespace

ExpressionId Grammar::Add(Expression expression) {
  size_ += 1 + expression.parts.size() + expression.text.size() / 16;
  expression.size = std::min(expression.size, kHugeSize);
  // Beyond the limit nothing grows any more; Check tells.
  if (size_ > limits_.expressions) expression.parts.clear();
  if (size_ > 2 * limits_.expressions && !expressions_.empty()) return 0;
  expressions_.push_back(std::move(expression));
  return static_cast<ExpressionId>(expressions_.size()) - 1;
}

absl::Status Grammar::Check() const {
  if (size_ <= limits_.expressions) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "the grammar needs more than {} expressions; give a smaller one",
      limits_.expressions));
}

ExpressionId Grammar::Bytes(uint8_t low, uint8_t high) {
  Expression expression = OfKind(Expression::Kind::kBytes);
  expression.low = low;
  expression.high = high;
  return Add(std::move(expression));
}

ExpressionId Grammar::Literal(std::string_view text) {
  Expression expression = OfKind(Expression::Kind::kLiteral);
  expression.text = text;
  expression.size = text.size() + 1;
  return Add(std::move(expression));
}

ExpressionId Grammar::Sequence(std::vector<ExpressionId> parts) {
  if (parts.size() == 1) return parts[0];
  Expression expression = OfKind(Expression::Kind::kSequence);
  for (const ExpressionId part : parts) {
    expression.size += expressions_[part].size;
  }
  expression.parts = std::move(parts);
  return Add(std::move(expression));
}

ExpressionId Grammar::Choice(std::vector<ExpressionId> parts) {
  if (parts.size() == 1) return parts[0];
  Expression expression = OfKind(Expression::Kind::kChoice);
  for (const ExpressionId part : parts) {
    expression.size += expressions_[part].size;
  }
  expression.parts = std::move(parts);
  return Add(std::move(expression));
}

ExpressionId Grammar::Repeat(ExpressionId part, int32_t min, int32_t max) {
  if (min == 1 && max == 1) return part;
  Expression expression = OfKind(Expression::Kind::kRepeat);
  expression.min = min;
  expression.max = max;
  expression.size += expressions_[part].size *
                     static_cast<size_t>(std::max({min, max, int32_t{1}}));
  expression.parts = {part};
  return Add(std::move(expression));
}

ExpressionId Grammar::Rule(RuleId rule) {
  Expression expression = OfKind(Expression::Kind::kRule);
  expression.index = rule;
  return Add(std::move(expression));
}

ExpressionId Grammar::Graph(ExpressionGraph graph, int32_t max) {
  Expression expression = OfKind(Expression::Kind::kGraph);
  expression.index = static_cast<int32_t>(graphs_.size());
  expression.max = max;
  expression.size = graph.final.size();
  for (const ExpressionGraph::Edge& edge : graph.edges) {
    if (edge.label >= 0) expression.size += expressions_[edge.label].size;
  }
  size_ += graph.final.size() + graph.edges.size();
  if (size_ > limits_.expressions) {
    graph = ExpressionGraph();
    graph.AddNode();
  }
  graphs_.push_back(std::move(graph));
  return Add(std::move(expression));
}

RuleId Grammar::AddRule() {
  ++size_;
  rules_.push_back(-1);
  return static_cast<RuleId>(rules_.size()) - 1;
}

ExpressionId Grammar::AsRule(ExpressionId expression) {
  if (expressions_[expression].kind == Expression::Kind::kRule) {
    return expression;
  }
  const auto [found, added] = rule_of_.try_emplace(expression, 0);
  if (added) {
    found->second = AddRule();
    Define(found->second, expression);
  }
  return Rule(found->second);
}

}  // namespace trivium
