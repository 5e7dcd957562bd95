#ifndef TRIVIUM_MODEL_TOKENIZER_UNICODE_H_
#define TRIVIUM_MODEL_TOKENIZER_UNICODE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace trivium {

// Returns the character at `text[*at]` and moves `at` behind it. A byte that
// begins no valid character counts as U+FFFD.
char32_t NextCharacter(std::string_view text, size_t* at);

// [text.size() + 1] The index of the character that each byte belongs to; the
// last element is the number of characters.
std::vector<int> CharacterOfByte(std::string_view text);

// True for Unicode's White_Space, like Rust's char::is_whitespace.
bool IsWhiteSpace(char32_t c);
// True for what Python's str.strip removes.
bool IsPythonSpace(char32_t c);
// True for BERT's punctuation: category P and ASCII's other symbols.
bool IsPunctuation(char32_t c);
// True for what BERT removes as control characters: categories Cc, Cf and Co.
bool IsControl(char32_t c);
bool IsNonspacingMark(char32_t c);  // Mn
bool IsMark(char32_t c);            // M
bool IsLetter(char32_t c);          // L
bool IsNumber(char32_t c);          // N
// True for \w of Unicode's regular expressions.
bool IsWordCharacter(char32_t c);
// True for the blocks around whose characters BERT puts spaces.
bool IsChineseCharacter(char32_t c);

// Appends the lower case of one character, regardless of its context.
void AppendLowerCase(char32_t c, std::u32string* out);

enum class DecompositionKind { kCanonical, kCompatible };
// Appends the full decomposition of one character (itself if it has none).
void AppendDecomposition(char32_t c, DecompositionKind kind,
                         std::u32string* out);
int CombiningClass(char32_t c);
// Returns the composition of a pair, or 0 if there is none.
char32_t ComposePair(char32_t first, char32_t second);

// Returns the ends of extended grapheme clusters in bytes, ascending.
std::vector<size_t> GraphemeEnds(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_UNICODE_H_
