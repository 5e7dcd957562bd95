#include "model/tokenizer/tokenizer.h"

#include "absl/status/status.h"

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

absl::StatusOr<std::vector<Encoding>> Tokenizer::EncodePairs(
    std::string_view first, std::span<const std::string_view> seconds,
    const EncodeOptions& options) const {
  return NoPairs();
}

absl::StatusOr<std::vector<Token>> Tokenizer::TokenizePair(
    std::string_view first, std::string_view second,
    const EncodeOptions& options) const {
  return NoPairs();
}

absl::StatusOr<std::vector<Token>> Tokenizer::AddSpecialTokens(
    std::vector<Token> first, std::optional<std::vector<Token>> second) const {
  return NoPairs();
}

int Tokenizer::special_token_count(bool pair) const { return 0; }

SpecialTokenIds Tokenizer::special_token_ids() const { return {}; }

}  // namespace trivium
