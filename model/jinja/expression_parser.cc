// A recursive descent with one function for each level of precedence. From
// loose to tight, as in jinja2's parser.py: if-else; or; and; not; comparisons;
// + and -; ~; * / // %; **; signs; then, after a primary expression, .name
// [key] (call), and finally | filter and `is` test (postfix_parser.cc).
//
// The depth of every tree is bounded (Done), so whatever walks a tree may
// recurse. Long chains without brackets ("a or b or c ...") are parsed by loops
// but nest to the left, so they count, too. nesting_ bounds the parser's own
// recursion by the depth of brackets and signs. Errors name the line.
#include "model/jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/status.h"
#include "model/jinja/method_names.h"

namespace trivium::jinja {

namespace {

constexpr int kMaxExpressionDepth = 200;
constexpr int kMaxNesting = 60;  // nesting of brackets

using NodeKind = Expression::Kind;

}  // namespace

ExpressionPointer ExpressionParser::New(NodeKind kind) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = tokens_.line();
  return node;
}

ExpressionParser::Result ExpressionParser::Done(ExpressionPointer node) const {
  for (const ExpressionPointer& part : node->parts) {
    if (part != nullptr) node->depth = std::max(node->depth, part->depth);
  }
  for (const auto& [_, part] : node->named) {
    node->depth = std::max(node->depth, part->depth);
  }
  if (++node->depth > kMaxExpressionDepth) {
    return ErrorAt(node->line,
                   fmt::format("an expression is nested deeper than {} levels",
                               kMaxExpressionDepth));
  }
  return node;
}

ExpressionParser::Result ExpressionParser::ParseExpression() {
  if (++nesting_ > kMaxNesting) {
    return ErrorAt(
        tokens_.line(),
        fmt::format("brackets are nested deeper than {} levels", kMaxNesting));
  }
  Result result = ParseConditional();
  --nesting_;
  return result;
}

bool ExpressionParser::AtTupleEnd(
    std::initializer_list<std::string_view> ends) const {
  if (tokens_.Is(TokenType::kVariableEnd) || tokens_.Is(TokenType::kBlockEnd) ||
      tokens_.IsOperator(")")) {
    return true;
  }
  return std::any_of(ends.begin(), ends.end(),
                     [&](std::string_view end) { return tokens_.IsName(end); });
}

ExpressionParser::Result ExpressionParser::ParseTuple(
    bool conditions, std::initializer_list<std::string_view> ends) {
  ExpressionPointer tuple = New(NodeKind::kTuple);
  bool comma = false;
  while (!AtTupleEnd(ends)) {
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer part,
                             conditions ? ParseExpression() : ParseOr());
    tuple->parts.push_back(std::move(part));
    if (!tokens_.SkipOperator(",")) break;
    comma = true;
  }
  if (comma) return Done(std::move(tuple));
  if (tuple->parts.empty()) return tokens_.Unexpected("an expression");
  return std::move(tuple->parts[0]);
}

ExpressionParser::Result ExpressionParser::ParseConditional() {
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseOr());
  while (tokens_.IsName("if")) {
    ExpressionPointer choice = New(NodeKind::kConditional);
    tokens_.Skip();
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer condition, ParseOr());
    ExpressionPointer otherwise;
    if (tokens_.SkipName("else")) {
      TRIVIUM_ASSIGN_OR_RETURN(otherwise, ParseExpression());
    }
    choice->parts.push_back(std::move(node));
    choice->parts.push_back(std::move(condition));
    choice->parts.push_back(std::move(otherwise));
    TRIVIUM_ASSIGN_OR_RETURN(node, Done(std::move(choice)));
  }
  return node;
}

ExpressionParser::Result ExpressionParser::ParseOr() {
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseAnd());
  while (tokens_.IsName("or")) {
    ExpressionPointer either = New(NodeKind::kOr);
    tokens_.Skip();
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer right, ParseAnd());
    either->parts.push_back(std::move(node));
    either->parts.push_back(std::move(right));
    TRIVIUM_ASSIGN_OR_RETURN(node, Done(std::move(either)));
  }
  return node;
}

ExpressionParser::Result ExpressionParser::ParseAnd() {
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseNot());
  while (tokens_.IsName("and")) {
    ExpressionPointer both = New(NodeKind::kAnd);
    tokens_.Skip();
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer right, ParseNot());
    both->parts.push_back(std::move(node));
    both->parts.push_back(std::move(right));
    TRIVIUM_ASSIGN_OR_RETURN(node, Done(std::move(both)));
  }
  return node;
}

ExpressionParser::Result ExpressionParser::ParseNot() {
  std::vector<ExpressionPointer> nots;
  while (tokens_.IsName("not")) {
    nots.push_back(New(NodeKind::kNot));
    tokens_.Skip();
  }
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseCompare());
  while (!nots.empty()) {
    nots.back()->parts.push_back(std::move(node));
    TRIVIUM_ASSIGN_OR_RETURN(node, Done(std::move(nots.back())));
    nots.pop_back();
  }
  return node;
}

