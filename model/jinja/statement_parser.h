#ifndef TRIVIUM_MODEL_JINJA_STATEMENT_PARSER_H_
#define TRIVIUM_MODEL_JINJA_STATEMENT_PARSER_H_

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/jinja/expression_parser.h"
#include "model/jinja/syntax.h"
#include "model/jinja/token_stream.h"

namespace trivium::jinja {

// Parses a whole template; what is not supported is refused by name.
class StatementParser {
 public:
  explicit StatementParser(std::vector<Token> tokens)
      : tokens_(std::move(tokens)), expressions_(&tokens_) {}

  absl::StatusOr<Body> ParseTemplate();

 private:
  using Ends = std::initializer_list<std::string_view>;
  using Result = absl::StatusOr<Statement>;

  // Up to a tag that begins with one of `ends`, whose name is then next.
  absl::StatusOr<Body> ParseBody(Ends ends);
  // The same behind a tag's contents; the tag that ends it is skipped if it is
  // `end` and the only one.
  absl::StatusOr<Body> ParseBlock(Ends ends);
  absl::StatusOr<Body> ParseWholeBlock(std::string_view end);
  Result ParseStatement();
  Result ParseIf();
  Result ParseFor();
  Result ParseSet();
  Result ParseMacro();
  Result ParseCallBlock();
  Result ParseFilterBlock();
  Result ParseWith();
  Result ParseScope();
  Result ParseJump();
  absl::Status ParseParameters(MacroDefinition* macro);
  absl::Status EndTag();
  absl::Status CheckCalls() const;
  void Define(const Expression& target);
  Statement New(Statement::Kind kind) const;

  TokenStream tokens_;
  ExpressionParser expressions_;
  std::set<std::string, std::less<>> defined_;  // names that something sets
  int nesting_ = 0;
  int loops_ = 0;  // around this place, in this macro
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_STATEMENT_PARSER_H_
