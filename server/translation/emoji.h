#ifndef TRIVIUM_SERVER_TRANSLATION_EMOJI_H_
#define TRIVIUM_SERVER_TRANSLATION_EMOJI_H_

#include <cstddef>
#include <string_view>

namespace trivium {

// Returns the size in bytes of the emoji at the beginning of a text, or 0 if
// there is none. Follows UTS #51: a character that is shown as an emoji by
// itself or by a variation selector, with its skin tone, a keycap, a flag, or
// several joined by U+200D. So does a character for private use, which is an
// icon in some font. Other pictographs, such as U+2764 alone and "©", count as
// signs.
size_t EmojiSize(std::string_view text);

// The same for a row of emoji without space between them.
size_t EmojiRowSize(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_EMOJI_H_
