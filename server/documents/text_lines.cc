#include "server/documents/text_lines.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>

#include "base/utf8.h"

namespace trivium {
namespace {

bool IsSpace(char32_t character) {
  return (character >= 0x1C && character <= 0x1F) ||
         u_isUWhiteSpace(static_cast<UChar32>(character));
}

}  // namespace

size_t LeadingSpace(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint first = FirstCodePoint(text.substr(at));
    if (!IsSpace(first.value)) break;
    at += first.size;
  }
  return at;
}

size_t TrailingSpace(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && IsContinuation(text[begin])) --begin;
    if (!IsSpace(FirstCodePoint(text.substr(begin, end - begin)).value)) break;
    end = begin;
  }
  return text.size() - end;
}

bool IsSpaces(std::string_view text) {
  return LeadingSpace(text) == text.size();
}

std::string_view StripSpace(std::string_view text) {
  text.remove_prefix(LeadingSpace(text));
  text.remove_suffix(TrailingSpace(text));
  return text;
}

std::string Collapse(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_space = false;
  for (const char c : text) {
    const bool space =
        c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
    if (!space) out += c;
    if (space && !in_space) out += ' ';
    in_space = space;
  }
  return out;
}

std::string Unmarked(std::string_view text) {
  std::string out(text);
  out.erase(std::remove_if(out.begin(), out.end(),
                           [](char c) {
                             return std::string_view(kUnusedBytes).find(c) !=
                                    std::string_view::npos;
                           }),
            out.end());
  return out;
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = text.find_first_of("\r\n");
    if (end == text.npos) {
      end = text.size();
    } else {
      end += text.substr(end).starts_with("\r\n") ? 2 : 1;
    }
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::string_view BreakOf(std::string_view line) {
  if (line.ends_with("\r\n")) return line.substr(line.size() - 2);
  if (line.ends_with('\r') || line.ends_with('\n')) {
    return line.substr(line.size() - 1);
  }
  return "";
}

LinePlaces::LinePlaces(std::string_view text) {
  size_t at = 0;
  for (const std::string_view line : SplitLines(text)) {
    at += line.size();
    if (!BreakOf(line).empty()) ends_.push_back(at);
  }
}

size_t LinePlaces::Line(size_t offset) const {
  return std::upper_bound(ends_.begin(), ends_.end(), offset) - ends_.begin() +
         1;
}

std::string LinePlaces::Place(size_t offset) const {
  return fmt::format("line {}", Line(offset));
}

std::string LinePlaces::PlaceInLine(std::string_view text,
                                    size_t offset) const {
  const size_t line = Line(offset);
  const size_t begin = line == 1 ? 0 : ends_[line - 2];
  return fmt::format("line {}, column {}", line,
                     CountCharacters(text.substr(begin, offset - begin)) + 1);
}

}  // namespace trivium
