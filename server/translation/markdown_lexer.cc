#include "server/translation/markdown_lexer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "base/utf8.h"
#include "server/translation/sentences.h"

namespace trivium {
namespace {

bool IsBlankChar(char c) { return c == ' ' || c == '\t'; }
bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

std::string_view LineAt(std::string_view text, size_t at) {
  return text.substr(at, text.find('\n', at) - at);
}

size_t AfterNewline(std::string_view text, size_t at) {
  if (text.substr(at).starts_with("\r\n")) return at + 2;
  return at < text.size() && IsLineEnd(text[at]) ? at + 1 : at;
}

// Skips white space within a link, which may continue in a quote's next line.
size_t AfterSpace(std::string_view text, size_t at) {
  while (at < text.size() && (IsBlankChar(text[at]) || IsLineEnd(text[at]))) {
    const bool line = IsLineEnd(text[at]);
    ++at;
    while (line && at < text.size() &&
           (IsBlankChar(text[at]) || text[at] == '>')) {
      ++at;
    }
  }
  return at;
}

// Returns the offset just past the `close` that ends the text quoted from `at`,
// or npos if there is none.
size_t AfterQuoted(std::string_view text, size_t at, char open, char close) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == close) return at + 1;
    if (text[at] == open && open != close) return text.npos;
    if (text[at] == '\\') ++at;
  }
  return text.npos;
}

// Returns the offset just past a link's destination, or npos if it is
// malformed: https://spec.commonmark.org/0.31.2/#link-destination
size_t AfterDestination(std::string_view text, size_t at) {
  if (text.substr(at).starts_with('<')) {
    const size_t end = AfterQuoted(text, at, '<', '>');
    const bool line =
        end != text.npos &&
        std::any_of(text.begin() + at, text.begin() + end, IsLineEnd);
    return line ? text.npos : end;
  }
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (absl::ascii_iscntrl(c) || c == ' ') break;
    if (c == '(') ++depth;
    if (c == ')' && --depth < 0) break;
    if (c == '\\' && at + 1 < text.size() &&
        absl::ascii_ispunct(text[at + 1])) {
      ++at;
    }
  }
  return at;
}

// Returns the offset just past "(/a 'title')", or npos if there is none.
size_t AfterTarget(std::string_view text, size_t at) {
  if (!text.substr(at).starts_with('(')) return text.npos;
  at = AfterSpace(text, at + 1);
  at = AfterDestination(text, at);
  if (at == text.npos) return at;
  const size_t title = AfterSpace(text, at);
  at = title;
  if (at < text.size()) {
    const char quote = text[at];
    if (quote == '"' || quote == '\'') {
      at = AfterQuoted(text, at, quote, quote);
    } else if (quote == '(') {
      at = AfterQuoted(text, at, '(', ')');
    }
    if (at == text.npos) return at;
    at = AfterSpace(text, at);
  }
  return text.substr(std::min(at, text.size())).starts_with(')') ? at + 1
                                                                 : text.npos;
}

// True if GitHub parses the line as the one under a table's head.
bool IsTableRule(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = line.find_first_not_of(" \t>");
  if (begin == line.npos || line.find('|') == line.npos) return false;
  line.remove_prefix(begin);
  line = line.substr(0, line.find_last_not_of(kBlank) + 1);
  if (line.starts_with("- ")) return false;  // a list item
  if (line.starts_with('|')) line.remove_prefix(1);
  if (line.ends_with('|')) line.remove_suffix(1);
  while (true) {
    const size_t bar = std::min(line.find('|'), line.size());
    std::string_view cell = WithoutWhiteSpace(line, {0, bar}).Of(line);
    if (cell.starts_with(':')) cell.remove_prefix(1);
    if (cell.ends_with(':')) cell.remove_suffix(1);
    if (cell.empty() || cell.find_first_not_of('-') != cell.npos) return false;
    if (bar == line.size()) return true;
    line.remove_prefix(bar + 1);
  }
}

// True if the line ends with "<!--", apart from white space.
bool EndsWithComment(std::string_view line) {
  constexpr std::string_view kBegin = "<!--";
  const size_t end = line.find_last_not_of(" \t\r") + 1;
  return line.substr(0, end).ends_with(kBegin);
}

// True for a footnote of one word, which md4c takes for the address of a link.
bool IsShortFootnote(std::string_view line) {
  const size_t name = line.find("]:");
  if (!line.starts_with("[^") || name == line.npos) return false;
  std::string_view note = line.substr(name + 2);
  const auto skip_blanks = [&note] {
    note.remove_prefix(std::min(note.find_first_not_of(" \t"), note.size()));
  };
  skip_blanks();
  if (note.empty()) return false;
  note.remove_prefix(std::min(note.find_first_of(" \t\r"), note.size()));
  skip_blanks();
  // A title of the link may follow.
  constexpr std::string_view kQuotes = "\"'(";
  return note.empty() || note == "\r" || kQuotes.find(note[0]) != kQuotes.npos;
}

