#ifndef TRIVIUM_MODEL_TOKENIZER_UNICODE_H_
#define TRIVIUM_MODEL_TOKENIZER_UNICODE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace trivium {

// The character at `text[*at]`, which moves behind it. A byte that begins no
// valid character counts as U+FFFD.
char32_t NextCharacter(std::string_view text, size_t* at);

// [text.size() + 1] The number of the character that a byte belongs to, and in
// the end the number of characters.
std::vector<int> CharacterOfByte(std::string_view text);

// Unicode's White_Space, as Rust's char::is_whitespace.
bool IsWhiteSpace(char32_t c);
// White space to Python's str.strip.
bool IsPythonSpace(char32_t c);
// What BERT calls punctuation: category P and ASCII's other symbols.
bool IsPunctuation(char32_t c);
// What BERT cleans away: categories Cc, Cf and Co.
bool IsControl(char32_t c);
bool IsNonspacingMark(char32_t c);  // Mn
bool IsMark(char32_t c);            // M
bool IsLetter(char32_t c);          // L
bool IsNumber(char32_t c);          // N
// A character of a word: \w of Unicode's regular expressions.
bool IsWordCharacter(char32_t c);
// The blocks in front of and behind whose characters BERT puts spaces.
bool IsChineseCharacter(char32_t c);

// Appends the lower case of one character, whatever stands around it.
void AppendLowerCase(char32_t c, std::u32string* out);

enum class DecompositionKind { kCanonical, kCompatible };
// Appends the full decomposition of one character (itself, where it has none).
void AppendDecomposition(char32_t c, DecompositionKind kind,
                         std::u32string* out);
int CombiningClass(char32_t c);
// The character that a pair composes to; 0 where it composes to none.
char32_t ComposePair(char32_t first, char32_t second);

// Where extended grapheme clusters end: their ends in bytes, ascending.
std::vector<size_t> GraphemeEnds(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_UNICODE_H_
