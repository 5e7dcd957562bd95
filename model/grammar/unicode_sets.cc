#include "model/grammar/unicode_sets.h"

#include <unicode/uniset.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace trivium {
namespace {

CodePointSet FromIcu(const icu::UnicodeSet& set) {
  std::vector<CodePointSet::Range> ranges;
  for (int32_t i = 0; i < set.getRangeCount(); ++i) {
    ranges.push_back({static_cast<char32_t>(set.getRangeStart(i)),
                      static_cast<char32_t>(set.getRangeEnd(i))});
  }
  return CodePointSet(std::move(ranges));
}

}  // namespace

std::optional<CodePointSet> PropertySet(std::string_view name) {
  // Whatever else stands there would be read as ICU's own syntax.
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '=';
  });
  if (!is_name || name.empty()) return std::nullopt;
  UErrorCode error = U_ZERO_ERROR;
  const icu::UnicodeSet set(
      icu::UnicodeString::fromUTF8("[\\p{" + std::string(name) + "}]"), error);
  if (U_FAILURE(error)) return std::nullopt;
  return FromIcu(set);
}

CodePointSet WithOtherCases(const CodePointSet& set) {
  icu::UnicodeSet closed;
  for (const auto& [first, last] : set.ranges()) {
    closed.add(static_cast<UChar32>(first), static_cast<UChar32>(last));
  }
  // Adds strings, too, such as "ss" for a sharp s; they are no characters.
  closed.closeOver(USET_CASE_INSENSITIVE);
  return FromIcu(closed);
}

}  // namespace trivium
