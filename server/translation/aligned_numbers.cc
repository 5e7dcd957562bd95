#include "server/translation/aligned_numbers.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <map>
#include <string>

#include "server/translation/characters.h"
#include "server/translation/numbers.h"

namespace trivium {
namespace {

struct NumberPlace {
  TextSpan span;
  int count = 0;  // of numbers with these digits
};

// Returns the numbers of a part of a text by their digits.
std::map<std::string, NumberPlace> NumbersByDigits(std::string_view text,
                                                   TextSpan within) {
  const std::string_view part = within.Of(text);
  std::map<std::string, NumberPlace> numbers;
  // The digits are the same in any style.
  for (const WrittenNumber& number : NumbersIn(part, NumberStyle())) {
    NumberPlace& place = numbers[DigitsOf(part, number)];
    place.span = {within.begin + number.span.begin,
                  within.begin + number.span.end};
    ++place.count;
  }
  return numbers;
}

bool IsAmountSign(std::string_view character) {
  const UChar32 c = FirstCharacter(character);
  return c == '%' || u_charType(c) == U_CURRENCY_SYMBOL;
}

// Returns the sign of a currency or of per cent that belongs to a number, or an
// empty span. "€10 €8" and "10 € 8 €" show why a sign that touches it is first.
TextSpan SignOf(std::string_view text, TextSpan within, TextSpan number) {
  for (const bool space : {false, true}) {
    std::string_view before =
        text.substr(within.begin, number.begin - within.begin);
    std::string_view after = text.substr(number.end, within.end - number.end);
    if (space) {
      if (after.starts_with(' ')) after.remove_prefix(1);
      if (before.ends_with(' ')) before.remove_suffix(1);
    }
    const size_t size = before.empty() ? 0 : LastCharacterSize(before);
    const TextSpan left = {within.begin + before.size() - size,
                           within.begin + before.size()};
    if (!space && size > 0 && IsAmountSign(left.Of(text))) return left;
    if (!after.empty() && IsAmountSign(after)) {
      const size_t begin = within.end - after.size();
      return {begin, begin + FirstCodePoint(after).size};
    }
    if (size > 0 && IsAmountSign(left.Of(text))) return left;
  }
  return {number.end, number.end};
}

}  // namespace

void AlignNumbers(std::string_view text, TextSpan sentence,
                  std::string_view translation,
                  std::vector<AlignedWords>* words) {
  constexpr float kCertain = AlignedWords::kCertain;
  const std::map<std::string, NumberPlace> sources =
      NumbersByDigits(text, sentence);
  if (sources.empty()) return;
  const TextSpan all = {0, translation.size()};
  const size_t known = words->size();
  for (const auto& [digits, target] : NumbersByDigits(translation, all)) {
    const auto source = sources.find(digits);
    if (source == sources.end() || target.count > 1 ||
        source->second.count > 1) {
      continue;
    }
    words->push_back({target.span, source->second.span, kCertain, false});
    const TextSpan target_sign = SignOf(translation, all, target.span);
    const TextSpan source_sign = SignOf(text, sentence, source->second.span);
    if (target_sign.begin < target_sign.end &&
        source_sign.begin < source_sign.end) {
      words->push_back({target_sign, source_sign, kCertain, false});
    }
  }
  if (words->size() == known) return;
  std::stable_sort(words->begin(), words->end(),
                   [](const AlignedWords& a, const AlignedWords& b) {
                     return a.target.begin < b.target.begin;
                   });
}

}  // namespace trivium
