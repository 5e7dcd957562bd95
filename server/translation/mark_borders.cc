#include "server/translation/mark_borders.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>
#include <optional>

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

// True for marks that separate the steps of a path, as in "Home > Events", and
// may stand in sentences, too.
bool IsPathMark(UChar32 c) {
  constexpr UChar32 kMarks[] = {'>', '/', 0xBB /* » */, 0x2192 /* → */,
                                0x21D2 /* ⇒ */};
  return std::find(std::begin(kMarks), std::end(kMarks), c) != std::end(kMarks);
}

// True if the mark at [at, end), which has spaces around it, stands between two
// words of more than a letter, the second with a capital: "a > b" is a formula.
bool IsBetweenSteps(std::string_view text, size_t at, size_t end) {
  const auto is_letter = [&](size_t place) {
    return place < text.size() && u_isalpha(FirstCharacter(text.substr(place)));
  };
  size_t before = at;
  for (int i = 0; i < 3; ++i) {  // a space and two letters
    if (before == 0) return false;
    before -= LastCharacterSize(text.substr(0, before));
    if (i > 0 && !is_letter(before)) return false;
  }
  const size_t word = end + 1;
  return is_letter(word) && u_isupper(FirstCharacter(text.substr(word))) &&
         is_letter(word + FirstCodePoint(text.substr(word)).size);
}

// A mark such as "a)" or "(2)" that begins an item of a list.
struct Enumerator {
  TextSpan span;
  size_t number = 0;  // 1 for "a" and "1"
  bool letter = false;
  char closing = 0;  // ')' or '.'
};

// Returns the enumerator at `at`, with a space behind it.
std::optional<Enumerator> EnumeratorAt(std::string_view text, size_t at) {
  constexpr size_t kMostDigits = 2;
  Enumerator found = {{at, at}};
  if (at < text.size() && text[at] == '(') ++at;
  if (at >= text.size()) return std::nullopt;
  if (text[at] >= 'a' && text[at] <= 'z') {
    found.letter = true;
    found.number = static_cast<size_t>(text[at++] - 'a') + 1;
  } else {
    const size_t begin = at;
    while (at < text.size() && at < begin + kMostDigits && text[at] >= '0' &&
           text[at] <= '9') {
      found.number = 10 * found.number + static_cast<size_t>(text[at++] - '0');
    }
    if (at == begin) return std::nullopt;
  }
  if (at >= text.size() || !(text[at] == ')' || text[at] == '.')) {
    return std::nullopt;
  }
  found.closing = text[at++];
  // "e." is an abbreviation.
  if (found.letter && found.closing == '.') return std::nullopt;
  if (at >= text.size() || text[at] != ' ') return std::nullopt;
  found.span.end = at;
  return found;
}

bool IsConjunction(std::string_view item) {
  constexpr std::string_view kWords[] = {"and",  "or",  "to", "und",
                                         "oder", "bis", "&",  ","};
  return std::find(std::begin(kWords), std::end(kWords), item) !=
         std::end(kWords);
}

// Returns the enumerators of a list in one line, consecutive from the beginning
// of the sentence on, with words between them: "a) red b) blue", but not "We
// need a) time and b) money" or "1. and 2. house".
std::vector<TextSpan> EnumeratorsIn(std::string_view text) {
  std::vector<TextSpan> found;
  Enumerator last;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool may =
        c == '(' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (at == 0 && !may) break;
    if (!may || (at > 0 && text[at - 1] != ' ')) continue;
    const std::optional<Enumerator> next = EnumeratorAt(text, at);
    if (!next && found.empty()) break;
    if (!next) continue;
    if (found.empty()) {
      if (next->number != 1 || at > 0) break;
    } else {
      if (next->number != last.number + 1 || next->letter != last.letter ||
          next->closing != last.closing) {
        continue;
      }
      // Read only now: each item may begin with the same long white space.
      const TextSpan item = WithoutWhiteSpace(text, {last.span.end, at});
      if (item.begin == item.end || IsConjunction(item.Of(text))) continue;
    }
    found.push_back(next->span);
    last = *next;
    at = next->span.end - 1;
  }
  if (found.size() < 2) found.clear();
  return found;
}

// Returns the letters and digits directly before `at`, or at it.
std::string_view WordBeside(std::string_view text, size_t at, bool before) {
  size_t end = at;
  while (before ? end > 0 : end < text.size()) {
    const size_t size = before ? LastCharacterSize(text.substr(0, end))
                               : FirstCodePoint(text.substr(end)).size;
    const size_t next = before ? end - size : end + size;
    if (!u_isalnum(FirstCharacter(text.substr(std::min(end, next))))) break;
    end = next;
  }
  return before ? text.substr(end, at - end) : text.substr(at, end - at);
}

// True for a number, and for a word of two letters or more.
bool IsNumberOrWord(std::string_view word) {
  if (word.empty()) return false;
  const UChar32 first = FirstCharacter(word);
  return u_isdigit(first) || FirstCodePoint(word).size < word.size();
}

}  // namespace

bool IsBar(char32_t c) {
  constexpr char32_t kBars[] = {'|', 0xA6, 0x2502, 0x2503, 0x2551, 0xFF5C};
  return std::find(std::begin(kBars), std::end(kBars), c) != std::end(kBars);
}

bool IsBarBetweenWords(std::string_view text, size_t at) {
  const CodePoint bar = FirstCodePoint(text.substr(at));
  if (!IsBar(bar.value)) return false;
  const std::string_view left = WordBeside(text, at, /*before=*/true);
  const std::string_view right =
      WordBeside(text, at + bar.size, /*before=*/false);
  return IsNumberOrWord(left) && IsNumberOrWord(right) &&
         !u_islower(FirstCharacter(right));
}

std::vector<TextSpan> CutAtMarks(std::string_view text, TextSpan sentence) {
  const std::string_view own = sentence.Of(text);
  std::vector<TextSpan> parts;
  size_t begin = 0;
  const auto add = [&](size_t end) {
    const TextSpan part =
        WithoutWhiteSpace(text, {sentence.begin + begin, sentence.begin + end});
    if (part.begin < part.end) parts.push_back(part);
  };
  const std::vector<TextSpan> enumerators = EnumeratorsIn(own);
  // French quotations have spaces within.
  const bool quotes = own.find("«") != own.npos;
  auto next = enumerators.begin();
  for (size_t at = 0; at < own.size();) {
    if (next != enumerators.end() && next->begin == at) {
      add(at);
      begin = at = next->end;
      ++next;
      continue;
    }
    const CodePoint c = FirstCodePoint(own.substr(at));
    const size_t end = at + c.size;
    const auto mark = static_cast<UChar32>(c.value);
    const auto is_border = [&] {
      // A tab that indents a line is none.
      if (mark == '\t') return !IsSpaceBefore(own, at);
      if (IsBarBetweenWords(own, at)) return true;
      const bool path = IsPathMark(mark);
      return (path || IsBorderMark(mark)) && IsSpaceBefore(own, at) &&
             IsSpaceAt(own, end) &&
             (!path ||
              (IsBetweenSteps(own, at, end) && !(mark == 0xBB && quotes)));
    };
    if (is_border()) {
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
