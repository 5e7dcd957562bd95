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

// Parses a whole template; refuses what is not supported, by name.
class StatementParser {
 public:
  explicit StatementParser(std::vector<Token> tokens)
      : tokens_(std::move(tokens)), expressions_(&tokens_) {}

  absl::StatusOr<Body> ParseTemplate();

 private:
  using Ends = std::initializer_list<std::string_view>;
  using Result = absl::StatusOr<Statement>;

  // Parses up to a tag that begins with one of `ends`; its name is the next
  // token.
  absl::StatusOr<Body> ParseBody(Ends ends);
  // Both parse the rest of a tag and the body after it. ParseWholeBlock also
  // skips `end`, the only tag that may end its body.
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
  std::set<std::string, std::less<>> defined_;  // names that are set anywhere
  int nesting_ = 0;
  int loops_ = 0;  // loops around this place, within this macro
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_STATEMENT_PARSER_H_
