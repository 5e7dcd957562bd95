#include "server/translation/mark_borders.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.h"
#include "server/translation/characters.h"

namespace trivium {
namespace {

bool IsBorderMark(UChar32 c) {
  constexpr UChar32 kMarks[] = {
      '|',    0xA6,            // broken bar
      0xB7,   0x2022, 0x2023,  // middle dot, bullets
      0x2043, 0x2219, 0x22C5, 0x25AA, 0x25A0, 0x25CF, 0x25E6,
      0x25B6, 0x25BA, 0x2016, 0x2502, 0x2503, 0x2551, 0xFF5C,
      0x203A,  // the "›" of "Home › Events"
      0x2756, 0x2794, 0x279C,
  };
  return std::find(std::begin(kMarks), std::end(kMarks), c) != std::end(kMarks);
}

bool IsSpaceBefore(std::string_view text, size_t at) {
  if (at == 0) return true;
  const size_t size = LastCharacterSize(text.substr(0, at));
  return u_isUWhiteSpace(FirstCharacter(text.substr(at - size))) != 0;
}

bool IsSpaceAt(std::string_view text, size_t at) {
  return at == text.size() || u_isUWhiteSpace(FirstCharacter(text.substr(at)));
}

}  // namespace

std::vector<TextSpan> CutAtMarks(std::string_view text, TextSpan sentence) {
  const std::string_view own = sentence.Of(text);
  std::vector<TextSpan> parts;
  size_t begin = 0;
  const auto add = [&](size_t end) {
    const TextSpan part =
        WithoutWhiteSpace(text, {sentence.begin + begin, sentence.begin + end});
    if (part.begin < part.end) parts.push_back(part);
  };
  for (size_t at = 0; at < own.size();) {
    const CodePoint c = FirstCodePoint(own.substr(at));
    const size_t end = at + c.size;
    if (IsBorderMark(static_cast<UChar32>(c.value)) && IsSpaceBefore(own, at) &&
        IsSpaceAt(own, end)) {
      add(at);
      begin = end;
    }
    at = end;
  }
  if (begin == 0) return {sentence};
  add(own.size());
  return parts;
}

}  // namespace trivium
