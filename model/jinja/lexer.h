#ifndef TRIVIUM_MODEL_JINJA_LEXER_H_
#define TRIVIUM_MODEL_JINJA_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/jinja/text.h"

namespace trivium::jinja {

enum class TokenType : uint8_t {
  kData,           // outside of tags, white space as it is to be written
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kName,
  kString,
  kInteger,
  kReal,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type = TokenType::kEnd;
  int line = 0;
  std::string name;  // of kName and kOperator; of numbers the digits
  Text text;         // of kData and kString
};

// "line 3: what", as all errors of a template begin.
absl::Status ErrorAt(int line, std::string_view what);

// The tokens of a template, kEnd last, as Jinja's lexer makes them with
// trim_blocks and lstrip_blocks and without keep_trailing_newline: comments
// and raw blocks are gone, and white space around tags is taken away.
absl::StatusOr<std::vector<Token>> Lex(std::string_view source);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_LEXER_H_
