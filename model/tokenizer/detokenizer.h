#ifndef TRIVIUM_MODEL_TOKENIZER_DETOKENIZER_H_
#define TRIVIUM_MODEL_TOKENIZER_DETOKENIZER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// Replaces every occurrence of a string in a text that arrives in parts, like
// Python's str.replace in the whole text.
class StreamingReplacer {
 public:
  StreamingReplacer(std::string from, std::string to);

  // Appends to `out` the text that can no longer change.
  void Push(std::string_view text, std::string* out);
  void Finish(std::string* out);

 private:
  const std::string from_;
  const std::string to_;
  std::string held_;  // possible beginning of from_; shorter than it
};

// Transformers' clean-up of spaces before punctuation; a text goes through all
// of them in turn.
std::vector<StreamingReplacer> MakeCleanUp();

// Turns SentencePiece's pieces into text, one by one. Byte pieces become
// characters (a byte that is part of none becomes U+FFFD), U+2581 becomes a
// space, white space at either end is removed and, if requested, Transformers'
// clean-up of spaces before punctuation applies. Only final, whole characters
// are appended to `out`. Time and memory are constant per piece, on average.
class Detokenizer {
 public:
  explicit Detokenizer(bool clean_up_spaces);

  void PushText(std::string_view piece, std::string* out);
  void PushByte(uint8_t byte, std::string* out);
  // Adds a word unchanged, with a space to the word before it; used where words
  // are not made of pieces.
  void PushWord(std::string_view word, std::string* out);
  void Finish(std::string* out);

 private:
  void FlushBytes(bool all, std::string* out);
  void PushCharacters(std::string_view text, std::string* out);

  std::string bytes_;       // bytes of a character that is not complete yet
  bool started_ = false;    // a character other than white space was seen
  std::string whitespace_;  // after the last such character
  std::vector<StreamingReplacer> clean_up_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_DETOKENIZER_H_
