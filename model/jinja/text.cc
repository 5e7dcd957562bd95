// Searches are Knuth-Morris-Pratt's, so that a hostile template or request gets
// no quadratic time out of find, split or replace. All comparisons ignore the
// origin mark (CodeOf); all results keep it, since they are made of the text's
// own characters.
#include "model/jinja/text.h"

#include <algorithm>

#include "base/utf8.h"

namespace trivium::jinja {

namespace {

bool IsLineEnd(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
         c == 0x2028 || c == 0x2029;
}

// Returns Knuth, Morris and Pratt's table: for each prefix of `part`, the
// length of the longest proper prefix that is also its suffix.
std::vector<size_t> Failures(TextView part) {
  std::vector<size_t> failures(part.size(), 0);
  for (size_t i = 1, matched = 0; i < part.size(); ++i) {
    while (matched > 0 && CodeOf(part[i]) != CodeOf(part[matched])) {
      matched = failures[matched - 1];
    }
    if (CodeOf(part[i]) == CodeOf(part[matched])) ++matched;
    failures[i] = matched;
  }
  return failures;
}

// Finds `part`, which is not empty, repeatedly.
class Finder {
 public:
  explicit Finder(TextView part) : part_(part), failures_(Failures(part)) {}

  size_t Next(TextView text, size_t from) const {
    size_t matched = 0;
    for (size_t i = from; i < text.size(); ++i) {
      while (matched > 0 && CodeOf(text[i]) != CodeOf(part_[matched])) {
        matched = failures_[matched - 1];
      }
      if (CodeOf(text[i]) == CodeOf(part_[matched])) ++matched;
      if (matched == part_.size()) return i + 1 - matched;
    }
    return TextView::npos;
  }

