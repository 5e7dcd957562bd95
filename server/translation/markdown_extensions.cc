#include "server/translation/markdown_extensions.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/markup_lexer.h"

namespace trivium {
namespace {

// Returns the size of the letters and "-" at the begin of a text.
size_t NameSize(std::string_view text) {
  size_t size = 0;
  while (size < text.size() &&
         (absl::ascii_isalpha(text[size]) || text[size] == '-')) {
    ++size;
  }
  return size;
}

// True for the first line of an admonition of Python-Markdown:
// !!! note "Title".
bool IsAdmonition(std::string_view line) {
  if (!line.starts_with("!!!") && !line.starts_with("???")) return false;
  line.remove_prefix(line.starts_with("???+") ? 4 : 3);
  if (!line.starts_with(' ')) return false;
  line.remove_prefix(1);
  const size_t name = NameSize(line);
  line.remove_prefix(name);
  return name > 0 &&
         (line.empty() || (line.starts_with(" \"") && line.ends_with('"')));
}

// True for a line that has only a tag of a template: {% include "x" %}.
bool IsTemplateTag(std::string_view line) {
  return (line.starts_with("{%") && line.find("%}") == line.size() - 2) ||
         ((line.starts_with("{{<") || line.starts_with("{{%")) &&
          line.find("}}") == line.size() - 2);
}

}  // namespace

std::optional<MarkdownMark> MarkdownExtensions::Next(TextSpan span,
                                                     Place place) const {
  using Kind = MarkdownMark::Kind;
  if (place != Place::kWithin) {
    if (const auto mark = LineMark(span, place)) return {{Kind::kLine, *mark}};
  }
  for (size_t at = span.begin; at + 1 < span.end; ++at) {
    if (text_[at] == '[') {
      const bool at_begin = place == Place::kBlock && at == span.begin;
      if (const auto mark = Footnote(at, span.end, at_begin)) {
        return {{Kind::kFootnote, *mark}};
      }
      if (const auto mark = Name(at, span.end)) return {{Kind::kName, *mark}};
    } else if (text_[at] == '^') {
      if (const auto mark = Note(at, span.end)) {
        return {{Kind::kFootnote, *mark}};
      }
      if (const auto mark = Raised({span.begin, span.end}, at)) {
        return {{Kind::kName, *mark}};
      }
    } else if (text_[at] == '{') {
      if (const auto mark = Attributes(at, span.end)) {
        return {{Kind::kAttributes, *mark}};
      }
    } else if (IsHighlight(at)) {
      return {{Kind::kHighlight, {at, at + 2}}};
    }
  }
  return std::nullopt;
}

std::optional<TextSpan> MarkdownExtensions::LineMark(TextSpan span,
                                                     Place place) const {
  const std::string_view rest = span.Of(text_);
  const auto of_size = [&span](size_t size) {
    return TextSpan{span.begin, span.begin + size};
  };
  if (place == Place::kBlock && rest.starts_with("[!")) {
    // GitHub's alert; in Obsidian "-" or "+" and a title may follow.
    const size_t name = NameSize(rest.substr(2));
    if (name > 0 && rest.substr(2 + name).starts_with(']')) {
      const size_t size = name + 3;
      const std::string_view fold = rest.substr(size, 1);
      return of_size(size + (fold == "-" || fold == "+" ? 1 : 0));
    }
  }
  if (place == Place::kLine && rest.starts_with(':') && rest.size() > 1 &&
      IsBlankByte(rest[1])) {
    return of_size(2);  // a definition
  }
  if (place == Place::kLine) {
    // The text of a footnote, below that of another one.
    const auto note = Footnote(span.begin, span.end, /*at_begin=*/true);
    if (note && text_[note->end - 1] == ':') return *note;
  }
  if (rest.starts_with("*[")) {
    // The text that an abbreviation stands for.
    const size_t end = rest.find("]:");
    if (end != rest.npos && rest.find('[', 2) > end) return of_size(end + 2);
  }
  const size_t line_end =
      std::max(std::min(text_.find('\n', span.end), text_.size()), span.end);
  if (!IsBlank(text_.substr(span.end, line_end - span.end))) {
    return std::nullopt;
  }
  if (rest.starts_with(":::") || IsAdmonition(rest) || IsTemplateTag(rest) ||
      rest == "[TOC]") {
    return of_size(rest.size());
  }
  return std::nullopt;
}

std::optional<TextSpan> MarkdownExtensions::Footnote(size_t at, size_t end,
                                                     bool at_begin) const {
  const std::string_view text = text_.substr(0, end);
  if (!text.substr(at).starts_with("[^")) return std::nullopt;
  size_t close = at + 2;
  while (close < end && text[close] != ']' && text[close] != '[' &&
         !IsBlankByte(text[close])) {
    ++close;
  }
  if (close == at + 2 || close == end || text[close] != ']') {
    return std::nullopt;
  }
  ++close;
  if (at_begin && text.substr(close).starts_with(':')) ++close;
  return TextSpan{at, close};
}

std::optional<TextSpan> MarkdownExtensions::Name(size_t at, size_t end) const {
  const std::string_view text = text_.substr(0, end);
  if (!text.substr(at).starts_with("[[")) return std::nullopt;
  const size_t close = text.find_first_of("[]\n", at + 2);
  if (close == text.npos || close == at + 2 ||
      !text.substr(close).starts_with("]]")) {
    return std::nullopt;
  }
  return TextSpan{at, close + 2};
}

std::optional<TextSpan> MarkdownExtensions::Note(size_t at, size_t end) const {
  if (at + 1 == end || text_[at + 1] != '[') return std::nullopt;
  // Up to the next bracket, so that all such marks take linear time.
  const size_t close = text_.substr(0, end).find_first_of("[]", at + 2);
  if (close == text_.npos || text_[close] != ']') return std::nullopt;
  return TextSpan{at, close + 1};
}

std::optional<TextSpan> MarkdownExtensions::Raised(TextSpan span,
                                                   size_t at) const {
  constexpr size_t kMostBytes = 16;
  const std::string_view text = text_.substr(0, span.end);
  size_t begin = at;
  while (begin > span.begin && absl::ascii_isalnum(text[begin - 1])) --begin;
  size_t close = at + 1;
  while (close < span.end && close - at <= kMostBytes &&
         (absl::ascii_isalnum(text[close]) || text[close] == '-' ||
          text[close] == '+')) {
    ++close;
  }
  if (begin == at || close == at + 1 || !text.substr(close).starts_with('^')) {
    return std::nullopt;
  }
  return TextSpan{begin, close + 1};
}

std::optional<TextSpan> MarkdownExtensions::Attributes(size_t at,
                                                       size_t end) const {
  if (at + 1 == end ||
      std::string_view("#.:").find(text_[at + 1]) == std::string_view::npos) {
    return std::nullopt;
  }
  const size_t close = text_.substr(0, end).find_first_of("{}\n", at + 1);
  if (close == text_.npos || text_[close] != '}') return std::nullopt;
  return TextSpan{at, close + 1};
}

bool MarkdownExtensions::IsHighlight(size_t at) const {
  const char c = text_[at];
  return (c == '=' || c == '+') && at + 1 < text_.size() &&
         text_[at + 1] == c && (at == 0 || text_[at - 1] != c) &&
         (at + 2 == text_.size() || text_[at + 2] != c);
}

bool MarkdownExtensions::Closes(size_t at) const {
  if (at == 0 || IsBlankByte(text_[at - 1])) return false;
  const std::string_view after = text_.substr(at + 2);
  return after.empty() || !u_isalnum(FirstCharacter(after));
}

bool MarkdownExtensions::Opens(size_t at) {
  const std::string_view before = text_.substr(0, at);
  const std::string_view after = text_.substr(at + 2);
  if (after.empty() || IsBlankByte(after[0]) ||
      (!before.empty() && u_isalnum(FirstCharacter(before.substr(
                              at - LastCharacterSize(before)))))) {
    return false;
  }
  size_t& closer = closer_[text_[at] == '=' ? 0 : 1];
  if (closer <= at + 2) {
    closer = at + 3;
    while (closer < text_.size() && !(text_[closer] == text_[at] &&
                                      IsHighlight(closer) && Closes(closer))) {
      ++closer;
    }
  }
  return closer < text_.size();
}

}  // namespace trivium
