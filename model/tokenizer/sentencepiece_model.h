#ifndef TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_MODEL_H_
#define TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_MODEL_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// A SentencePiece model. SentencePiece's header and Abseil's cannot be in one
// file, so this one shows neither. Immutable and thread-safe.
class SentencePieceModel {
 public:
  struct Piece {
    std::string text;
    // Bytes of the input it stands for. White space belongs to the piece that
    // follows it; pieces made of one character (its bytes, or the letters of a
    // ligature) have its range each.
    size_t begin;
    size_t end;
  };
  enum class Kind { kText, kByte, kControl };

  // `serialized`: the contents of an .spm file. Null with a reason in `error`.
  static std::unique_ptr<SentencePieceModel> Parse(std::string_view serialized,
                                                   std::string* error);
  ~SentencePieceModel();

  int size() const;
  const std::string& PieceOf(int id) const;

  // The pieces of a text, in time linear in its length.
  std::vector<Piece> Encode(std::string_view text) const;

  // What the model takes a piece for when decoding; a piece that it does not
  // know is text.
  Kind KindOf(std::string_view piece) const;

 private:
  struct Processor;
  explicit SentencePieceModel(std::unique_ptr<Processor> processor);

  struct RawPiece;
  std::vector<RawPiece> EncodeRaw(std::string_view text) const;
  bool UnknownAlone(std::string_view character) const;

  const std::unique_ptr<Processor> processor_;
  bool byte_fallback_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_MODEL_H_
