#ifndef TRIVIUM_MODEL_JINJA_TEXT_H_
#define TRIVIUM_MODEL_JINJA_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trivium::jinja {

// A template's strings: code points, as Python counts them, each with a mark of
// its origin. The top bit is set if the character came with a request. The mark
// travels through slices, joins and replacements by itself; only characters
// that the template writes are ever without it. Comparisons ignore it.
using Text = std::u32string;
using TextView = std::u32string_view;

inline constexpr char32_t kFromData = 0x80000000;
inline char32_t CodeOf(char32_t character) { return character & ~kFromData; }

Text TextFromUtf8(std::string_view text, bool from_data);
std::string Utf8Of(TextView text);

int Compare(TextView left, TextView right);
inline bool Equal(TextView left, TextView right) {
  return left.size() == right.size() && Compare(left, right) == 0;
}
bool StartsWith(TextView text, TextView part);
bool EndsWith(TextView text, TextView part);

// Return where `part` begins first at or after `from`, or last; npos: nowhere.
// Linear in both sizes.
size_t Find(TextView text, TextView part, size_t from = 0);
size_t FindLast(TextView text, TextView part);
// Returns how often `part` occurs without overlaps; like Python, an empty one
// occurs at every place.
size_t Count(TextView text, TextView part);

// Python's str.isspace.
bool IsSpace(char32_t character);
enum class Side { kBoth, kLeft, kRight };
// Removes white space, or the characters of `characters`, at the ends.
TextView Strip(TextView text, Side side,
               std::optional<TextView> characters = std::nullopt);

// str.split and str.rsplit: split at `separator` (not empty) or, without it, at
// runs of white space; at most `most` times unless it is negative.
std::vector<TextView> Split(TextView text, std::optional<TextView> separator,
                            int64_t most, bool from_right);
// str.splitlines.
std::vector<TextView> SplitLines(TextView text);

// Replaces `part` at most `most` times, or everywhere if it is negative.
Text Replace(TextView text, TextView part, TextView by, int64_t most);

// Python's str methods of these names. If a character becomes several, they
// keep its origin.
Text Upper(TextView text);
Text Lower(TextView text);
Text Capitalize(TextView text);
Text Title(TextView text);
// The filter `title`, in which words begin after white space, -, (, {, [ and <.
Text TitleWords(TextView text);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_TEXT_H_
