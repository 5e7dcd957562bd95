#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "model/grammar/char_dfa.h"
#include "model/grammar/code_points.h"
#include "model/grammar/frontends.h"
#include "model/grammar/regex_syntax.h"
#include "model/grammar/work_budget.h"

namespace trivium {
namespace {

// The whole of one expression.
absl::StatusOr<Grammar> WithRoot(Grammar grammar, ExpressionId root) {
  grammar.set_root(grammar.AddRule());
  grammar.Define(grammar.root(), root);
  TRIVIUM_RETURN_IF_ERROR(grammar.Check());
  return grammar;
}

}  // namespace

absl::StatusOr<Grammar> GrammarOfRegex(std::string_view expression,
                                       const GrammarLimits& limits) {
  if (expression.size() > limits.text_bytes) {
    return absl::ResourceExhaustedError(
        fmt::format("an expression of {} bytes is too long, give at most {}",
                    expression.size(), limits.text_bytes));
  }
  WorkBudget work(limits.work);
  TRIVIUM_ASSIGN_OR_RETURN(
      const RegexNode node,
      ParseRegex(expression, RegexDialect::kRe2, /*search=*/false, &work));
  Grammar grammar(limits);
  const auto encode = [&](const CodePointSet& set) {
    return Utf8Expression(set, &grammar);
  };
  if (HasAssertions(node)) {
    TRIVIUM_ASSIGN_OR_RETURN(const CharDfa texts, CharDfa::Create(node, &work));
    const ExpressionId root = texts.ToExpression(encode, &grammar);
    return WithRoot(std::move(grammar), root);
  }
  const ExpressionId root = RegexExpression(node, encode, &grammar);
  return WithRoot(std::move(grammar), root);
}

absl::StatusOr<Grammar> GrammarOfChoices(std::span<const std::string> choices,
                                         const GrammarLimits& limits) {
  if (choices.empty()) {
    return absl::InvalidArgumentError("no choices; give at least one");
  }
  Grammar grammar(limits);
  std::vector<ExpressionId> parts;
  size_t bytes = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].empty() || !IsUtf8(choices[i])) {
      return absl::InvalidArgumentError(
          fmt::format("choices[{}]: is {}; give a text", i,
                      choices[i].empty() ? "empty" : "not UTF-8"));
    }
    bytes += choices[i].size();
    if (bytes > limits.text_bytes) {
      return absl::ResourceExhaustedError(
          fmt::format("choices[{}]: choices of more than {} bytes are too long",
                      i, limits.text_bytes));
    }
    parts.push_back(grammar.Literal(choices[i]));
  }
  const ExpressionId root = grammar.Choice(std::move(parts));
  return WithRoot(std::move(grammar), root);
}

}  // namespace trivium
