#include "model/jinja/token_stream.h"

#include <fmt/format.h>

#include <string>

namespace trivium::jinja {

absl::Status TokenStream::ExpectOperator(std::string_view name) {
  if (SkipOperator(name)) return absl::OkStatus();
  return Unexpected(fmt::format("'{}'", name));
}

absl::Status TokenStream::Unexpected(std::string_view expected) const {
  std::string found;
  switch (now().type) {
    case TokenType::kData:
      found = "text";
      break;
    case TokenType::kBlockBegin:
      found = "{%";
      break;
    case TokenType::kBlockEnd:
      found = "%}";
      break;
    case TokenType::kVariableBegin:
      found = "{{";
      break;
    case TokenType::kVariableEnd:
      found = "}}";
      break;
    case TokenType::kString:
      found = "a string";
      break;
    case TokenType::kEnd:
      found = "the template's end";
      break;
    default:
      found = fmt::format("'{}'", now().name);
  }
  return ErrorAt(line(),
                 fmt::format("{} where {} is expected", found, expected));
}

}  // namespace trivium::jinja
