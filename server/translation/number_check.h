#ifndef TRIVIUM_SERVER_TRANSLATION_NUMBER_CHECK_H_
#define TRIVIUM_SERVER_TRANSLATION_NUMBER_CHECK_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/translation/numbers.h"
#include "server/translation/sentences.h"
#include "server/translation/text_edits.h"

namespace trivium {

// Compares the numbers of a text and its translation, and corrects those of the
// translation. docs/text-to-text.md says how often it objects to people's
// translations. Immutable and thread-safe.
//
//   const auto numbers = NumberCheck::For("en", "de");
//   numbers->Compare("It costs 1,234.50 dollars.", "Es kostet 1.234,5 Dollar.")
//       .empty()  // true
class NumberCheck {
 public:
  // `source` and `target` are BCP 47. Returns nullopt unless it is known how
  // both languages write numbers.
  static std::optional<NumberCheck> For(std::string_view source,
                                        std::string_view target);

  // Numbers that have no counterpart, as indices.
  struct Differences {
    std::vector<size_t> missing;  // of the source's NumbersIn()
    std::vector<size_t> added;    // of the translation's
    size_t repeated = 0;          // added numbers whose value the source has
    size_t size() const { return missing.size() + added.size(); }
    bool empty() const { return size() == 0; }
  };
  // Compares numbers by value, as each language writes them. A number may also
  // be said in words; a time may have another hour by 12; the parts of a date
  // may be in another order, and the month may be a word; a year may have two
  // digits. In doubt nothing differs.
  Differences Compare(std::string_view source,
                      std::string_view translation) const;

  // Returns edits of the translation, in order: separators as the target
  // language writes them, times as it says them (clock_times.h), and scores
  // that became times.
  std::vector<TextEdit> Corrections(std::string_view source,
                                    std::string_view translation) const;

  // Returns edits of a translation that is corrected: numbers that are nearly
  // those of the source, and words for numbers from 13 on that the source has
  // in digits.
  std::vector<TextEdit> Repairs(std::string_view source,
                                std::string_view translation) const;

  // Returns edits of a translation that is repaired: what stands beside numbers
  // (number_neighbours.h).
  std::vector<TextEdit> Neighbours(std::string_view source,
                                   std::string_view translation) const;

  // Returns the source's numbers whose currency is not beside them in the
  // translation, or whose "million" is lost, as indices.
  std::vector<size_t> LostCurrencies(std::string_view source,
                                     std::string_view translation) const;

  // Returns the text with its separators, and the sign of an amount, as the
  // target language writes them. `number` is a text with numbers of the source
  // language.
  std::string Write(std::string_view number) const;

  std::vector<WrittenNumber> SourceNumbers(std::string_view source) const {
    return NumbersIn(source, source_style_);
  }

 private:
  NumberCheck(std::string source, std::string target, NumberStyle source_style,
              NumberStyle target_style)
      : source_(std::move(source)),
        target_(std::move(target)),
        source_style_(std::move(source_style)),
        target_style_(std::move(target_style)) {}

  std::vector<TextEdit> SeparatorEdits(std::string_view source,
                                       std::string_view translation) const;
  // "12.31/2025" is written as the source's "12/31/2025".
  std::vector<TextEdit> DateEdits(std::string_view source,
                                  std::string_view translation) const;
  // "3:2" is a score or a ratio, and no "3:2 Uhr"; "2:05:30" is a duration, and
  // "3.4.2022" a date.
  void AddScoreEdits(std::string_view source, std::string_view translation,
                     std::vector<TextEdit>* edits) const;
  // "dreißig Jahre" is written as the source's "30 years".
  std::vector<TextEdit> WordEdits(std::string_view source,
                                  std::string_view translation) const;

  std::string source_, target_;  // languages
  NumberStyle source_style_, target_style_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_NUMBER_CHECK_H_
