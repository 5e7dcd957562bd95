#include "model/tokenizer/bounded_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trivium {

BoundedTokenizer::BoundedTokenizer(std::unique_ptr<Tokenizer> tokenizer,
                                   int source_embeddings, int target_embeddings)
    : tokenizer_(std::move(tokenizer)),
      source_embeddings_(source_embeddings),
      target_embeddings_(target_embeddings) {}

absl::StatusOr<Encoding> BoundedTokenizer::Checked(
    absl::StatusOr<Encoding> encoding, TextSide side) const {
  if (!encoding.ok()) return encoding;
  for (const int32_t id : encoding->ids) {
    if (id < embeddings(side)) continue;
    return absl::InvalidArgumentError(
        fmt::format("the text has '{}', for which the model has no embedding "
                    "(id {} of {}); leave it out",
                    tokenizer_->IdToPiece(id, side), id, embeddings(side)));
  }
  return encoding;
}

absl::StatusOr<Encoding> BoundedTokenizer::Encode(
    std::string_view text, const EncodeOptions& options) const {
  return Checked(tokenizer_->Encode(text, options), options.side);
}

absl::StatusOr<Encoding> BoundedTokenizer::EncodeParts(
    std::span<const TextPart> parts, const EncodeOptions& options) const {
  return Checked(tokenizer_->EncodeParts(parts, options), options.side);
}

absl::StatusOr<FirstText> BoundedTokenizer::TokenizeFirst(
    std::string_view first, const EncodeOptions& options) const {
  // EncodeSecond checks these ids, too.
  return tokenizer_->TokenizeFirst(first, options);
}

absl::StatusOr<Encoding> BoundedTokenizer::EncodeSecond(
    const FirstText& first, std::string_view second,
    const EncodeOptions& options) const {
  return Checked(tokenizer_->EncodeSecond(first, second, options),
                 options.side);
}

absl::StatusOr<std::vector<Token>> BoundedTokenizer::AddSpecialTokens(
    std::vector<Token> first, std::optional<std::vector<Token>> second) const {
  return tokenizer_->AddSpecialTokens(std::move(first), std::move(second));
}

int BoundedTokenizer::special_token_count(bool pair) const {
  return tokenizer_->special_token_count(pair);
}

SpecialTokenIds BoundedTokenizer::special_token_ids() const {
  return tokenizer_->special_token_ids();
}

bool BoundedTokenizer::marks_pieces_inside_words() const {
  return tokenizer_->marks_pieces_inside_words();
}

std::string BoundedTokenizer::Decode(std::span<const int32_t> ids) const {
  return tokenizer_->Decode(ids);
}

std::unique_ptr<StreamingDecoder> BoundedTokenizer::NewStreamingDecoder()
    const {
  return tokenizer_->NewStreamingDecoder();
}

std::unique_ptr<StreamingDecoder> BoundedTokenizer::NewJoiningDecoder() const {
  return tokenizer_->NewJoiningDecoder();
}

int BoundedTokenizer::vocabulary_size(TextSide side) const {
  return std::min(tokenizer_->vocabulary_size(side), embeddings(side));
}

std::string BoundedTokenizer::IdToPiece(int32_t id, TextSide side) const {
  return id < embeddings(side) ? tokenizer_->IdToPiece(id, side) : "";
}

int32_t BoundedTokenizer::PieceToId(std::string_view piece,
                                    TextSide side) const {
  const int32_t id = tokenizer_->PieceToId(piece, side);
  return id < embeddings(side) ? id : -1;
}

}  // namespace trivium
