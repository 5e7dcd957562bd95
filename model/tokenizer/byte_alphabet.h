#ifndef TRIVIUM_MODEL_TOKENIZER_BYTE_ALPHABET_H_
#define TRIVIUM_MODEL_TOKENIZER_BYTE_ALPHABET_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace trivium {

// GPT-2's alphabet: a printable character for each byte, so that vocabularies
// of byte sequences can be text. Its space is U+0120.
inline constexpr char32_t kByteAlphabetSpace = 0x120;

// Returns the character of a byte as UTF-8.
std::string_view CharacterOfByteAlphabet(uint8_t byte);

// Returns the byte of a character, or -1 if it stands for none.
int ByteOfByteAlphabet(char32_t character);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_BYTE_ALPHABET_H_
