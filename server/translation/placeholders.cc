#include "server/translation/placeholders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace trivium {
namespace {

// The text before and after the number.
struct Style {
  std::string_view before, behind;
};
constexpr std::array<Style, kPlaceholderStyles> kStyles = {
    {{"<x", ">"}, {"{", "}"}, {"%", ""}}};

// A placeholder, at [begin, end).
struct Found {
  size_t begin, end;
  size_t number;
};

// Returns the first placeholder at or after `from`.
std::optional<Found> NextPlaceholder(std::string_view text, size_t from,
                                     const Style& style) {
  constexpr size_t kMostDigits = 6;
  for (size_t at = text.find(style.before, from); at != std::string_view::npos;
       at = text.find(style.before, at + 1)) {
    const size_t digits = at + style.before.size();
    size_t end = digits;
    size_t number = 0;
    while (end < text.size() && end < digits + kMostDigits &&
           text[end] >= '0' && text[end] <= '9') {
      number = 10 * number + (text[end++] - '0');
    }
    if (end > digits && text.substr(end).starts_with(style.behind)) {
      return Found{at, end + style.behind.size(), number};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> WithPlaceholders(std::string_view text,
                                            TextSpan sentence,
                                            const std::vector<TextSpan>& spans,
                                            int style) {
  const Style& look = kStyles[style];
  std::string out;
  size_t begin = sentence.begin;
  for (size_t i = 0; i < spans.size(); ++i) {
    out += text.substr(begin, spans[i].begin - begin);
    out += fmt::format("{}{}{}", look.before, i + 1, look.behind);
    begin = spans[i].end;
  }
  out += text.substr(begin, sentence.end - begin);
  // Checks that the text has just these placeholders, in order.
  size_t number = 0;
  std::optional<Found> found = NextPlaceholder(out, 0, look);
  for (; found; found = NextPlaceholder(out, found->end, look)) {
    if (found->number != ++number) return std::nullopt;
  }
  if (number != spans.size()) return std::nullopt;
  return out;
}

Restored RestoreSpans(std::string_view translation,
                      const std::vector<std::string_view>& spans, int style) {
  Restored out;
  out.counts.resize(spans.size());
  size_t begin = 0;
  const auto add = [&](size_t end) {
    out.between.emplace_back(translation.substr(begin, end - begin));
    out.text += out.between.back();
  };
  const Style& look = kStyles[style];
  std::optional<Found> found = NextPlaceholder(translation, 0, look);
  for (; found; found = NextPlaceholder(translation, found->end, look)) {
    if (found->number < 1 || found->number > spans.size()) {
      out.stray = true;
      continue;
    }
    add(found->begin);
    const std::string_view span = spans[found->number - 1];
    out.places.push_back({found->number - 1,
                          {found->begin, found->end},
                          {out.text.size(), out.text.size() + span.size()}});
    out.text += span;
    ++out.counts[found->number - 1];
    begin = found->end;
  }
  add(translation.size());
  return out;
}

}  // namespace trivium
