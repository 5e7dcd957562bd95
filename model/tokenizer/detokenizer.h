#ifndef TRIVIUM_MODEL_TOKENIZER_DETOKENIZER_H_
#define TRIVIUM_MODEL_TOKENIZER_DETOKENIZER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// Replaces every occurrence of a string in a text that comes in parts, as
// Python's str.replace does in the whole.
class StreamingReplacer {
 public:
  StreamingReplacer(std::string from, std::string to);

  // Appends to `out` what is certain.
  void Push(std::string_view text, std::string* out);
  void Finish(std::string* out);

 private:
  const std::string from_;
  const std::string to_;
  std::string held_;  // may be the beginning of from_; shorter than it
};

// Transformers' clean-up of spaces before punctuation: texts go through all of
// them, one after the other.
std::vector<StreamingReplacer> MakeCleanUp();

// SentencePiece's pieces to text, one by one: byte pieces to characters (what
// forms none becomes U+FFFD, one a byte), U+2581 to spaces, no white space at
// either end and, if asked for, Transformers' clean-up of spaces before
// punctuation. What is appended to `out` is whole characters and final. Time
// and memory are constant per piece, on average.
class Detokenizer {
 public:
  explicit Detokenizer(bool clean_up_spaces);

  void PushText(std::string_view piece, std::string* out);
  void PushByte(uint8_t byte, std::string* out);
  // A word as it is, with a space to the one before it, instead of pieces.
  void PushWord(std::string_view word, std::string* out);
  void Finish(std::string* out);

 private:
  void FlushBytes(bool all, std::string* out);
  void PushCharacters(std::string_view text, std::string* out);

  std::string bytes_;       // of a character that is not whole yet
  bool started_ = false;    // a character other than white space was seen
  std::string whitespace_;  // after the last such
  std::vector<StreamingReplacer> clean_up_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_DETOKENIZER_H_
