#ifndef TRIVIUM_SERVER_TRANSLATION_NUMBERS_H_
#define TRIVIUM_SERVER_TRANSLATION_NUMBERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// The separators of a language's numbers, by ICU.
struct NumberStyle {
  std::string point = ".";  // before the fraction
  std::string group = ",";  // between groups of three digits

  // `language`: BCP 47, or such as "deu_Latn". Returns nullopt if ICU does not
  // know it, or if it has digits of its own.
  static std::optional<NumberStyle> For(std::string_view language);
};

// A number in a text: runs of ASCII digits with at most one separator between
// them, or a Roman numeral of I, V and X. A colon, a slash or a dash separates
// numbers, so that a time is two.
struct WrittenNumber {
  TextSpan span;
  std::vector<TextSpan> runs;  // of digits; at least one
  // The number without separators, zeros at its ends and group marks:
  // "1234.5". Empty if the separators make no number, as in 26.11.2026.
  std::string value;
  bool grouped = false;
  bool fraction = false;
  // A part of a time or date: next to a colon, or before "pm" or "Uhr".
  bool time = false;
  // Letters such as "XII", which are the value, too.
  bool roman = false;

  bool is_value() const { return !value.empty(); }
};

// Returns the value of a Roman numeral, or nullopt if it is none, as "XIIII".
std::optional<int> RomanValue(std::string_view letters);

// Returns the bytes of the letters I, V and X at `at`, if they are a word of
// two letters or more; otherwise 0.
size_t RomanSize(std::string_view text, size_t at);

// Returns the numbers of a text in order. A number with one separator is read
// as `style` has it: "1,234" is 1234 in English and 1.234 in German. One with
// two kinds of separators has its point last, whatever the language.
std::vector<WrittenNumber> NumbersIn(std::string_view text,
                                     const NumberStyle& style);

// Returns the number, which is a value, as `style` writes it: with groups if it
// has some in `text`, and with as many digits.
std::string WriteNumber(std::string_view text, const WrittenNumber& number,
                        const NumberStyle& style);

// Returns the marks of prices without cents, such as ",-" of "5,- €", in order.
// Without them the price says the same. Dashes between two numbers are none.
std::vector<TextSpan> RoundPriceMarks(std::string_view text);

// True if the text at `at` marks the number before it as a time: "pm", "Uhr".
bool IsTimeMark(std::string_view text, size_t at);

// Returns the digits of a number in `text`, without separators.
std::string DigitsOf(std::string_view text, const WrittenNumber& number);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_NUMBERS_H_
