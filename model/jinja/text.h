#ifndef TRIVIUM_MODEL_JINJA_TEXT_H_
#define TRIVIUM_MODEL_JINJA_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trivium::jinja {

// A template's strings: code points, as Python counts them, each of which also
// knows where it is from. The top bit is set where the character came with a
// request; it travels through slices, joins and replacements by itself, and
// nothing but what is written in the template is ever without it. Comparisons
// look at code points alone.
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

// Where `part` begins at or behind `from`, first or last; npos: nowhere. Linear
// in both sizes.
size_t Find(TextView text, TextView part, size_t from = 0);
size_t FindLast(TextView text, TextView part);
// How often `part` stands in the text, without overlaps; as Python, of an
// empty one: at every place.
size_t Count(TextView text, TextView part);

// What Python's str.isspace says.
bool IsSpace(char32_t character);
enum class Side { kBoth, kLeft, kRight };
// Without white space, or without the characters of `characters`, at the ends.
TextView Strip(TextView text, Side side,
               std::optional<TextView> characters = std::nullopt);

// str.split and str.rsplit: at `separator` (not empty) or, without one, at runs
// of white space; at most `most` times, if it is not negative.
std::vector<TextView> Split(TextView text, std::optional<TextView> separator,
                            int64_t most, bool from_right);
// str.splitlines.
std::vector<TextView> SplitLines(TextView text);

// `part` replaced at most `most` times, if it is not negative.
Text Replace(TextView text, TextView part, TextView by, int64_t most);

// Python's str methods of these names; a character that becomes several is from
// where it was from.
Text Upper(TextView text);
Text Lower(TextView text);
Text Capitalize(TextView text);
Text Title(TextView text);
// The filter of this name, which begins words behind space, -, (, {, [ and <.
Text TitleWords(TextView text);

}  // namespace trivium::jinja

#endif  // TRIVIUM_MODEL_JINJA_TEXT_H_
