#include "model/tokenizer/byte_alphabet.h"

#include <array>

#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

struct Alphabet {
  std::array<std::string, 256> characters;
  std::array<int, 0x144> bytes;  // [character]

  Alphabet() {
    bytes.fill(-1);
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') ||
                             (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      const char32_t character = printable ? byte : next++;
      AppendUtf8(character, &characters[byte]);
      bytes[character] = byte;
    }
  }
};

const Alphabet& TheAlphabet() {
  static const Alphabet* const kAlphabet = new Alphabet;
  return *kAlphabet;
}

}  // namespace

std::string_view CharacterOfByteAlphabet(uint8_t byte) {
  return TheAlphabet().characters[byte];
}

int ByteOfByteAlphabet(char32_t character) {
  const auto& bytes = TheAlphabet().bytes;
  return character < bytes.size() ? bytes[character] : -1;
}

}  // namespace trivium
