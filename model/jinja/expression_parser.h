#ifndef TRIVIUM_MODEL_JINJA_EXPRESSION_PARSER_H_
#define TRIVIUM_MODEL_JINJA_EXPRESSION_PARSER_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/jinja/syntax.h"
#include "model/jinja/token_stream.h"

namespace trivium::jinja {

// Parses expressions like jinja2's parser.py, with its precedences. Unknown
// filters, tests and methods are refused here, by name.
class ExpressionParser {
 public:
  using Result = absl::StatusOr<ExpressionPointer>;

  explicit ExpressionParser(TokenStream* tokens) : tokens_(*tokens) {}

  Result ParseExpression();
  // Parses expressions joined by commas; one without a comma is itself, not a
  // tuple. Without `conditions`, "a if b" is not allowed. Ends before one of
  // `ends`.
  Result ParseTuple(bool conditions = true,
                    std::initializer_list<std::string_view> ends = {});
  // Parses filters that have no operand yet (a filter block's).
  Result ParseFilterOfBlock();
  // Parses the target of a for or a set; with `attributes`, an attribute of a
  // namespace is allowed.
  Result ParseTarget(bool attributes);
  Result ParseCallOnly();

  // The functions that are called by name, each with the line of the call.
  const std::vector<std::pair<std::string, int>>& called() const {
    return called_;
  }

 private:
  Result ParseConditional();
  Result ParseOr();
  Result ParseAnd();
  Result ParseNot();
  Result ParseCompare();
  Result ParseSum();
  Result ParseConcatenation();
  Result ParseProduct();
  Result ParsePower();
  Result ParseUnary(bool filters);
  Result ParsePrimary();
  Result ParseLiteral();
  Result ParseParentheses();
  Result ParseList();
  Result ParseDict();
  Result ParsePostfix(ExpressionPointer node);
  Result ParseFilters(ExpressionPointer node);
  Result ParseFilter(ExpressionPointer node);
  Result ParseTest(ExpressionPointer node);
  Result ParseSubscript(ExpressionPointer node);
  Result ParseBracket(ExpressionPointer node);
  Result ParseCall(ExpressionPointer node);
  absl::Status ParseArguments(Expression* node);
  // Checks the filters and tests that are named by a constant argument.
  absl::Status CheckNamedByConstant(const Expression& node) const;
  bool AtTupleEnd(std::initializer_list<std::string_view> ends) const;

  ExpressionPointer New(Expression::Kind kind) const;
  // Sets the node's depth; INVALID_ARGUMENT if it is too large.
  Result Done(ExpressionPointer node) const;

  TokenStream& tokens_;
  int nesting_ = 0;
  std::vector<std::pair<std::string, int>> called_;
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_EXPRESSION_PARSER_H_
