#include "model/tokenizer/tokenizer.h"

#include <utility>

#include "absl/status/status.h"
#include "base/status.h"

namespace trivium {
namespace {

absl::Status NoPairs() {
  return absl::FailedPreconditionError(
      "this model's tokenizer reads one text, not a pair; give a text");
}

}  // namespace

absl::StatusOr<Encoding> Tokenizer::EncodeParts(
    std::span<const TextPart> parts, const EncodeOptions& options) const {
  return absl::FailedPreconditionError(
      "this model's tokenizer reads texts, not chats; give a text");
}

absl::StatusOr<FirstText> Tokenizer::TokenizeFirst(
    std::string_view first, const EncodeOptions& options) const {
  return NoPairs();
}

absl::StatusOr<Encoding> Tokenizer::EncodeSecond(
    const FirstText& first, std::string_view second,
    const EncodeOptions& options) const {
  return NoPairs();
}

absl::StatusOr<Encoding> Tokenizer::EncodePair(
    std::string_view first, std::string_view second,
    const EncodeOptions& options) const {
  TRIVIUM_ASSIGN_OR_RETURN(const FirstText tokenized,
                           TokenizeFirst(first, options));
  return EncodeSecond(tokenized, second, options);
}

absl::StatusOr<std::vector<Token>> Tokenizer::Tokenize(
    std::string_view text, EncodeOptions options) const {
  options.with_tokens = true;
  TRIVIUM_ASSIGN_OR_RETURN(Encoding encoding, Encode(text, options));
  return std::move(encoding.tokens);
}

absl::StatusOr<std::vector<Token>> Tokenizer::TokenizePair(
    std::string_view first, std::string_view second,
    EncodeOptions options) const {
  options.with_tokens = true;
  TRIVIUM_ASSIGN_OR_RETURN(Encoding encoding,
                           EncodePair(first, second, options));
  return std::move(encoding.tokens);
}

absl::StatusOr<std::vector<Token>> Tokenizer::AddSpecialTokens(
    std::vector<Token> first, std::optional<std::vector<Token>> second) const {
  return NoPairs();
}

int Tokenizer::special_token_count(bool pair) const { return 0; }

SpecialTokenIds Tokenizer::special_token_ids() const { return {}; }

}  // namespace trivium
