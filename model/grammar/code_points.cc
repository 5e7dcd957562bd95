#include "model/grammar/code_points.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/utf8.h"

namespace trivium {
namespace {

constexpr char32_t kFirstSurrogate = 0xD800;
constexpr char32_t kLastSurrogate = 0xDFFF;

// Adds the UTF-8 of first .. last, all of which have equally many bytes. Where
// their first bytes differ, the range is cut so that a part has all of the
// following bytes or only one first byte.
void AddUtf8(const std::string& first, const std::string& last, size_t at,
             std::vector<ExpressionId>* prefix,
             std::vector<ExpressionId>* choices, Grammar* grammar) {
  const uint8_t low = static_cast<uint8_t>(first[at]);
  const uint8_t high = static_cast<uint8_t>(last[at]);
  if (at + 1 == first.size()) {
    std::vector<ExpressionId> parts = *prefix;
    parts.push_back(grammar->Bytes(low, high));
    choices->push_back(grammar->Sequence(std::move(parts)));
    return;
  }
  const auto with = [&](uint8_t from, uint8_t to, const std::string& begin,
                        const std::string& end) {
    prefix->push_back(grammar->Bytes(from, to));
    AddUtf8(begin, end, at + 1, prefix, choices, grammar);
    prefix->pop_back();
  };
  if (low == high) return with(low, low, first, last);
  std::string least = first, most = last;
  std::fill(least.begin() + static_cast<ptrdiff_t>(at) + 1, least.end(),
            '\x80');
  std::fill(most.begin() + static_cast<ptrdiff_t>(at) + 1, most.end(), '\xBF');
  const bool cut_low = first.substr(at + 1) != least.substr(at + 1);
  const bool cut_high = last.substr(at + 1) != most.substr(at + 1);
  if (cut_low) with(low, low, first, most);
  const uint8_t begin = low + (cut_low ? 1 : 0);
  const uint8_t end = high - (cut_high ? 1 : 0);
  if (begin <= end) with(begin, end, least, most);
  if (cut_high) with(high, high, least, last);
}

}  // namespace

CodePointSet::CodePointSet(std::vector<Range> ranges) {
  // Surrogates are left out: a range over them becomes two.
  for (size_t i = ranges.size(); i-- > 0;) {
    auto& [first, last] = ranges[i];
    last = std::min(last, kLastCodePoint);
    if (last < kFirstSurrogate || first > kLastSurrogate) continue;
    const Range above = {kLastSurrogate + 1, last};
    last = kFirstSurrogate - 1;
    ranges.push_back(above);
  }
  std::erase_if(ranges,
                [](const Range& range) { return range.first > range.second; });
  std::sort(ranges.begin(), ranges.end());
  for (const Range& range : ranges) {
    if (!ranges_.empty() && range.first <= ranges_.back().second + 1) {
      ranges_.back().second = std::max(ranges_.back().second, range.second);
    } else {
      ranges_.push_back(range);
    }
  }
}

CodePointSet CodePointSet::All() { return CodePointSet({{0, kLastCodePoint}}); }

CodePointSet CodePointSet::Complement() const {
  std::vector<Range> gaps;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) gaps.push_back({next, range.first - 1});
    next = range.second + 1;
  }
  if (next <= kLastCodePoint) gaps.push_back({next, kLastCodePoint});
  return CodePointSet(std::move(gaps));
}

CodePointSet CodePointSet::Intersection(const CodePointSet& other) const {
  CodePointSet result;
  for (size_t i = 0, j = 0; i < ranges_.size() && j < other.ranges_.size();) {
    const Range& a = ranges_[i];
    const Range& b = other.ranges_[j];
    const char32_t first = std::max(a.first, b.first);
    const char32_t last = std::min(a.second, b.second);
    if (first <= last) result.ranges_.push_back({first, last});
    if (a.second < b.second) {
      ++i;
    } else {
      ++j;
    }
  }
  return result;
}

bool CodePointSet::Has(char32_t code_point) const {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), code_point,
      [](char32_t value, const Range& range) { return value < range.first; });
  return after != ranges_.begin() && code_point <= (after - 1)->second;
}

ExpressionId Utf8Expression(const CodePointSet& set, Grammar* grammar) {
  std::vector<ExpressionId> choices;
  for (const auto& [first, last] : set.ranges()) {
    // Cut where UTF-8 gets longer.
    char32_t begin = first;
    for (const char32_t border : {0x7Fu, 0x7FFu, 0xFFFFu, 0x10FFFFu}) {
      if (begin > border || begin > last) continue;
      const char32_t end = std::min<char32_t>(border, last);
      std::string low, high;
      AppendUtf8(begin, &low);
      AppendUtf8(end, &high);
      std::vector<ExpressionId> prefix;
      AddUtf8(low, high, 0, &prefix, &choices, grammar);
      begin = end + 1;
    }
  }
  return grammar->Choice(std::move(choices));
}

}  // namespace trivium
