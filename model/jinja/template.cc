#include "model/jinja/template.h"

#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "model/jinja/evaluator.h"
#include "model/jinja/lexer.h"
#include "model/jinja/statement_parser.h"

namespace trivium::jinja {

namespace {

constexpr size_t kLongestTemplate = size_t{1} << 20;  // bytes

}  // namespace

absl::StatusOr<Template> Template::Parse(std::string_view source) {
  if (source.size() > kLongestTemplate) {
    return absl::InvalidArgumentError(
        fmt::format("has {} bytes, but a template has at most {}",
                    source.size(), kLongestTemplate));
  }
  if (!IsUtf8(source)) return absl::InvalidArgumentError("is not UTF-8");
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Token> tokens, Lex(source));
  std::set<std::string, std::less<>> names;
  for (const Token& token : tokens) {
    if (token.type == TokenType::kName) names.insert(token.name);
  }
  StatementParser parser(std::move(tokens));
  TRIVIUM_ASSIGN_OR_RETURN(Body body, parser.ParseTemplate());
  return Template(std::move(body), std::move(names));
}

absl::StatusOr<Text> Template::Render(
    Heap& heap, const std::vector<std::pair<std::string, Value>>& variables,
    const Surroundings& surroundings) const {
  Scope given(nullptr);
  for (const auto& [name, value] : variables) given.Set(name, value);
  Evaluator evaluator(heap, given, surroundings);
  return evaluator.Render(*body_);
}

}  // namespace trivium::jinja
