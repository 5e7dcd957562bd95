// Parses what follows a primary expression: .name, [key], (arguments), filters
// and tests.
//
// The names of filters, tests and methods are resolved here, so a template with
// an unknown one is refused when it is loaded and not when it is rendered. The
// same holds for tests and filters that select, reject and map get by name,
// which must therefore be constants. Functions are checked at the end of the
// template (StatementParser::CheckCalls), because a macro may be defined after
// its call.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "model/jinja/expression_parser.h"
#include "model/jinja/method_names.h"

namespace trivium::jinja {

namespace {

using NodeKind = Expression::Kind;

const Value* ConstantText(const Expression& node) {
  return node.kind == NodeKind::kConstant && node.constant.Is(Kind::kText)
             ? &node.constant
             : nullptr;
}

}  // namespace

ExpressionParser::Result ExpressionParser::ParsePostfix(
    ExpressionPointer node) {
  while (true) {
    if (tokens_.IsOperator(".")) {
      TRIVIUM_ASSIGN_OR_RETURN(node, ParseSubscript(std::move(node)));
    } else if (tokens_.IsOperator("[")) {
      TRIVIUM_ASSIGN_OR_RETURN(node, ParseBracket(std::move(node)));
    } else if (tokens_.IsOperator("(")) {
      TRIVIUM_ASSIGN_OR_RETURN(node, ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

ExpressionParser::Result ExpressionParser::ParseFilters(
    ExpressionPointer node) {
  while (true) {
    if (tokens_.SkipOperator("|")) {
      TRIVIUM_ASSIGN_OR_RETURN(node, ParseFilter(std::move(node)));
    } else if (tokens_.IsName("is")) {
      TRIVIUM_ASSIGN_OR_RETURN(node, ParseTest(std::move(node)));
    } else if (tokens_.IsOperator("(")) {
      TRIVIUM_ASSIGN_OR_RETURN(node, ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

ExpressionParser::Result ExpressionParser::ParseFilterOfBlock() {
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseFilter(nullptr));
  while (tokens_.SkipOperator("|")) {
    TRIVIUM_ASSIGN_OR_RETURN(node, ParseFilter(std::move(node)));
  }
  return node;
}

ExpressionParser::Result ExpressionParser::ParseFilter(ExpressionPointer node) {
  if (!tokens_.Is(TokenType::kName)) return tokens_.Unexpected("a filter");
  ExpressionPointer filter = New(NodeKind::kFilter);
  filter->name = tokens_.now().name;
  filter->filter = FindFilter(filter->name);
  if (filter->filter == nullptr) {
    return ErrorAt(filter->line, fmt::format("the filter '{}' is not supported",
                                             filter->name));
  }
  tokens_.Skip();
  filter->parts.push_back(std::move(node));
  if (tokens_.IsOperator("(")) {
    TRIVIUM_RETURN_IF_ERROR(ParseArguments(filter.get()));
  }
  TRIVIUM_RETURN_IF_ERROR(CheckNamedByConstant(*filter));
  return Done(std::move(filter));
}

absl::Status ExpressionParser::CheckNamedByConstant(
    const Expression& node) const {
  const bool by_attribute =
      node.name == "selectattr" || node.name == "rejectattr";
  const bool chooses =
      by_attribute || node.name == "select" || node.name == "reject";
  // Position after the filtered value.
  const size_t at = by_attribute ? 2 : 1;
  if ((!chooses && node.name != "map") || node.parts.size() <= at) {
    return absl::OkStatus();
  }
  const Value* name = ConstantText(*node.parts[at]);
  const std::string_view what = chooses ? "test" : "filter";
  if (name == nullptr) {
    return ErrorAt(node.line, fmt::format("{} needs the name of a {} in quotes",
                                          node.name, what));
  }
  const std::string text = Utf8Of(name->text());
  const bool known =
      chooses ? FindTest(text) != nullptr : FindFilter(text) != nullptr;
  if (known) return absl::OkStatus();
  return ErrorAt(node.line,
                 fmt::format("the {} '{}' is not supported", what, text));
}

ExpressionParser::Result ExpressionParser::ParseTest(ExpressionPointer node) {
  ExpressionPointer test = New(NodeKind::kTest);
  tokens_.Skip();
  const bool negated = tokens_.SkipName("not");
  if (!tokens_.Is(TokenType::kName)) return tokens_.Unexpected("a test");
  test->name = tokens_.now().name;
  test->test = FindTest(test->name);
  if (test->test == nullptr) {
    return ErrorAt(test->line,
                   fmt::format("the test '{}' is not supported", test->name));
  }
  tokens_.Skip();
  test->parts.push_back(std::move(node));
  const bool argument =
      (tokens_.Is(TokenType::kName) && !tokens_.IsName("else") &&
       !tokens_.IsName("or") && !tokens_.IsName("and")) ||
      tokens_.Is(TokenType::kString) || tokens_.Is(TokenType::kInteger) ||
      tokens_.Is(TokenType::kReal) || tokens_.IsOperator("[") ||
      tokens_.IsOperator("{");
  if (tokens_.IsOperator("(")) {
    TRIVIUM_RETURN_IF_ERROR(ParseArguments(test.get()));
  } else if (argument) {
    if (tokens_.IsName("is")) {
      return ErrorAt(test->line, "an `is` follows another; use `and`");
    }
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer part, ParsePrimary());
    TRIVIUM_ASSIGN_OR_RETURN(part, ParsePostfix(std::move(part)));
    test->parts.push_back(std::move(part));
  }
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer done, Done(std::move(test)));
  if (!negated) return done;
  ExpressionPointer opposite = New(NodeKind::kNot);
  opposite->parts.push_back(std::move(done));
  return Done(std::move(opposite));
}

ExpressionParser::Result ExpressionParser::ParseSubscript(
    ExpressionPointer node) {
  ExpressionPointer subscript = New(NodeKind::kAttribute);
  tokens_.Skip();
  subscript->parts.push_back(std::move(node));
  if (tokens_.Is(TokenType::kName)) {
    subscript->name = tokens_.now().name;
    if (subscript->name.starts_with("__")) {
      return ErrorAt(
          subscript->line,
          fmt::format("the attribute '{}' is not supported", subscript->name));
    }
    tokens_.Skip();
    return Done(std::move(subscript));
  }
  if (!tokens_.Is(TokenType::kInteger)) return tokens_.Unexpected("a name");
  subscript->kind = NodeKind::kItem;
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer place, ParseLiteral());
  subscript->parts.push_back(std::move(place));
  return Done(std::move(subscript));
}

ExpressionParser::Result ExpressionParser::ParseBracket(
    ExpressionPointer node) {
  ExpressionPointer item = New(NodeKind::kItem);
  tokens_.Skip();
  item->parts.push_back(std::move(node));
  ExpressionPointer key;
  if (!tokens_.IsOperator(":")) {
    TRIVIUM_ASSIGN_OR_RETURN(key, ParseExpression());
  }
  if (!tokens_.IsOperator(":")) {
    item->parts.push_back(std::move(key));
    if (tokens_.IsOperator(",")) return tokens_.Unexpected("']'");
    TRIVIUM_RETURN_IF_ERROR(tokens_.ExpectOperator("]"));
    return Done(std::move(item));
  }
  item->kind = NodeKind::kSlice;
  item->parts.push_back(std::move(key));
  for (int bound = 0; bound < 2; ++bound) {
    ExpressionPointer part;
    if (tokens_.SkipOperator(":") && !tokens_.IsOperator(":") &&
        !tokens_.IsOperator("]")) {
      TRIVIUM_ASSIGN_OR_RETURN(part, ParseExpression());
    }
    item->parts.push_back(std::move(part));
  }
  TRIVIUM_RETURN_IF_ERROR(tokens_.ExpectOperator("]"));
  return Done(std::move(item));
}

ExpressionParser::Result ExpressionParser::ParseCall(ExpressionPointer node) {
  if (node->kind == NodeKind::kAttribute && !IsKnownMethod(node->name)) {
    return ErrorAt(node->line,
                   fmt::format("the method '{}' is not supported", node->name));
  }
  if (node->kind == NodeKind::kName)
    called_.emplace_back(node->name, node->line);
  ExpressionPointer call = New(NodeKind::kCall);
  call->parts.push_back(std::move(node));
  TRIVIUM_RETURN_IF_ERROR(ParseArguments(call.get()));
  return Done(std::move(call));
}

ExpressionParser::Result ExpressionParser::ParseCallOnly() {
  const int line = tokens_.line();
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseExpression());
  if (node->kind == NodeKind::kCall) return node;
  return ErrorAt(line, "a call block has no call");
}

absl::Status ExpressionParser::ParseArguments(Expression* node) {
  TRIVIUM_RETURN_IF_ERROR(tokens_.ExpectOperator("("));
  while (!tokens_.IsOperator(")")) {
    if (tokens_.IsOperator("*") || tokens_.IsOperator("**")) {
      return ErrorAt(tokens_.line(),
                     "arguments with * or ** are not supported");
    }
    const bool named = tokens_.Is(TokenType::kName) &&
                       tokens_.next().type == TokenType::kOperator &&
                       tokens_.next().name == "=";
    if (named) {
      std::string name = tokens_.now().name;
      tokens_.Skip();
      tokens_.Skip();
      TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer value, ParseExpression());
      node->named.emplace_back(std::move(name), std::move(value));
    } else {
      if (!node->named.empty()) {
        return ErrorAt(tokens_.line(), "an argument follows named ones");
      }
      TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer value, ParseExpression());
      node->parts.push_back(std::move(value));
    }
    if (!tokens_.SkipOperator(",")) break;
  }
  return tokens_.ExpectOperator(")");
}

}  // namespace trivium::jinja
