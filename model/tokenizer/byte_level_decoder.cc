#include <unicode/unistr.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/piece_decoder.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

class ByteLevelStep : public DecoderStep {
 public:
  void Push(std::string piece, const Sink& next) override {
    std::string bytes;
    for (size_t at = 0; at < piece.size();) {
      const int byte = ByteOfByteAlphabet(NextCharacter(piece, &at));
      // A piece of other characters, such as an added token, is text.
      if (byte < 0) {
        bytes = std::move(piece);
        break;
      }
      bytes.push_back(static_cast<char>(byte));
    }
    bytes_ += bytes;
    Flush(/*all=*/false, next);
  }
  void Finish(const Sink& next) override { Flush(/*all=*/true, next); }

 private:
  // In ill-formed bytes, each longest beginning of a character becomes a
  // U+FFFD.
  void Flush(bool all, const Sink& next) {
    const size_t size = all ? bytes_.size() : WholeSize(bytes_);
    if (size == 0) return;
    std::string text;
    icu::UnicodeString::fromUTF8(
        icu::StringPiece(bytes_.data(), static_cast<int32_t>(size)))
        .toUTF8String(text);
    bytes_.erase(0, size);
    next(std::move(text));
  }

  std::string bytes_;  // bytes of a character that is not complete yet
};

}  // namespace

DecoderStepFactory ByteLevelDecoder() {
  return [] { return std::make_unique<ByteLevelStep>(); };
}

}  // namespace trivium
