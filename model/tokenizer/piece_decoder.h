#ifndef TRIVIUM_MODEL_TOKENIZER_PIECE_DECODER_H_
#define TRIVIUM_MODEL_TOKENIZER_PIECE_DECODER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/tokenizer/pattern.h"

namespace trivium {

// One step of the way from pieces back to text, at work on one text: takes
// pieces one by one and hands on what is certain.
class DecoderStep {
 public:
  using Sink = std::function<void(std::string)>;

  virtual ~DecoderStep() = default;
  virtual void Push(std::string piece, const Sink& next) = 0;
  virtual void Finish(const Sink& next) {}
};

// Makes a step for a new text.
using DecoderStepFactory = std::function<std::unique_ptr<DecoderStep>()>;

// GPT-2's alphabet to bytes, those to characters (what forms none becomes
// U+FFFD).
DecoderStepFactory ByteLevelDecoder();
// `suffix` in pieces to spaces, but none at the text's end.
DecoderStepFactory BpeDecoder(std::string suffix);
// Pieces that begin with `prefix` go on a word, others begin one. `clean_up`:
// Transformers' clean-up of spaces, piece by piece.
DecoderStepFactory WordPieceDecoder(std::string prefix, bool clean_up);
// `replacement` to spaces; none at the text's beginning if `strips_first`.
DecoderStepFactory MetaspaceDecoder(std::string replacement, bool strips_first);
// In each piece.
DecoderStepFactory ReplaceDecoder(std::shared_ptr<const Pattern> pattern,
                                  std::string content);
// Runs of "<0xE2>" to the characters that they form, or a U+FFFD each.
DecoderStepFactory ByteFallbackDecoder();
// Up to `start` characters `content` from the beginning and `stop` from the
// end: of each piece, or of the whole text if `fused`.
DecoderStepFactory StripDecoder(char32_t content, int start, int stop,
                                bool fused);
// Spaces between the pieces: what the reference does without a decoder.
DecoderStepFactory SpacesBetweenDecoder();

// Steps in a row. A copy for each text.
class PieceDecoder {
 public:
  explicit PieceDecoder(const std::vector<DecoderStepFactory>& steps);

  // Appends to `out` what became certain.
  void Push(std::string piece, std::string* out);
  void Finish(std::string* out);

 private:
  void PushTo(size_t step, std::string piece, std::string* out);

  std::vector<std::unique_ptr<DecoderStep>> steps_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_PIECE_DECODER_H_
