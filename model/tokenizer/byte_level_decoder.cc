#include <cstdint>
#include <string_view>
#include <utility>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/piece_decoder.h"
#include "model/tokenizer/unicode.h"
#include "model/tokenizer/utf8.h"

namespace trivium {
namespace {

// How many bytes at the beginning of `bytes` are a character or, where they
// form none, what one U+FFFD stands for: the longest beginning of a character.
// 0: more bytes may make it a character.
size_t CharacterOrBroken(std::string_view bytes, bool* valid) {
  const size_t length = Utf8Length(bytes, 0);
  const uint8_t first = static_cast<uint8_t>(bytes[0]);
  *valid = length > 1 || first < 0x80;
  if (*valid) return length;
  const size_t wanted = Utf8LengthFromFirstByte(first);
  // Which second bytes each first one takes (Unicode, table 3-7).
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  size_t size = 1;
  for (; size < wanted; ++size) {
    if (size == bytes.size()) return 0;
    const uint8_t byte = static_cast<uint8_t>(bytes[size]);
    if (byte < low || byte > high) break;
    low = 0x80;
    high = 0xBF;
  }
  return size;
}

class ByteLevelStep : public DecoderStep {
 public:
  void Push(std::string piece, const Sink& next) override {
    std::string bytes;
    for (size_t at = 0; at < piece.size();) {
      const int byte = ByteOfByteAlphabet(NextCharacter(piece, &at));
      // A piece of other characters, as added tokens are, is text.
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
  void Flush(bool all, const Sink& next) {
    std::string text;
    std::string_view rest = bytes_;
    while (!rest.empty()) {
      bool valid = false;
      size_t size = CharacterOrBroken(rest, &valid);
      if (size == 0) {
        if (!all) break;
        size = rest.size();
      }
      text += valid ? rest.substr(0, size) : kReplacementCharacter;
      rest.remove_prefix(size);
    }
    bytes_ = std::string(rest);
    if (!text.empty()) next(std::move(text));
  }

  std::string bytes_;  // of a character that is not whole yet
};

}  // namespace

DecoderStepFactory ByteLevelDecoder() {
  return [] { return std::make_unique<ByteLevelStep>(); };
}

}  // namespace trivium
