#ifndef TRIVIUM_MODEL_TOKENIZER_PIECE_DECODER_H_
#define TRIVIUM_MODEL_TOKENIZER_PIECE_DECODER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/tokenizer/pattern.h"

namespace trivium {

// A step from pieces back to text, at work on one text. It accepts pieces one
// by one and passes on whatever can no longer change.
class DecoderStep {
 public:
  using Sink = std::function<void(std::string)>;

  virtual ~DecoderStep() = default;
  virtual void Push(std::string piece, const Sink& next) = 0;
  virtual void Finish(const Sink& next) {}
  // True if the text of each piece but the first does not depend on the pieces
  // beside it, and so the text is theirs joined. Pieces may be parts of
  // characters.
  virtual bool joins_pieces() const { return true; }
};

// Makes a step for a new text.
using DecoderStepFactory = std::function<std::unique_ptr<DecoderStep>()>;

// Turns GPT-2's alphabet into bytes, and bytes into characters; bytes that form
// no character become U+FFFD.
DecoderStepFactory ByteLevelDecoder();
// Turns `suffix` in pieces into spaces, but not at the text's end.
DecoderStepFactory BpeDecoder(std::string suffix);
// A piece that begins with `prefix` continues a word; others begin one.
// `clean_up`: applies Transformers' clean-up of spaces to each piece.
DecoderStepFactory WordPieceDecoder(std::string prefix, bool clean_up);
// Turns `replacement` into spaces; none at the text's beginning if
// `strips_first`.
DecoderStepFactory MetaspaceDecoder(std::string replacement, bool strips_first);
// Replaces the matches of `pattern` in each piece.
DecoderStepFactory ReplaceDecoder(std::shared_ptr<const Pattern> pattern,
                                  std::string content);
// Turns runs of "<0xE2>" into the characters that they form; if a run is not
// valid UTF-8, into a U+FFFD for each of its pieces.
DecoderStepFactory ByteFallbackDecoder();
// Removes up to `start` characters `content` from the beginning and `stop` from
// the end: of each piece, or of the whole text if `fused`.
DecoderStepFactory StripDecoder(char32_t content, int start, int stop,
                                bool fused);
// Puts spaces between the pieces, as the reference does without a decoder.
DecoderStepFactory SpacesBetweenDecoder();

// A row of steps, made anew for each text.
class PieceDecoder {
 public:
  explicit PieceDecoder(const std::vector<DecoderStepFactory>& steps);

  // Appends to `out` the text that can no longer change.
  void Push(std::string piece, std::string* out);
  void Finish(std::string* out);
  // True if all steps join pieces.
  bool joins_pieces() const;

 private:
  void PushTo(size_t step, std::string piece, std::string* out);

  std::vector<std::unique_ptr<DecoderStep>> steps_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_PIECE_DECODER_H_
