// Ranges become regular expressions digit by digit: numbers with equally many
// digits are compared at the first digit in which they differ.
#include "model/grammar/number_range.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/status.h"
#include "fmt/format.h"
#include "model/grammar/regex_syntax.h"

namespace trivium {
namespace {

// Two decimals of so many digits are never the same double.
constexpr size_t kSignificantDigits = 15;
constexpr char kNothing[] = "[^\\x{0}-\\x{10FFFF}]";

// Digits low .. high, or an expression without a match.
std::string DigitClass(char low, char high) {
  return low > high ? kNothing : fmt::format("[{}-{}]", low, high);
}

// Digits of the same length that are at least (`upper` false) or at most
// `digits`.
std::string SameLength(std::string_view digits, bool upper) {
  if (digits.empty()) return "";
  const char d = digits[0];
  const std::string other = upper ? DigitClass('0', static_cast<char>(d - 1))
                                  : DigitClass(static_cast<char>(d + 1), '9');
  return fmt::format("(?:{}[0-9]{{{}}}|{}{})", other, digits.size() - 1, d,
                     SameLength(digits.substr(1), upper));
}

// Natural numbers of `length` digits between two of that length.
std::string Between(std::string_view low, std::string_view high) {
  if (low == high) return std::string(low);
  if (low[0] == high[0]) {
    return fmt::format("{}(?:{})", low[0],
                       Between(low.substr(1), high.substr(1)));
  }
  return fmt::format(
      "{}{}|{}[0-9]{{{}}}|{}{}", low[0], SameLength(low.substr(1), false),
      DigitClass(static_cast<char>(low[0] + 1), static_cast<char>(high[0] - 1)),
      low.size() - 1, high[0], SameLength(high.substr(1), true));
}

// Natural numbers low .. high, or all from low on. Both are digits without
// leading zeros.
std::string Naturals(std::string low, const std::optional<std::string>& high) {
  std::string choices;
  const auto add = [&choices](const std::string& part) {
    choices += (choices.empty() ? "" : "|") + part;
  };
  if (!high.has_value()) {
    add(Between(low, std::string(low.size(), '9')));
    add(fmt::format("[1-9][0-9]{{{},}}", low.size()));
    return fmt::format("(?:{})", choices);
  }
  while (low.size() < high->size()) {
    add(Between(low, std::string(low.size(), '9')));
    low = "1" + std::string(low.size(), '0');
  }
  if (low.size() > high->size() || low > *high)
    return choices.empty() ? kNothing : fmt::format("(?:{})", choices);
  add(Between(low, *high));
  return fmt::format("(?:{})", choices);
}

absl::StatusOr<CharDfa> DfaOf(const std::string& expression, WorkBudget* work) {
  TRIVIUM_ASSIGN_OR_RETURN(
      const RegexNode node,
      ParseRegex(expression, RegexDialect::kRe2, /*search=*/false, work));
  return CharDfa::Create(node, work);
}

// A decimal that is not negative: digits without leading zeros, and those
// behind the point without zeros at the end.
struct Decimal {
  std::string whole, fraction;
};

Decimal DecimalOf(double value) {
  // The shortest digits that give the double again, perhaps with an exponent.
  const std::string shortest = fmt::format("{}", std::abs(value));
  std::string digits;
  int point = -1;
  int exponent = 0;
  for (size_t i = 0; i < shortest.size(); ++i) {
    if (shortest[i] == '.') {
      point = static_cast<int>(digits.size());
    } else if (shortest[i] == 'e') {
      exponent = std::stoi(shortest.substr(i + 1));
      break;
    } else {
      digits.push_back(shortest[i]);
    }
  }
  if (point < 0) point = static_cast<int>(digits.size());
  point += exponent;
  if (point < 0) {
    digits.insert(0, static_cast<size_t>(-point), '0');
    point = 0;
  }
  if (point > static_cast<int>(digits.size())) {
    digits.append(static_cast<size_t>(point) - digits.size(), '0');
  }
  Decimal decimal{digits.substr(0, static_cast<size_t>(point)),
                  digits.substr(static_cast<size_t>(point))};
  decimal.whole.erase(0, decimal.whole.find_first_not_of('0'));
  if (decimal.whole.empty()) decimal.whole = "0";
  while (decimal.fraction.ends_with('0')) decimal.fraction.pop_back();
  return decimal;
}

// Digits behind a point that are greater (`upper` false) or less than those of
// the bound, or equal unless `exclusive`.
std::string FractionDigits(std::string_view bound, bool upper, bool exclusive) {
  if (bound.empty()) {
    if (!upper) return exclusive ? "[0-9]*[1-9][0-9]*" : "[0-9]*";
    return exclusive ? kNothing : "0*";
  }
  const char d = bound[0];
  const std::string other = upper ? DigitClass('0', static_cast<char>(d - 1))
                                  : DigitClass(static_cast<char>(d + 1), '9');
  const std::string rest = FractionDigits(bound.substr(1), upper, exclusive);
  // The bound has a digit over 0 behind this one, so ending here is less.
  const bool may_end = upper && bound.size() > 1;
  return fmt::format("(?:{}[0-9]*|{}(?:{}){})", other, d, rest,
                     may_end ? "?" : "");
}

std::string Predecessor(std::string digits) {
  size_t i = digits.size();
  while (digits[--i] == '0') digits[i] = '9';
  --digits[i];
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return digits;
}

std::string Successor(std::string digits) {
  for (size_t i = digits.size(); i-- > 0;) {
    if (digits[i] != '9') {
      ++digits[i];
      return digits;
    }
    digits[i] = '0';
  }
  return "1" + digits;
}

// Decimals at most (`upper`) or at least the bound.
std::string DecimalsOn(const Decimal& bound, bool upper, bool exclusive) {
  constexpr char kFraction[] = "(?:\\.[0-9]+)?";
  std::string result;
  if (!upper) {
    result = Naturals(Successor(bound.whole), std::nullopt) + kFraction;
  } else if (bound.whole != "0") {
    result = Naturals("0", Predecessor(bound.whole)) + kFraction;
  } else {
    result = kNothing;
  }
  const std::string digits = FractionDigits(bound.fraction, upper, exclusive);
  // The whole number alone is a fraction of zeros.
  const bool alone = bound.fraction.empty() ? !exclusive : upper;
  return fmt::format("{}|{}(?:\\.{}){}", result, bound.whole, digits,
                     alone ? "?" : "");
}

// Decimals that are not negative, low .. high.
absl::StatusOr<CharDfa> DecimalsBetween(const std::optional<NumberBound>& low,
                                        const std::optional<NumberBound>& high,
                                        WorkBudget* work) {
  CharDfa result = CharDfa::Decimals(kSignificantDigits);
  for (const bool upper : {false, true}) {
    const std::optional<NumberBound>& bound = upper ? high : low;
    if (!bound.has_value()) continue;
    Decimal digits = DecimalOf(bound->value);
    bool exclusive = bound->exclusive;
    // All decimals are less than a bound of more digits.
    if (digits.whole.size() > kSignificantDigits) {
      if (upper) continue;
      return CharDfa::OfTexts({}, work);
    }
    // No decimal lies between the bound and its first digits, which are less.
    if (digits.fraction.size() > kSignificantDigits) {
      digits.fraction.resize(kSignificantDigits);
      while (digits.fraction.ends_with('0')) digits.fraction.pop_back();
      exclusive = !upper;
    }
    TRIVIUM_ASSIGN_OR_RETURN(const CharDfa side,
                             DfaOf(DecimalsOn(digits, upper, exclusive), work));
    TRIVIUM_ASSIGN_OR_RETURN(result, result.Intersection(side, work));
  }
  return result;
}

}  // namespace

absl::StatusOr<CharDfa> IntegersBetween(std::optional<int64_t> low,
                                        std::optional<int64_t> high,
                                        WorkBudget* work) {
  const auto digits = [](int64_t value) {
    return fmt::format("{}", value < 0 ? -value : value);
  };
  std::string expression = kNothing;
  if (!high.has_value() || *high >= 0) {
    expression += "|" + Naturals(digits(std::max<int64_t>(low.value_or(0), 0)),
                                 high.has_value() ? std::optional(digits(*high))
                                                  : std::nullopt);
  }
  if (!low.has_value() || *low < 0) {
    const int64_t least = -std::min<int64_t>(high.value_or(-1), -1);
    expression += "|-" + Naturals(digits(least),
                                  low.has_value() ? std::optional(digits(*low))
                                                  : std::nullopt);
  }
  return DfaOf(expression, work);
}

absl::StatusOr<CharDfa> IntegersOfDigits(int digits, WorkBudget* work) {
  return DfaOf(fmt::format("0|-?[1-9][0-9]{{0,{}}}", digits - 1), work);
}

absl::StatusOr<CharDfa> NumbersBetween(std::optional<NumberBound> low,
                                       std::optional<NumberBound> high,
                                       WorkBudget* work) {
  const auto negated = [](const std::optional<NumberBound>& bound) {
    std::optional<NumberBound> result = bound;
    if (result.has_value()) result->value = -result->value;
    return result;
  };
  const bool low_negative = !low.has_value() || low->value < 0;
  const bool high_negative =
      high.has_value() &&
      (high->value < 0 || (high->value == 0 && high->exclusive));
  TRIVIUM_ASSIGN_OR_RETURN(CharDfa result, CharDfa::OfTexts({}, work));
  if (!high_negative) {
    TRIVIUM_ASSIGN_OR_RETURN(
        result, DecimalsBetween(low_negative ? std::nullopt : low, high, work));
  }
  if (low.has_value() && low->value >= 0) return result;
  // -y with y > 0, from -high to -low.
  const NumberBound above_zero{0, true};
  const std::optional<NumberBound> least =
      high.has_value() && high->value < 0 ? negated(high) : above_zero;
  TRIVIUM_ASSIGN_OR_RETURN(const CharDfa negative,
                           DecimalsBetween(least, negated(low), work));
  return result.UnionWithPrefix('-', negative);
}

absl::StatusOr<CharDfa> DecimalsEqualTo(double value, WorkBudget* work) {
  const Decimal decimal = DecimalOf(value);
  // Zero has a sign or none.
  const char* const sign = value == 0 ? "-?" : value < 0 ? "-" : "";
  return DfaOf(
      decimal.fraction.empty()
          ? fmt::format("{}{}(?:\\.0+)?", sign, decimal.whole)
          : fmt::format("{}{}\\.{}0*", sign, decimal.whole, decimal.fraction),
      work);
}

absl::StatusOr<CharDfa> Fractions(WorkBudget* work) {
  return DfaOf("-?[0-9]+\\.[0-9]*[1-9][0-9]*", work);
}

std::optional<DecimalStep> StepOf(double value) {
  const Decimal decimal = DecimalOf(value);
  const std::string digits = decimal.whole + decimal.fraction;
  const int places = static_cast<int>(decimal.fraction.size());
  const size_t first = digits.find_first_not_of('0');
  if (first == digits.npos || digits.size() - first > kSignificantDigits ||
      places > kMostPlaces) {
    return std::nullopt;
  }
  return DecimalStep{std::stoll(digits.substr(first)), places};
}

}  // namespace trivium
