#include "server/translation/markdown_escapes.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "server/translation/characters.h"

namespace trivium {
namespace {

class Escapes {
 public:
  Escapes(std::string_view text, PlainMarks plain)
      : text_(text), plain_(plain) {}

  // True if the character at `at` needs a backslash.
  bool Needs(size_t at) const {
    switch (text_[at]) {
      case '\\':
        return at + 1 == text_.size() || absl::ascii_ispunct(After(at));
      case '`':
        return true;
      case '[':
      case ']':
        return !plain_.brackets || IsOfLink(at);
      case '|':
        return !plain_.bars;
      case '*':
        return !(IsSpace(Before(at)) && IsSpace(After(at)) && at > 0);
      case '_':
        return !(IsLetterBefore(at) && IsLetterAfter(at)) &&
               !(IsSpace(Before(at)) && IsSpace(After(at)));
      case '~':
        return !IsSpace(Before(at));
      case '<':
        return absl::ascii_isalpha(After(at)) || After(at) == '/' ||
               After(at) == '!' || After(at) == '?';
      case '&':
        return IsEntity(at);
      case '#':
        return at == 0 ? BeginsHeading() : EndsHeading(at);
      case '>':
        return at == 0;
      case '+':
      case '-':
      case '=':
        return at == 0 && (IsSpace(After(0)) || After(0) == text_[0]);
      case '.':
      case ')':
        return EndsNumber(at);
      default:
        return false;
    }
  }

 private:
  // The sentence counts as surrounded by spaces.
  char Before(size_t at) const { return at == 0 ? ' ' : text_[at - 1]; }
  char After(size_t at) const {
    return at + 1 < text_.size() ? text_[at + 1] : ' ';
  }
  static bool IsSpace(char c) { return absl::ascii_isspace(c); }
  bool IsLetterBefore(size_t at) const {
    const std::string_view before = text_.substr(0, at);
    return !before.empty() && u_isalnum(FirstCharacter(before.substr(
                                  before.size() - LastCharacterSize(before))));
  }
  bool IsLetterAfter(size_t at) const {
    const std::string_view after = text_.substr(at + 1);
    return !after.empty() && u_isalnum(FirstCharacter(after));
  }

  bool IsEntity(size_t at) const {
    size_t end = at + 1;
    if (After(at) == '#') ++end;
    const size_t begin = end;
    while (end < text_.size() && absl::ascii_isalnum(text_[end])) ++end;
    return end > begin && end < text_.size() && text_[end] == ';';
  }
  bool BeginsHeading() const {
    const size_t end = std::min(text_.find_first_not_of('#'), text_.size());
    return end == text_.size() || IsSpace(text_[end]);
  }
  // True at the end of "C ##", whose "##" a heading would drop.
  bool EndsHeading(size_t at) const {
    if (at + 1 != text_.size()) return false;
    const size_t before = text_.find_last_not_of('#');
    return before == text_.npos || IsSpace(text_[before]);
  }
  // True at the end of a number that begins a list, as in "1.".
  bool EndsNumber(size_t at) const {
    constexpr size_t kMostDigits = 9;
    return at > 0 && at <= kMostDigits && IsSpace(After(at)) &&
           std::all_of(text_.begin(), text_.begin() + at, absl::ascii_isdigit);
  }

  bool BeginsBox() const {
    return text_.starts_with("[ ] ") || text_.starts_with("[x] ") ||
           text_.starts_with("[X] ");
  }
  // True if the bracket would begin or end a link, a footnote, the name of a
  // page or the box of a task.
  bool IsOfLink(size_t at) const {
    constexpr std::string_view kAfterOpen = "^[!", kAfterClose = "([:";
    if (text_[at] == ']') {
      return kAfterClose.find(After(at)) != std::string::npos;
    }
    return (at == 0 && BeginsBox()) ||
           kAfterOpen.find(After(at)) != std::string::npos;
  }

  const std::string_view text_;
  const PlainMarks plain_;
};

}  // namespace

std::string EscapeMarkdown(std::string_view sentence, TextSpan span,
                           PlainMarks plain) {
  const Escapes escapes(sentence, plain);
  std::string out;
  for (size_t at = span.begin; at < span.end; ++at) {
    const char c = sentence[at];
    if (escapes.Needs(at)) out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

}  // namespace trivium
