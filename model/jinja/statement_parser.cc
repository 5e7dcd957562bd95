// A template is valid only if everything that it uses is known, so rendering
// cannot meet an unsupported tag, filter, test, method or function. Functions
// are checked last, after every name that the template sets, because macros may
// be called before the text defines them.
//
// A statement's parser begins at the tag's name and ends before its last %},
// which ParseStatement consumes. Bodies are parsed by recursion, whose depth
// kMaxBlocks bounds. break and continue must be within a loop of the same macro
// or block: blocks that render into a text of their own reset loops_.
#include "model/jinja/statement_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace trivium::jinja {

namespace {

constexpr int kMaxBlocks = 60;  // blocks inside each other

using StatementKind = Statement::Kind;

}  // namespace

Statement StatementParser::New(StatementKind kind) const {
  Statement statement;
  statement.kind = kind;
  statement.line = tokens_.line();
  return statement;
}

absl::StatusOr<Body> StatementParser::ParseTemplate() {
  TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseBody({}));
  TRIVIUM_RETURN_IF_ERROR(CheckCalls());
  return body;
}

absl::Status StatementParser::CheckCalls() const {
  for (const auto& [name, line] : expressions_.called()) {
    if (FindFunction(name) < 0 && !defined_.contains(name)) {
      return ErrorAt(line,
                     fmt::format("the function '{}' is not supported", name));
    }
  }
  return absl::OkStatus();
}

void StatementParser::Define(const Expression& target) {
  if (target.kind == Expression::Kind::kName) defined_.insert(target.name);
  for (const ExpressionPointer& part : target.parts) Define(*part);
}

absl::Status StatementParser::EndTag() {
  if (!tokens_.Is(TokenType::kBlockEnd)) return tokens_.Unexpected("%}");
  tokens_.Skip();
  return absl::OkStatus();
}

absl::StatusOr<Body> StatementParser::ParseBody(Ends ends) {
  Body body;
  while (!tokens_.Is(TokenType::kEnd)) {
    if (tokens_.Is(TokenType::kData)) {
      Statement statement = New(StatementKind::kText);
      auto text = std::make_shared<TextObject>();
      text->text = tokens_.now().text;
      statement.constant = Value::Of(Kind::kText);
      statement.constant.object = std::move(text);
      body.push_back(std::move(statement));
      tokens_.Skip();
    } else if (tokens_.Is(TokenType::kVariableBegin)) {
      Statement statement = New(StatementKind::kPrint);
      tokens_.Skip();
      TRIVIUM_ASSIGN_OR_RETURN(statement.expression, expressions_.ParseTuple());
      if (!tokens_.Is(TokenType::kVariableEnd)) {
        return tokens_.Unexpected("}}");
      }
      tokens_.Skip();
      body.push_back(std::move(statement));
    } else {  // the lexer produces nothing else here
      tokens_.Skip();
      const bool ended = std::any_of(
          ends.begin(), ends.end(),
          [&](std::string_view end) { return tokens_.IsName(end); });
      if (ended) return body;
      TRIVIUM_ASSIGN_OR_RETURN(Statement statement, ParseStatement());
      body.push_back(std::move(statement));
    }
  }
  if (ends.size() == 0) return body;
  return tokens_.Unexpected(fmt::format("{{% {} %}}", *(ends.end() - 1)));
}

absl::StatusOr<Body> StatementParser::ParseBlock(Ends ends) {
  if (++nesting_ > kMaxBlocks) {
    return ErrorAt(tokens_.line(),
                   fmt::format("blocks deeper than {} levels", kMaxBlocks));
  }
  tokens_.SkipOperator(":");
  TRIVIUM_RETURN_IF_ERROR(EndTag());
  absl::StatusOr<Body> body = ParseBody(ends);
  --nesting_;
  return body;
}

absl::StatusOr<Body> StatementParser::ParseWholeBlock(std::string_view end) {
  TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseBlock({end}));
  tokens_.Skip();
  return body;
}

