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

// Parses expressions as jinja2's parser.py does, precedences and all. Filters,
// tests and methods that are not known are refused here, by name.
class ExpressionParser {
 public:
  using Result = absl::StatusOr<ExpressionPointer>;

  explicit ExpressionParser(TokenStream* tokens) : tokens_(*tokens) {}

  Result ParseExpression();
  // Expressions that commas join; one without a comma is itself. With
  // `conditions` "a if b" may stand in it. It ends before one of `ends`.
  Result ParseTuple(bool conditions = true,
                    std::initializer_list<std::string_view> ends = {});
  // Filters alone, applied to what nobody names yet.
  Result ParseFilterOfBlock();
  // What a for or a set assigns to; an attribute of a namespace may be one.
  Result ParseTarget(bool attributes);
  Result ParseCallOnly();

  // The functions that are called by name, and in which line first.
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
  // Filters and tests that other filters are given by name.
  absl::Status CheckNamedByConstant(const Expression& node) const;
  bool AtTupleEnd(std::initializer_list<std::string_view> ends) const;

  ExpressionPointer New(Expression::Kind kind) const;
  // Counts the depth; INVALID_ARGUMENT where it is too much.
  Result Done(ExpressionPointer node) const;

  TokenStream& tokens_;
  int nesting_ = 0;
  std::vector<std::pair<std::string, int>> called_;
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_EXPRESSION_PARSER_H_