ExpressionParser::Result ExpressionParser::ParseCompare() {
  constexpr std::pair<std::string_view, Operator> kSigns[] = {
      {"==", Operator::kEqual},  {"!=", Operator::kNotEqual},
      {"<", Operator::kLess},    {"<=", Operator::kLessOrEqual},
      {">", Operator::kGreater}, {">=", Operator::kGreaterOrEqual},
  };
  ExpressionPointer compare = New(NodeKind::kCompare);
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseSum());
  while (true) {
    bool found = false;
    for (const auto& [sign, op] : kSigns) {
      if (found || !tokens_.SkipOperator(sign)) continue;
      compare->operators.push_back(op);
      found = true;
    }
    if (!found && tokens_.SkipName("in")) {
      compare->operators.push_back(Operator::kIn);
      found = true;
    }
    if (!found && tokens_.IsName("not") && tokens_.next().name == "in" &&
        tokens_.next().type == TokenType::kName) {
      tokens_.Skip();
      tokens_.Skip();
      compare->operators.push_back(Operator::kNotIn);
      found = true;
    }
    if (!found) break;
    if (compare->parts.empty()) compare->parts.push_back(std::move(node));
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer right, ParseSum());
    compare->parts.push_back(std::move(right));
  }
  if (compare->operators.empty()) return node;
  return Done(std::move(compare));
}

ExpressionParser::Result ExpressionParser::ParseSum() {
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseConcatenation());
  while (tokens_.IsOperator("+") || tokens_.IsOperator("-")) {
    ExpressionPointer sum = New(NodeKind::kArithmetic);
    sum->operators = {tokens_.IsOperator("+") ? Operator::kAdd
                                              : Operator::kSubtract};
    tokens_.Skip();
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer right, ParseConcatenation());
    sum->parts.push_back(std::move(node));
    sum->parts.push_back(std::move(right));
    TRIVIUM_ASSIGN_OR_RETURN(node, Done(std::move(sum)));
  }
  return node;
}

ExpressionParser::Result ExpressionParser::ParseConcatenation() {
  ExpressionPointer all = New(NodeKind::kConcatenate);
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseProduct());
  if (!tokens_.IsOperator("~")) return node;
  all->parts.push_back(std::move(node));
  while (tokens_.SkipOperator("~")) {
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer part, ParseProduct());
    all->parts.push_back(std::move(part));
  }
  return Done(std::move(all));
}

ExpressionParser::Result ExpressionParser::ParseProduct() {
  constexpr std::pair<std::string_view, Operator> kSigns[] = {
      {"*", Operator::kMultiply},
      {"/", Operator::kDivide},
      {"//", Operator::kFloorDivide},
      {"%", Operator::kModulo},
  };
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParsePower());
  for (bool found = true; found;) {
    found = false;
    for (const auto& [sign, op] : kSigns) {
      if (found || !tokens_.IsOperator(sign)) continue;
      found = true;
      ExpressionPointer product = New(NodeKind::kArithmetic);
      product->operators = {op};
      tokens_.Skip();
      TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer right, ParsePower());
      product->parts.push_back(std::move(node));
      product->parts.push_back(std::move(right));
      TRIVIUM_ASSIGN_OR_RETURN(node, Done(std::move(product)));
    }
  }
  return node;
}

ExpressionParser::Result ExpressionParser::ParsePower() {
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseUnary(true));
  while (tokens_.IsOperator("**")) {
    ExpressionPointer power = New(NodeKind::kArithmetic);
    power->operators = {Operator::kPower};
    tokens_.Skip();
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer right, ParseUnary(true));
    power->parts.push_back(std::move(node));
    power->parts.push_back(std::move(right));
    TRIVIUM_ASSIGN_OR_RETURN(node, Done(std::move(power)));
  }
  return node;
}

ExpressionParser::Result ExpressionParser::ParseUnary(bool filters) {
  ExpressionPointer node;
  if (tokens_.IsOperator("-") || tokens_.IsOperator("+")) {
    if (++nesting_ > kMaxNesting) {
      return ErrorAt(tokens_.line(), "too many signs");
    }
    ExpressionPointer sign =
        New(tokens_.IsOperator("-") ? NodeKind::kNegate : NodeKind::kPlus);
    tokens_.Skip();
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer part, ParseUnary(false));
    --nesting_;
    sign->parts.push_back(std::move(part));
    TRIVIUM_ASSIGN_OR_RETURN(node, Done(std::move(sign)));
  } else {
    TRIVIUM_ASSIGN_OR_RETURN(node, ParsePrimary());
  }
  TRIVIUM_ASSIGN_OR_RETURN(node, ParsePostfix(std::move(node)));
  if (!filters) return node;
  return ParseFilters(std::move(node));
}

