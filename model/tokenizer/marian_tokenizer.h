#ifndef TRIVIUM_MODEL_TOKENIZER_MARIAN_TOKENIZER_H_
#define TRIVIUM_MODEL_TOKENIZER_MARIAN_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/tokenizer/detokenizer.h"
#include "model/tokenizer/sentencepiece_model.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {

// Marian's (OPUS-MT's) tokenizer, like Transformers' MarianTokenizer without
// sacremoses. SentencePiece models cut source and target texts into pieces; a
// vocab.json gives the pieces their ids. A language code at the beginning of a
// text, such as ">>de<<", becomes one token. The texts of special tokens
// ("</s>") become these tokens wherever they stand in a text.
class MarianTokenizer : public Tokenizer {
 public:
  // Reads source.spm, target.spm, vocab.json, target_vocab.json (if the sides
  // have separate vocabularies) and tokenizer_config.json (optional).
  static absl::StatusOr<std::unique_ptr<MarianTokenizer>> Load(
      const std::string& folder);

  // One side of a model in Marian's own files.
  struct SideFiles {
    // Path of the .spm that cuts texts; empty: pieces are the words between
    // spaces.
    std::string sentencepiece;
    // The pieces' ids and the file that they come from. If unset, a piece's id
    // is its place in the .spm. Then, as in Marian, only the .spm finds special
    // tokens in texts.
    std::optional<Vocabulary> vocabulary;
    std::string vocabulary_path;
  };
  static absl::StatusOr<std::unique_ptr<MarianTokenizer>> Load(
      SideFiles source, SideFiles target);

  absl::StatusOr<Encoding> Encode(std::string_view text,
                                  const EncodeOptions& options) const override;
  std::string Decode(std::span<const int32_t> ids) const override;
  std::unique_ptr<StreamingDecoder> NewStreamingDecoder() const override;
  int vocabulary_size(TextSide side) const override;
  std::string IdToPiece(int32_t id, TextSide side) const override;
  int32_t PieceToId(std::string_view piece, TextSide side) const override;

 private:
  class Streaming;

  struct Config {
    std::string end;
    std::string unknown;
    std::string padding;
    bool separate_vocabularies;
    bool clean_up_spaces;
  };
  // One language's side.
  struct Side {
    std::unique_ptr<SentencePieceModel>
        sentencepiece;  // null: pieces are words
    const Vocabulary* vocabulary;
    int32_t end_id;
    int32_t unknown_id;
    int32_t padding_id;  // -1: none
  };
  // Decode's treatment of an id of the target side.
  struct Output {
    enum class Kind { kNothing, kText, kByte, kWord };
    Kind kind = Kind::kNothing;
    uint8_t byte = 0;
  };

  MarianTokenizer() = default;

  static absl::Status ReadSentencePiece(const std::string& path, Side* side);
  static absl::Status FindSpecialIds(const std::string& vocabulary_path,
                                     const Config& config, Side* side);
  void InitOutputs(const Config& config);

  const Side& side(TextSide which) const {
    return which == TextSide::kSource ? source_ : target_;
  }
  // Returns the tokens of the text itself, without added ones.
  std::vector<Token> TextTokens(std::string_view text, const Side& side) const;
  static void AppendWords(std::string_view text, const Side& side,
                          std::vector<Token>* tokens);
  void AppendPieces(std::string_view text, size_t offset, const Side& side,
                    std::vector<Token>* tokens) const;
  void Push(int32_t id, Detokenizer* detokenizer, std::string* out) const;

  Vocabulary vocabulary_;
  Vocabulary target_vocabulary_;  // empty: vocabulary_ serves both sides
  Side source_;
  Side target_;
  std::vector<std::string> special_texts_;
  std::vector<Output> outputs_;  // [ids of the target side]
  bool clean_up_spaces_ = false;
  bool codes_in_texts_ = true;  // finds ">>de<<" at their beginning
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_MARIAN_TOKENIZER_H_
