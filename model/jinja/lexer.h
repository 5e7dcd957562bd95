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
  kData,           // text outside of tags, with white space already trimmed
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
  std::string name;  // of kName and kOperator; of numbers, their digits
  Text text;         // of kData and kString
};

// Returns an error "line 3: what", the beginning of all errors of a template.
absl::Status ErrorAt(int line, std::string_view what);

// Returns the tokens of a template, kEnd last, like Jinja's lexer with
// trim_blocks and lstrip_blocks and without keep_trailing_newline. Comments and
// raw tags are gone, and white space around tags is trimmed.
absl::StatusOr<std::vector<Token>> Lex(std::string_view source);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_LEXER_H_
