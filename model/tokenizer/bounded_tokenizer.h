#ifndef TRIVIUM_MODEL_TOKENIZER_BOUNDED_TOKENIZER_H_
#define TRIVIUM_MODEL_TOKENIZER_BOUNDED_TOKENIZER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// A tokenizer that has more pieces than its model has embeddings, as that of
// Gemma 3 1B, whose last piece stands for a picture. It is the other tokenizer
// without the pieces behind the embeddings: INVALID_ARGUMENT names such a piece
// if a text spells it.
class BoundedTokenizer final : public Tokenizer {
 public:
  // Ids of each side must be below these sizes.
  BoundedTokenizer(std::unique_ptr<Tokenizer> tokenizer, int source_embeddings,
                   int target_embeddings);

  absl::StatusOr<Encoding> Encode(std::string_view text,
                                  const EncodeOptions& options) const override;
  absl::StatusOr<Encoding> EncodeParts(
      std::span<const TextPart> parts,
      const EncodeOptions& options) const override;
  absl::StatusOr<FirstText> TokenizeFirst(
      std::string_view first, const EncodeOptions& options) const override;
  absl::StatusOr<Encoding> EncodeSecond(
      const FirstText& first, std::string_view second,
      const EncodeOptions& options) const override;
  absl::StatusOr<std::vector<Token>> AddSpecialTokens(
      std::vector<Token> first,
      std::optional<std::vector<Token>> second) const override;
  int special_token_count(bool pair) const override;
  SpecialTokenIds special_token_ids() const override;
  bool marks_pieces_inside_words() const override;

  std::string Decode(std::span<const int32_t> ids) const override;
  std::unique_ptr<StreamingDecoder> NewStreamingDecoder() const override;
  std::unique_ptr<StreamingDecoder> NewJoiningDecoder() const override;

  int vocabulary_size(TextSide side) const override;
  std::string IdToPiece(int32_t id, TextSide side) const override;
  int32_t PieceToId(std::string_view piece, TextSide side) const override;

 private:
  int embeddings(TextSide side) const {
    return side == TextSide::kSource ? source_embeddings_ : target_embeddings_;
  }
  absl::StatusOr<Encoding> Checked(absl::StatusOr<Encoding> encoding,
                                   TextSide side) const;

  const std::unique_ptr<const Tokenizer> tokenizer_;
  const int source_embeddings_, target_embeddings_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_BOUNDED_TOKENIZER_H_
