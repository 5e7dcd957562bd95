#ifndef TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_MODEL_H_
#define TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_MODEL_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trivium {

// A SentencePiece model. This header includes neither Abseil's nor
// SentencePiece's headers, because the two conflict. Immutable and thread-safe.
class SentencePieceModel {
 public:
  struct Piece {
    std::string text;
    // Bytes of the input that the piece stands for. White space belongs to the
    // piece after it. Pieces that come from one character (its bytes, or the
    // letters of a ligature) all have that character's range.
    size_t begin;
    size_t end;
  };
  enum class Kind { kText, kByte, kControl };

  // Parses `serialized`, the contents of an .spm file. The file decides whether
  // a space is put in front of every text, unless `without_prefix`. Returns
  // null with a reason in `error`.
  static std::unique_ptr<SentencePieceModel> Parse(std::string_view serialized,
                                                   std::string* error,
                                                   bool without_prefix = false);
  ~SentencePieceModel();

  int size() const;
  const std::string& PieceOf(int id) const;

  // True if a space is put in front of every text.
  bool adds_prefix() const { return adds_prefix_; }

  // Returns the pieces of a text, in time linear in its length and, apart from
  // the result, with bounded memory. More than a few KiB of known characters
  // without white space are cut apart, and so are more than kMostBytes of any.
  // An interrupted call returns only the first pieces.
  std::vector<Piece> Encode(std::string_view text) const;

  // The most bytes of a text that the library normalizes at once, counted after
  // characters have been expanded.
  static constexpr size_t kMostBytes = 96 << 10;

  // Returns how a piece is decoded; a piece that the model does not know is
  // text.
  Kind KindOf(std::string_view piece) const;

 private:
  struct Processor;
  explicit SentencePieceModel(std::unique_ptr<Processor> processor);

  struct RawPiece;
  std::vector<RawPiece> EncodeRaw(std::string_view text) const;
  // White space at which texts may be cut without changing the pieces.
  struct Cut {
    std::string_view space;
    bool goes;  // true: it is dropped; false: it begins the next text
  };
  bool CutsAt(const Cut& cut) const;
  // Returns where the next slice of text[begin..] ends and where the one after
  // it begins.
  std::pair<size_t, size_t> SliceEnd(std::string_view text, size_t begin) const;
  std::vector<Piece> EncodeSlice(std::string_view text) const;
  bool UnknownAlone(std::string_view character) const;

  const std::unique_ptr<Processor> processor_;
  bool byte_fallback_ = false;
  bool words_alone_ = false;  // no piece contains a space between words
  bool adds_prefix_ = false;
  std::vector<Cut> cuts_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_MODEL_H_