 private:
  const TextView part_;
  const std::vector<size_t> failures_;
};

// Returns the places of `part` from the left, without overlaps.
std::vector<size_t> Places(TextView text, TextView part, int64_t most) {
  std::vector<size_t> places;
  const Finder finder(part);
  size_t at = 0;
  while (most < 0 || static_cast<int64_t>(places.size()) < most) {
    const size_t found = finder.Next(text, at);
    if (found == TextView::npos) break;
    places.push_back(found);
    at = found + part.size();
  }
  return places;
}

// Returns the places from the right, by reversing text and part.
std::vector<size_t> PlacesFromRight(TextView text, TextView part,
                                    int64_t most) {
  const Text backward(text.rbegin(), text.rend());
  const Text backward_part(part.rbegin(), part.rend());
  std::vector<size_t> places = Places(backward, backward_part, most);
  for (size_t& place : places) place = text.size() - place - part.size();
  std::reverse(places.begin(), places.end());
  return places;
}

std::vector<TextView> SplitAtSpace(TextView text, int64_t most) {
  std::vector<TextView> parts;
  size_t at = 0;
  while (true) {
    while (at < text.size() && IsSpace(text[at])) ++at;
    if (at == text.size()) return parts;
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(Strip(text.substr(at), Side::kRight));
      return parts;
    }
    const size_t begin = at;
    while (at < text.size() && !IsSpace(text[at])) ++at;
    parts.push_back(text.substr(begin, at - begin));
  }
}

std::vector<TextView> SplitAtSpaceFromRight(TextView text, int64_t most) {
  std::vector<TextView> parts;
  size_t end = text.size();
  while (true) {
    while (end > 0 && IsSpace(text[end - 1])) --end;
    if (end == 0) break;
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(Strip(text.substr(0, end), Side::kLeft));
      break;
    }
    const size_t stop = end;
    while (end > 0 && !IsSpace(text[end - 1])) --end;
    parts.push_back(text.substr(end, stop - end));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

Text TextFromUtf8(std::string_view text, bool from_data) {
  const char32_t mark = from_data ? kFromData : 0;
  Text result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = FirstCodePoint(text);
    result.push_back(next.value | mark);
    text.remove_prefix(next.size);
  }
  return result;
}

std::string Utf8Of(TextView text) {
  std::string result;
  result.reserve(text.size());
  for (const char32_t c : text) AppendUtf8(CodeOf(c), &result);
  return result;
}

int Compare(TextView left, TextView right) {
  const size_t both = std::min(left.size(), right.size());
  for (size_t i = 0; i < both; ++i) {
    const char32_t a = CodeOf(left[i]);
    const char32_t b = CodeOf(right[i]);
    if (a != b) return a < b ? -1 : 1;
  }
  if (left.size() == right.size()) return 0;
  return left.size() < right.size() ? -1 : 1;
}

bool StartsWith(TextView text, TextView part) {
  return text.size() >= part.size() && Equal(text.substr(0, part.size()), part);
}

bool EndsWith(TextView text, TextView part) {
  return text.size() >= part.size() &&
         Equal(text.substr(text.size() - part.size()), part);
}

size_t Find(TextView text, TextView part, size_t from) {
  if (from > text.size()) return TextView::npos;
  if (part.empty()) return from;
  return Finder(part).Next(text, from);
}

size_t FindLast(TextView text, TextView part) {
  if (part.empty()) return text.size();
  const std::vector<size_t> places = PlacesFromRight(text, part, 1);
  return places.empty() ? TextView::npos : places[0];
}

size_t Count(TextView text, TextView part) {
  if (part.empty()) return text.size() + 1;
  return Places(text, part, -1).size();
}

bool IsSpace(char32_t character) {
  const char32_t c = CodeOf(character);
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 ||
         c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

TextView Strip(TextView text, Side side, std::optional<TextView> characters) {
  Text wanted;
  if (characters.has_value()) {
    for (const char32_t c : *characters) wanted.push_back(CodeOf(c));
    std::sort(wanted.begin(), wanted.end());
  }
  const auto stripped = [&](char32_t c) {
    return characters.has_value()
               ? std::binary_search(wanted.begin(), wanted.end(), CodeOf(c))
               : IsSpace(c);
  };
  if (side != Side::kRight) {
    while (!text.empty() && stripped(text.front())) text.remove_prefix(1);
  }
  if (side != Side::kLeft) {
    while (!text.empty() && stripped(text.back())) text.remove_suffix(1);
  }
  return text;
}

std::vector<TextView> Split(TextView text, std::optional<TextView> separator,
                            int64_t most, bool from_right) {
  if (!separator.has_value()) {
    return from_right ? SplitAtSpaceFromRight(text, most)
                      : SplitAtSpace(text, most);
  }
  std::vector<TextView> parts;
  size_t at = 0;
  for (const size_t place : from_right ? PlacesFromRight(text, *separator, most)
                                       : Places(text, *separator, most)) {
    parts.push_back(text.substr(at, place - at));
    at = place + separator->size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

std::vector<TextView> SplitLines(TextView text) {
  std::vector<TextView> lines;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && !IsLineEnd(CodeOf(text[end]))) ++end;
    lines.push_back(text.substr(at, end - at));
    const bool two = end + 1 < text.size() && CodeOf(text[end]) == '\r' &&
                     CodeOf(text[end + 1]) == '\n';
    at = end + (two ? 2 : 1);
  }
  return lines;
}

Text Replace(TextView text, TextView part, TextView by, int64_t most) {
  Text result;
  if (part.empty()) {
    for (size_t i = 0; i <= text.size(); ++i) {
      if (most < 0 || static_cast<int64_t>(i) < most) result += by;
      if (i < text.size()) result.push_back(text[i]);
    }
    return result;
  }
  size_t at = 0;
  for (const size_t place : Places(text, part, most)) {
    result += text.substr(at, place - at);
    result += by;
    at = place + part.size();
  }
  result += text.substr(at);
  return result;
}

}  // namespace trivium::jinja
