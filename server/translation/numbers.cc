// Invariants:
// - A number begins and ends with a digit; numbers do not overlap.
// - Spaces and apostrophes separate only groups of three digits after a group
//   of one to three, which no letter precedes: "A350 350" is two numbers.
// - A separator that is no group mark and not the style's point makes no value:
//   "15.30" is a time or a date in German, and so is "3.1".
#include "server/translation/numbers.h"

#include <re2/re2.h>
#include <unicode/dcfmtsym.h>
#include <unicode/locid.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "server/translation/characters.h"

namespace trivium {
namespace {

using re2::RE2;

constexpr std::string_view kNarrowSpace = "\u202F";
// A point or comma may stand before a fraction; the others only mark groups.
constexpr std::string_view kSeparators[] = {
    ".", ",", "'", "\u2019", " ", kNoBreakSpace, kNarrowSpace, "\u2009"};

bool IsDigitAt(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

size_t EndOfDigits(std::string_view text, size_t at) {
  while (IsDigitAt(text, at)) ++at;
  return at;
}

std::string_view SeparatorAt(std::string_view text, size_t at) {
  for (const std::string_view separator : kSeparators) {
    if (text.substr(at).starts_with(separator) &&
        IsDigitAt(text, at + separator.size())) {
      return separator;
    }
  }
  return {};
}

bool MayPrecedeFraction(std::string_view separator) {
  return separator == "." || separator == ",";
}

size_t Size(TextSpan span) { return span.end - span.begin; }

// True if runs [0, count) are groups of a number.
bool AreGroups(std::string_view text, const std::vector<TextSpan>& runs,
               size_t count) {
  if (Size(runs[0]) > 3 || text[runs[0].begin] == '0') return false;
  return std::all_of(runs.begin() + 1,
                     runs.begin() + static_cast<ptrdiff_t>(count),
                     [](TextSpan run) { return Size(run) == 3; });
}

std::string Value(std::string whole, std::string_view fraction) {
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size() - 1));
  const size_t last = fraction.find_last_not_of('0');
  if (last == fraction.npos) return whole;
  return whole + "." + std::string(fraction.substr(0, last + 1));
}

std::string Joined(std::string_view text, const std::vector<TextSpan>& runs,
                   size_t count) {
  std::string digits;
  for (size_t i = 0; i < count; ++i) digits += runs[i].Of(text);
  return digits;
}

// Reads the runs of a number with the separators between them.
void Interpret(std::string_view text,
               const std::vector<std::string_view>& separators,
               const NumberStyle& style, WrittenNumber* number) {
  const std::vector<TextSpan>& runs = number->runs;
  const size_t count = runs.size();
  const auto take = [&](size_t whole) {
    number->grouped = whole > 1;
    number->fraction = whole < count;
    number->value =
        Value(Joined(text, runs, whole),
              number->fraction ? runs.back().Of(text) : std::string_view());
  };
  if (count == 1) return take(1);
  const std::string_view last = separators.back();
  const bool alike = std::all_of(
      separators.begin(), separators.end() - 1,
      [&](std::string_view one) { return one == separators.front(); });
  if (!alike) return;
  const bool one_kind = last == separators.front();
  if (!one_kind) {
    if (MayPrecedeFraction(last) && AreGroups(text, runs, count - 1)) {
      take(count - 1);
    }
    return;
  }
  const bool time = number->time && count == 2 && Size(runs[0]) <= 2 &&
                    Size(runs[1]) == 2 && MayPrecedeFraction(last);
  if (time) return;
  if (count == 2 && last == style.point) return take(1);
  if (AreGroups(text, runs, count)) take(count);
}

}  // namespace

std::optional<NumberStyle> NumberStyle::For(std::string_view language) {
  const icu::Locale locale(std::string(language).c_str());
  const std::string_view code = locale.getLanguage();
  int32_t count = 0;
  const icu::Locale* const known = icu::Locale::getAvailableLocales(count);
  if (code.empty() || std::none_of(known, known + count, [&](const auto& one) {
        return one.getLanguage() == code;
      })) {
    return std::nullopt;
  }
  UErrorCode error = U_ZERO_ERROR;
  const icu::DecimalFormatSymbols symbols(locale, error);
  if (U_FAILURE(error)) return std::nullopt;
  using Symbols = icu::DecimalFormatSymbols;
  if (symbols.getConstSymbol(Symbols::kZeroDigitSymbol) != "0") {
    return std::nullopt;
  }
  NumberStyle style;
  style.point.clear();
  style.group.clear();
  symbols.getConstSymbol(Symbols::kDecimalSeparatorSymbol)
      .toUTF8String(style.point);
  symbols.getConstSymbol(Symbols::kGroupingSeparatorSymbol)
      .toUTF8String(style.group);
  return style;
}

std::optional<int> RomanValue(std::string_view letters) {
  // Greedy, so that each value has one numeral.
  constexpr std::pair<std::string_view, int> kNumerals[] = {
      {"X", 10}, {"IX", 9}, {"V", 5}, {"IV", 4}, {"I", 1}};
  int value = 0;
  for (const auto& [numeral, worth] : kNumerals) {
    const int most = numeral.size() == 1 && numeral != "V" ? 3 : 1;
    for (int i = 0; i < most && letters.starts_with(numeral); ++i) {
      letters.remove_prefix(numeral.size());
      value += worth;
    }
  }
  if (!letters.empty() || value == 0) return std::nullopt;
  return value;
}