StatementParser::Result StatementParser::ParseStatement() {
  if (!tokens_.Is(TokenType::kName)) return tokens_.Unexpected("a tag");
  const std::string name = tokens_.now().name;
  const int line = tokens_.line();
  const bool no_beginning = name.starts_with("end") || name.starts_with("el");
  Result result = ErrorAt(line, fmt::format("the tag '{}' {}", name,
                                            no_beginning ? "has no beginning"
                                                         : "is not supported"));
  if (name == "if") result = ParseIf();
  if (name == "for") result = ParseFor();
  if (name == "set") result = ParseSet();
  if (name == "macro") result = ParseMacro();
  if (name == "call") result = ParseCallBlock();
  if (name == "filter") result = ParseFilterBlock();
  if (name == "with") result = ParseWith();
  if (name == "generation") result = ParseScope();
  if (name == "break" || name == "continue") result = ParseJump();
  if (!result.ok()) return result;
  TRIVIUM_RETURN_IF_ERROR(EndTag());
  return result;
}

StatementParser::Result StatementParser::ParseIf() {
  Statement statement = New(StatementKind::kIf);
  do {  // at `if` or `elif`
    tokens_.Skip();
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer condition,
                             expressions_.ParseTuple(/*conditions=*/false));
    TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseBlock({"elif", "else", "endif"}));
    statement.conditions.push_back(std::move(condition));
    statement.bodies.push_back(std::move(body));
  } while (tokens_.IsName("elif"));
  if (tokens_.SkipName("else")) {
    TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseBlock({"endif"}));
    statement.bodies.push_back(std::move(body));
  }
  tokens_.Skip();
  return statement;
}

StatementParser::Result StatementParser::ParseFor() {
  Statement statement = New(StatementKind::kFor);
  tokens_.Skip();
  TRIVIUM_ASSIGN_OR_RETURN(statement.target,
                           expressions_.ParseTarget(/*attributes=*/false));
  Define(*statement.target);
  if (!tokens_.SkipName("in")) return tokens_.Unexpected("'in'");
  TRIVIUM_ASSIGN_OR_RETURN(
      statement.expression,
      expressions_.ParseTuple(/*conditions=*/false, {"recursive"}));
  ExpressionPointer condition;
  if (tokens_.SkipName("if")) {
    TRIVIUM_ASSIGN_OR_RETURN(condition, expressions_.ParseExpression());
  }
  statement.conditions.push_back(std::move(condition));
  if (tokens_.IsName("recursive")) {
    return ErrorAt(tokens_.line(), "'recursive' loops are not supported");
  }
  ++loops_;
  TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseBlock({"else", "endfor"}));
  --loops_;
  statement.bodies.push_back(std::move(body));
  statement.bodies.emplace_back();
  if (tokens_.SkipName("else")) {
    TRIVIUM_ASSIGN_OR_RETURN(statement.bodies[1], ParseBlock({"endfor"}));
  }
  tokens_.Skip();
  return statement;
}

StatementParser::Result StatementParser::ParseSet() {
  Statement statement = New(StatementKind::kSet);
  tokens_.Skip();
  TRIVIUM_ASSIGN_OR_RETURN(statement.target,
                           expressions_.ParseTarget(/*attributes=*/true));
  Define(*statement.target);
  if (tokens_.SkipOperator("=")) {
    TRIVIUM_ASSIGN_OR_RETURN(statement.expression, expressions_.ParseTuple());
    return statement;
  }
  statement.kind = StatementKind::kSetBlock;
  if (tokens_.SkipOperator("|")) {
    TRIVIUM_ASSIGN_OR_RETURN(statement.expression,
                             expressions_.ParseFilterOfBlock());
  }
  const int loops = std::exchange(loops_, 0);
  TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseWholeBlock("endset"));
  loops_ = loops;
  statement.bodies.push_back(std::move(body));
  return statement;
}

