#ifndef TRIVIUM_MODEL_TOKENIZER_PIPELINE_TOKENIZER_H_
#define TRIVIUM_MODEL_TOKENIZER_PIPELINE_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/piece_decoder.h"
#include "model/tokenizer/post_processor.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/token_model.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// The parts of a tokenizer of Hugging Face's kind. A text passes through them
// in this order: added tokens are cut out; the rest is normalized; the
// pre-tokenizer cuts it into words, and the model cuts words into pieces; the
// post-processor adds special tokens.
struct TokenizerParts {
  std::unique_ptr<Normalizer> normalizer;       // null: none
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // null: none
  std::unique_ptr<TokenModel> model;
  std::vector<AddedToken> added_tokens;
  PostProcessor post_processor;
  std::vector<DecoderStepFactory> decoder;
  // Apply Transformers' clean-up to the decoded text's spaces.
  bool clean_up_spaces = false;
  // The model is told which of two texts a token is of.
  bool tells_types = true;
  SpecialTokenIds special_ids;
};

// WordPiece, byte-level BPE, SentencePiece and any tokenizer.json, all made of
// TokenizerParts.
class PipelineTokenizer : public Tokenizer {
 public:
  // The error says which part is too large or too slow.
  static absl::StatusOr<std::unique_ptr<PipelineTokenizer>> Create(
      TokenizerParts parts);

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
  bool marks_pieces_inside_words() const override {
    return parts_.model->marks_pieces_inside_words();
  }
  std::string Decode(std::span<const int32_t> ids) const override;
  std::unique_ptr<StreamingDecoder> NewStreamingDecoder() const override;
  std::unique_ptr<StreamingDecoder> NewJoiningDecoder() const override;
  int vocabulary_size(TextSide side) const override;
  std::string IdToPiece(int32_t id, TextSide side) const override;
  int32_t PieceToId(std::string_view piece, TextSide side) const override;

 private:
  class Streaming;
  explicit PipelineTokenizer(TokenizerParts parts);

  // Returns the tokens of the text itself, without the characters of their
  // offsets. `literals` (ascending, disjoint): bytes that make no control
  // tokens.
  absl::StatusOr<std::vector<Token>> TextTokens(
      std::string_view text, const EncodeOptions& options,
      std::span<const ByteSpan> literals) const;
  // Replaces control tokens that the model made of literal text by other
  // pieces. `spans`: the origins of the word's bytes.
  void Reword(std::string_view word, std::span<const ByteSpan> spans,
              std::span<const ByteSpan> literals,
              std::vector<TokenModel::Piece>* pieces) const;
  // Returns TextTokens of as much of the text as options.most_tokens requires.
  absl::StatusOr<std::vector<Token>> EnoughTokens(
      std::string_view text, const EncodeOptions& options, bool* partial,
      std::span<const ByteSpan> literals = {}) const;
  // Cuts the texts' tokens to the limit and adds special tokens and the prefix.
  // `partial`: not all of the texts was tokenized.
  absl::StatusOr<Encoding> Assemble(std::vector<Token> first,
                                    std::optional<std::vector<Token>> second,
                                    const EncodeOptions& options,
                                    bool partial) const;

  const TokenizerParts parts_;
  const AddedTokens added_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_PIPELINE_TOKENIZER_H_
