#ifndef TRIVIUM_MODEL_TOKENIZER_TOKEN_MODEL_H_
#define TRIVIUM_MODEL_TOKENIZER_TOKEN_MODEL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// A vocabulary and its way of cutting a word into pieces: WordPiece, byte-pair
// encoding, unigram. Immutable and thread-safe.
class TokenModel {
 public:
  struct Piece {
    int32_t id;
    uint32_t begin;  // bytes of the word
    uint32_t end;
  };

  virtual ~TokenModel() = default;

  // Appends the pieces of a word, which is not empty.
  virtual void Tokenize(std::string_view word,
                        std::vector<Piece>* pieces) const = 0;

  // One more than the largest id.
  virtual int size() const = 0;
  // Number of pieces; added tokens are numbered from here.
  virtual int count() const = 0;
  // Returns -1 if there is no such piece.
  virtual int32_t IdOf(std::string_view piece) const = 0;
  // Id of unknown characters; -1: they are dropped, or always have pieces.
  virtual int32_t unknown_id() const { return -1; }
  // True if pieces inside words begin with a mark that the text lacks.
  virtual bool marks_pieces_inside_words() const { return false; }
  // Returns an empty string if there is no such id.
  virtual const std::string& PieceOf(int32_t id) const = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TOKEN_MODEL_H_
