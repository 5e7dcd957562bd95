#ifndef TRIVIUM_MODEL_CHAT_FORMAT_TEXT_UNITS_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_TEXT_UNITS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// The parts of what a template writes: a tag `<...>`, an upper-case word in
// brackets `[...]`, a word, or a single byte. Texts are compared by units, so
// that `<begin>` and `</begin>` do not share their `begin>`.
std::vector<std::string_view> TextUnits(std::string_view text);

// The longest run of whole units that both texts begin or end with.
std::string_view CommonStart(std::string_view a, std::string_view b);
std::string_view CommonEnd(std::string_view a, std::string_view b);

// ASCII white space, as templates and JSON write it.
bool IsSpace(char c);
std::string_view TrimStart(std::string_view text);
std::string_view TrimEnd(std::string_view text);
std::string_view Trim(std::string_view text);

// Returns the size of the longest end of `text` that `mark` begins with.
size_t PartialMark(std::string_view text, std::string_view mark);

// Returns the tag that ends what `tag` begins: "</a>" of "<a>", "[/A]" of
// "[A]"; empty if `tag` is no such tag.
std::string ClosingTag(std::string_view tag);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_TEXT_UNITS_H_