absl::Status StatementParser::ParseParameters(MacroDefinition* macro) {
  TRIVIUM_RETURN_IF_ERROR(tokens_.ExpectOperator("("));
  while (!tokens_.IsOperator(")")) {
    if (!tokens_.Is(TokenType::kName)) return tokens_.Unexpected("a name");
    macro->parameters.push_back(tokens_.now().name);
    defined_.insert(tokens_.now().name);
    tokens_.Skip();
    if (tokens_.SkipOperator("=")) {
      TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer value,
                               expressions_.ParseExpression());
      macro->defaults.push_back(std::move(value));
    } else if (!macro->defaults.empty()) {
      return tokens_.Unexpected("a default, as the parameter before has one,");
    }
    if (!tokens_.SkipOperator(",")) break;
  }
  return tokens_.ExpectOperator(")");
}

StatementParser::Result StatementParser::ParseMacro() {
  Statement statement = New(StatementKind::kMacro);
  tokens_.Skip();
  auto macro = std::make_shared<MacroDefinition>();
  if (!tokens_.Is(TokenType::kName)) return tokens_.Unexpected("a name");
  macro->name = tokens_.now().name;
  defined_.insert(macro->name);
  defined_.insert("caller");
  tokens_.Skip();
  TRIVIUM_RETURN_IF_ERROR(ParseParameters(macro.get()));
  const int loops = std::exchange(loops_, 0);
  TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseWholeBlock("endmacro"));
  loops_ = loops;
  macro->body = std::make_shared<const Body>(std::move(body));
  statement.macro = std::move(macro);
  return statement;
}

StatementParser::Result StatementParser::ParseCallBlock() {
  Statement statement = New(StatementKind::kCallBlock);
  tokens_.Skip();
  auto caller = std::make_shared<MacroDefinition>();
  caller->name = "caller";
  if (tokens_.IsOperator("(")) {
    TRIVIUM_RETURN_IF_ERROR(ParseParameters(caller.get()));
  }
  TRIVIUM_ASSIGN_OR_RETURN(statement.expression, expressions_.ParseCallOnly());
  const int loops = std::exchange(loops_, 0);
  TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseWholeBlock("endcall"));
  loops_ = loops;
  caller->body = std::make_shared<const Body>(std::move(body));
  statement.macro = std::move(caller);
  return statement;
}

StatementParser::Result StatementParser::ParseFilterBlock() {
  Statement statement = New(StatementKind::kFilterBlock);
  tokens_.Skip();
  TRIVIUM_ASSIGN_OR_RETURN(statement.expression,
                           expressions_.ParseFilterOfBlock());
  const int loops = std::exchange(loops_, 0);
  TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseWholeBlock("endfilter"));
  loops_ = loops;
  statement.bodies.push_back(std::move(body));
  return statement;
}

StatementParser::Result StatementParser::ParseWith() {
  Statement statement = New(StatementKind::kWith);
  tokens_.Skip();
  while (!tokens_.Is(TokenType::kBlockEnd)) {
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer target,
                             expressions_.ParseTarget(/*attributes=*/false));
    Define(*target);
    TRIVIUM_RETURN_IF_ERROR(tokens_.ExpectOperator("="));
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer value,
                             expressions_.ParseExpression());
    statement.targets.push_back(std::move(target));
    statement.conditions.push_back(std::move(value));
    if (!tokens_.SkipOperator(",")) break;
  }
  TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseWholeBlock("endwith"));
  statement.bodies.push_back(std::move(body));
  return statement;
}

StatementParser::Result StatementParser::ParseScope() {
  Statement statement = New(StatementKind::kScope);
  tokens_.Skip();
  const int loops = std::exchange(loops_, 0);
  TRIVIUM_ASSIGN_OR_RETURN(Body body, ParseWholeBlock("endgeneration"));
  loops_ = loops;
  statement.bodies.push_back(std::move(body));
  return statement;
}

StatementParser::Result StatementParser::ParseJump() {
  Statement statement = New(tokens_.IsName("break") ? StatementKind::kBreak
                                                    : StatementKind::kContinue);
  if (loops_ == 0) {
    return ErrorAt(statement.line,
                   fmt::format("'{}' outside of a loop", tokens_.now().name));
  }
  tokens_.Skip();
  return statement;
}

}  // namespace trivium::jinja