size_t RomanSize(std::string_view text, size_t at) {
  constexpr size_t kLeast = 2, kMost = 8;
  size_t size = 0;
  while (size <= kMost && at + size < text.size() &&
         std::string_view("IVX").find(text[at + size]) !=
             std::string_view::npos) {
    ++size;
  }
  if (size < kLeast || size > kMost) return 0;
  if (at + size < text.size()) {
    const UChar32 after = FirstCharacter(text.substr(at + size));
    if (u_isalnum(after) || after == '_') return 0;
  }
  if (at > 0) {
    const size_t before = LastCharacterSize(text.substr(0, at));
    const UChar32 c = FirstCharacter(text.substr(at - before));
    if (u_isalnum(c) || c == '_') return 0;
  }
  return size;
}

std::vector<WrittenNumber> NumbersIn(std::string_view text,
                                     const NumberStyle& style) {
  std::vector<WrittenNumber> numbers;
  for (size_t at = 0; at < text.size(); ++at) {
    if (const size_t size = RomanSize(text, at); size > 0) {
      WrittenNumber number;
      number.span = {at, at + size};
      number.runs.push_back(number.span);
      number.value = text.substr(at, size);
      number.roman = true;
      numbers.push_back(std::move(number));
      at += size - 1;
      continue;
    }
    if (!IsDigitAt(text, at)) continue;
    WrittenNumber number;
    std::vector<std::string_view> separators;
    number.runs.push_back({at, EndOfDigits(text, at)});
    const bool of_name = at > 0 && absl::ascii_isalpha(text[at - 1]);
    for (;;) {
      const size_t end = number.runs.back().end;
      const std::string_view separator = SeparatorAt(text, end);
      if (separator.empty()) break;
      const size_t begin = end + separator.size();
      const TextSpan run = {begin, EndOfDigits(text, begin)};
      if (!MayPrecedeFraction(separator) &&
          (of_name || Size(run) != 3 ||
           !AreGroups(text, number.runs, number.runs.size()) ||
           (!separators.empty() && separators.back() != separator))) {
        break;
      }
      number.runs.push_back(run);
      separators.push_back(separator);
    }
    number.span = {at, number.runs.back().end};
    const auto is_colon = [&](size_t colon, size_t digit) {
      return colon < text.size() && text[colon] == ':' &&
             IsDigitAt(text, digit);
    };
    number.time = (at >= 2 && is_colon(at - 1, at - 2)) ||
                  is_colon(number.span.end, number.span.end + 1) ||
                  IsTimeMark(text, number.span.end);
    Interpret(text, separators, style, &number);
    at = number.span.end - 1;
    numbers.push_back(std::move(number));
  }
  return numbers;
}

std::string WriteNumber(std::string_view text, const WrittenNumber& number,
                        const NumberStyle& style) {
  const std::vector<TextSpan>& runs = number.runs;
  const size_t whole = runs.size() - (number.fraction ? 1 : 0);
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0) out += style.group;
    out += runs[i].Of(text);
  }
  if (number.fraction) {
    out += style.point;
    out += runs.back().Of(text);
  }
  return out;
}

std::vector<TextSpan> RoundPriceMarks(std::string_view text) {
  // Its currency stands before or behind the price.
  static const RE2& price = *new RE2(
      R"((?:(?:[€$£¥]|\b(?:EUR|CHF|USD|GBP|DM|S?Fr\.))[ \x{A0}\x{202F}]?)"
      R"(\d+(?:[.'’]\d{3})*([.,][-–—]{1,2}))"
      R"(|\d+(?:[.'’]\d{3})*([.,][-–—]{1,2})[ \x{A0}\x{202F}]?)"
      R"((?:[€$£¥]|(?:EUR|Euro|CHF|USD|GBP|DM|Mark|Franken|Dollar|Pfund|)"
      R"(S?Fr\.)(?:[^\pL\pN]|$)))"
      // Without a currency, at the end of a sentence or clause: "kostet 1.–."
      R"(|\d+(?:[.'’]\d{3})*([.,][-–—]{1,2})[.,;:!?)]))");
  std::vector<TextSpan> marks;
  re2::StringPiece rest(text.data(), text.size()), mark[3];
  while (RE2::FindAndConsume(&rest, price, &mark[0], &mark[1], &mark[2])) {
    const re2::StringPiece& found =
        *std::find_if(std::begin(mark), std::end(mark),
                      [](const auto& one) { return !one.empty(); });
    const auto begin = static_cast<size_t>(found.data() - text.data());
    const TextSpan span = {begin, begin + found.size()};
    if (!IsDigitAt(text, span.end)) marks.push_back(span);
  }
  return marks;
}

bool IsTimeMark(std::string_view text, size_t at) {
  constexpr size_t kLookAhead = 8;  // bytes
  const std::string rest =
      absl::AsciiStrToLower(std::string(text.substr(at, kLookAhead)));
  std::string_view mark = rest;
  for (const std::string_view space : {" ", "\u00A0", "\u202F"}) {
    if (mark.starts_with(space)) mark.remove_prefix(space.size());
  }
  for (const std::string_view known :
       {"am", "pm", "a.m", "p.m", "uhr", "o'c", "o\u2019c"}) {
    if (!mark.starts_with(known)) continue;
    const bool word = known.size() > 2 || mark.size() == known.size() ||
                      mark[2] < 'a' || mark[2] > 'z';
    // "am" is German, too: "um 5.30 am Montag".
    if (word) return true;
  }
  return false;
}

std::string DigitsOf(std::string_view text, const WrittenNumber& number) {
  return Joined(text, number.runs, number.runs.size());
}

}  // namespace trivium