ExpressionParser::Result ExpressionParser::ParsePrimary() {
  if (tokens_.IsOperator("(")) return ParseParentheses();
  if (tokens_.IsOperator("[")) return ParseList();
  if (tokens_.IsOperator("{")) return ParseDict();
  if (!tokens_.Is(TokenType::kName)) return ParseLiteral();
  ExpressionPointer node = New(NodeKind::kConstant);
  const std::string& name = tokens_.now().name;
  if (name == "true" || name == "True") {
    node->constant = Value::Boolean(true);
  } else if (name == "false" || name == "False") {
    node->constant = Value::Boolean(false);
  } else if (name == "none" || name == "None") {
    node->constant = Value::None();
  } else {
    node->kind = NodeKind::kName;
    node->name = name;
  }
  tokens_.Skip();
  return Done(std::move(node));
}

ExpressionParser::Result ExpressionParser::ParseLiteral() {
  ExpressionPointer node = New(NodeKind::kConstant);
  const Token& token = tokens_.now();
  switch (token.type) {
    case TokenType::kString: {
      auto text = std::make_shared<TextObject>();
      for (; tokens_.Is(TokenType::kString); tokens_.Skip()) {
        text->text += tokens_.now().text;
      }
      node->constant = Value::Of(Kind::kText);
      node->constant.object = std::move(text);
      return Done(std::move(node));
    }
    case TokenType::kInteger: {
      int64_t whole = 0;
      const char* end = token.name.data() + token.name.size();
      const auto read = std::from_chars(token.name.data(), end, whole);
      if (read.ec != std::errc() || read.ptr != end) {
        return ErrorAt(token.line, "a whole number needs more than 64 bits");
      }
      node->constant = Value::Integer(whole);
      break;
    }
    case TokenType::kReal: {
      double real = 0;
      const char* end = token.name.data() + token.name.size();
      const auto read = std::from_chars(token.name.data(), end, real);
      if (read.ec != std::errc() || read.ptr != end) {
        return ErrorAt(token.line, "a number is out of the range of floats");
      }
      node->constant = Value::Real(real);
      break;
    }
    default:
      return tokens_.Unexpected("an expression");
  }
  tokens_.Skip();
  return Done(std::move(node));
}

ExpressionParser::Result ExpressionParser::ParseParentheses() {
  tokens_.Skip();
  if (tokens_.IsOperator(")")) {
    ExpressionPointer empty = New(NodeKind::kTuple);
    tokens_.Skip();
    return Done(std::move(empty));
  }
  TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer node, ParseTuple());
  TRIVIUM_RETURN_IF_ERROR(tokens_.ExpectOperator(")"));
  return node;
}

ExpressionParser::Result ExpressionParser::ParseList() {
  ExpressionPointer list = New(NodeKind::kList);
  tokens_.Skip();
  while (!tokens_.IsOperator("]")) {
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer item, ParseExpression());
    list->parts.push_back(std::move(item));
    if (!tokens_.SkipOperator(",")) break;
  }
  TRIVIUM_RETURN_IF_ERROR(tokens_.ExpectOperator("]"));
  return Done(std::move(list));
}

ExpressionParser::Result ExpressionParser::ParseDict() {
  ExpressionPointer dict = New(NodeKind::kDict);
  tokens_.Skip();
  while (!tokens_.IsOperator("}")) {
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer key, ParseExpression());
    TRIVIUM_RETURN_IF_ERROR(tokens_.ExpectOperator(":"));
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer value, ParseExpression());
    dict->parts.push_back(std::move(key));
    dict->parts.push_back(std::move(value));
    if (!tokens_.SkipOperator(",")) break;
  }
  TRIVIUM_RETURN_IF_ERROR(tokens_.ExpectOperator("}"));
  return Done(std::move(dict));
}

ExpressionParser::Result ExpressionParser::ParseTarget(bool attributes) {
  const auto one = [&]() -> Result {
    if (!tokens_.Is(TokenType::kName)) return tokens_.Unexpected("a name");
    ExpressionPointer name = New(NodeKind::kName);
    name->name = tokens_.now().name;
    for (const std::string_view constant :
         {"true", "True", "false", "False", "none", "None"}) {
      if (name->name == constant) return tokens_.Unexpected("a name");
    }
    tokens_.Skip();
    if (!attributes || !tokens_.SkipOperator(".")) return name;
    if (!tokens_.Is(TokenType::kName)) return tokens_.Unexpected("a name");
    ExpressionPointer attribute = New(NodeKind::kAttribute);
    attribute->name = tokens_.now().name;
    tokens_.Skip();
    attribute->parts.push_back(std::move(name));
    return attribute;
  };
  const bool parentheses = tokens_.SkipOperator("(");
  ExpressionPointer tuple = New(NodeKind::kTuple);
  bool comma = false;
  do {
    if (comma && !tokens_.Is(TokenType::kName)) break;
    TRIVIUM_ASSIGN_OR_RETURN(ExpressionPointer part, one());
    tuple->parts.push_back(std::move(part));
    if (!tokens_.SkipOperator(",")) break;
    comma = true;
  } while (!tokens_.IsName("in"));
  if (parentheses) TRIVIUM_RETURN_IF_ERROR(tokens_.ExpectOperator(")"));
  if (!comma) return std::move(tuple->parts[0]);
  return tuple;
}

}  // namespace trivium::jinja
