#ifndef TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_MODEL_H_
#define TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_MODEL_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
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

  // `serialized`: the contents of an .spm file; its own choice to put a space
  // in front of every text counts unless `without_prefix`. Null with a reason
  // in `error`.
  static std::unique_ptr<SentencePieceModel> Parse(std::string_view serialized,
                                                   std::string* error,
                                                   bool without_prefix = false);
  ~SentencePieceModel();

  int size() const;
  const std::string& PieceOf(int id) const;

  // Whether it puts a space in front of every text.
  bool adds_prefix() const { return adds_prefix_; }

  // The pieces of a text, in time linear in its length and memory bounded
  // beside what is returned. More than a few KiB of known characters without
  // white space are cut, and more than kMostBytes of any.
  // An interrupted one has only the first pieces.
  std::vector<Piece> Encode(std::string_view text) const;

  // Of a text that the library normalizes at once. What some characters expand
  // to counts, not the characters.
  static constexpr size_t kMostBytes = 96 << 10;

  // What the model takes a piece for when decoding; a piece that it does not
  // know is text.
  Kind KindOf(std::string_view piece) const;

 private:
  struct Processor;
  explicit SentencePieceModel(std::unique_ptr<Processor> processor);

  struct RawPiece;
  std::vector<RawPiece> EncodeRaw(std::string_view text) const;
  // White space at which texts may be cut: the pieces are the same.
  struct Cut {
    std::string_view space;
    bool goes;  // else it is the next text's
  };
  bool CutsAt(const Cut& cut) const;
  // Where the next slice of text[begin..] ends, and the one after it begins.
  std::pair<size_t, size_t> SliceEnd(std::string_view text, size_t begin) const;
  std::vector<Piece> EncodeSlice(std::string_view text) const;
  bool UnknownAlone(std::string_view character) const;

  const std::unique_ptr<Processor> processor_;
  bool byte_fallback_ = false;
  bool words_alone_ = false;  // no piece reaches over a space
  bool adds_prefix_ = false;
  std::vector<Cut> cuts_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_SENTENCEPIECE_MODEL_H_