// An item's mark, as wide as the indentation of a footnote's paragraphs.
constexpr std::string_view kListItem = "-   ";

// True if the line at `at` begins a footnote that has further paragraphs, which
// are indented. Looks ahead to the next footnote at most.
bool BeginsLongFootnote(std::string_view text, size_t at) {
  const std::string_view first = LineAt(text, at);
  const size_t name = first.find(']');
  if (!first.starts_with("[^") || name == first.npos ||
      !first.substr(name).starts_with("]:")) {
    return false;
  }
  bool blank = false;
  for (at += first.size(); at < text.size();) {
    ++at;
    const std::string_view line = LineAt(text, at);
    const bool indented = line.starts_with("\t") || line.starts_with("    ");
    if (IsBlank(line)) {
      blank = true;
    } else if (blank || line.starts_with("[^")) {
      return blank && indented;
    }
    at += line.size();
  }
  return false;
}

}  // namespace

size_t AfterFrontMatter(std::string_view text) {
  const auto bare = [](std::string_view line) {
    return line.substr(0, line.find_last_not_of(" \t\r") + 1);
  };
  const std::string_view mark = bare(LineAt(text, 0));
  if (mark != "---" && mark != "+++") return 0;
  for (size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at)) {
    ++at;
    const std::string_view line = LineAt(text, at);
    if (bare(line) == mark) return std::min(at + line.size() + 1, text.size());
  }
  return 0;
}

size_t AfterLineBreak(std::string_view text, size_t at, bool hard) {
  const size_t begin = at;
  while (at < text.size() && IsBlankChar(text[at])) ++at;
  if (hard && text.substr(at).starts_with('\\')) ++at;
  const size_t line = AfterNewline(text, at);
  if (line == at) return begin;
  at = line;
  while (at < text.size() && (IsBlankChar(text[at]) || text[at] == '>')) ++at;
  return at;
}

size_t AfterLink(std::string_view text, size_t at, size_t most) {
  text = text.substr(0, std::max(at, most));
  if (!text.substr(at).starts_with(']')) return at;
  const size_t bracket = at + 1;
  if (const size_t end = AfterTarget(text, bracket); end != text.npos) {
    return end;
  }
  if (text.substr(bracket).starts_with('[')) {
    const size_t end = AfterQuoted(text, bracket, '[', ']');
    if (end != text.npos) return end;
  }
  return bracket;
}

std::string InOneLine(std::string_view label) {
  std::string line;
  for (size_t at = 0; at < label.size();) {
    const size_t end = AfterSpace(label, at);
    if (end == at) {
      line += label[at++];
    } else {
      line += ' ';
      at = end;
    }
  }
  return line;
}

ParsedMarkdown::ParsedMarkdown(std::string_view text) {
  text_.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const std::string_view line = LineAt(text, at);
    if (IsTableRule(line)) {
      AddTableRule(line);
    } else {
      if (BeginsLongFootnote(text, at)) Insert(kListItem);
      const bool carriage = line.ends_with('\r');
      text_ += line.substr(0, line.size() - (carriage ? 1 : 0));
      if (IsShortFootnote(line)) Insert(" x");
      if (carriage) text_ += '\r';
      if (EndsWithComment(line)) Insert("x");
    }
    at += line.size();
    if (at < text.size()) text_ += text[at++];
  }
  // md4c reports a NUL as a text of its own, without its place.
  std::replace(text_.begin(), text_.end(), '\0', '\x1A');
}

void ParsedMarkdown::Insert(std::string_view more) {
  text_ += more;
  added_.push_back({text_.size(),
                    (added_.empty() ? 0 : added_.back().second) + more.size()});
}

void ParsedMarkdown::AddTableRule(std::string_view line) {
  constexpr size_t kLeast = 3;
  const auto is_rule = [&line](size_t at) {
    return at < line.size() && (line[at] == '-' || line[at] == ':');
  };
  for (size_t at = 0; at < line.size();) {
    if (!is_rule(at)) {
      text_ += line[at++];
      continue;
    }
    size_t end = at;
    while (is_rule(end)) ++end;
    const size_t dash = line.find('-', at);
    text_ += line.substr(at, dash - at);
    if (end - at < kLeast) {
      Insert(std::string(kLeast - (end - at), '-'));
    }
    text_ += line.substr(dash, end - dash);
    at = end;
  }
}

size_t ParsedMarkdown::PlaceOf(size_t at) const {
  const auto next = std::partition_point(
      added_.begin(), added_.end(),
      [at](const std::pair<size_t, size_t>& one) { return one.first <= at; });
  const size_t place = at - (next == added_.begin() ? 0 : (next - 1)->second);
  return next == added_.end() ? place
                              : std::min(place, next->first - next->second);
}

}  // namespace trivium
