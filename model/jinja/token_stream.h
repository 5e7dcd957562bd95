#ifndef TRIVIUM_MODEL_JINJA_TOKEN_STREAM_H_
#define TRIVIUM_MODEL_JINJA_TOKEN_STREAM_H_

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "model/jinja/lexer.h"

namespace trivium::jinja {

// The tokens that a parser reads.
class TokenStream {
 public:
  // The last token is kEnd.
  explicit TokenStream(std::vector<Token> tokens)
      : tokens_(std::move(tokens)) {}

  const Token& now() const { return tokens_[at_]; }
  const Token& next() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }
  int line() const { return now().line; }
  void Skip() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }

  bool Is(TokenType type) const { return now().type == type; }
  bool IsName(std::string_view name) const {
    return Is(TokenType::kName) && now().name == name;
  }
  bool IsOperator(std::string_view name) const {
    return Is(TokenType::kOperator) && now().name == name;
  }
  bool SkipName(std::string_view name) {
    const bool is = IsName(name);
    if (is) Skip();
    return is;
  }
  bool SkipOperator(std::string_view name) {
    const bool is = IsOperator(name);
    if (is) Skip();
    return is;
  }

  // INVALID_ARGUMENT names what is there instead.
  absl::Status ExpectOperator(std::string_view name);
  absl::Status Unexpected(std::string_view expected) const;

 private:
  const std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_TOKEN_STREAM_H_
