#ifndef TRIVIUM_SERVER_TRANSLATION_SENTENCES_H_
#define TRIVIUM_SERVER_TRANSLATION_SENTENCES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/alive_check.h"

namespace trivium {

// Splits whole texts for models that read one sentence at a time: finds where
// sentences begin and end, and where to cut one that is too long. Knows neither
// models nor messages.

// Bytes [begin, end) of a text.
struct TextSpan {
  size_t begin = 0;
  size_t end = 0;

  std::string_view Of(std::string_view text) const {
    return text.substr(begin, end - begin);
  }
  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

// Returns the span without the white space (Unicode's White_Space) at its ends.
TextSpan WithoutWhiteSpace(std::string_view text, TextSpan span);

// True if there is something to translate. False for signs alone ("* * *").
bool HasLettersOrDigits(std::string_view text);

// Finds the sentences of texts in one language. It takes ICU's borders and
// removes those after an abbreviation, an ordinal, an initial, or quoted speech
// after which the sentence goes on (sentence_rules.h). A line break ends a
// sentence, too.
//
//   SentenceSplitter splitter("de");
//   splitter.Split("Am 3. Oktober kam z. B. Dr. Meier. Er blieb.", check_alive)
//   // "Am 3. Oktober kam z. B. Dr. Meier." and "Er blieb."
//
// Immutable and thread-safe.
class SentenceSplitter {
 public:
  // `language`: BCP 47, or such as "deu_Latn". If it is empty or unknown, only
  // rules that hold for every language apply.
  explicit SentenceSplitter(std::string_view language);

  // Returns the sentences in ascending order, without overlap. None is empty,
  // or begins or ends with white space; only white space lies between them.
  // Bytes that are not UTF-8 count as characters. Asks `check_alive` before
  // each line and within long ones, and returns its error.
  absl::StatusOr<std::vector<TextSpan>> Split(
      std::string_view text, const AliveCheck& check_alive) const;

 private:
  class Lines;

  std::string language_;  // its shortest code: "de"
};

// Returns where to cut a sentence that is too long, in bytes; neither half is
// empty. The best place, in this order:
//   1. in the middle half, after a semicolon, a colon or a dash;
//   2. in the middle half, after a comma;
//   3. anywhere at white space;
//   4. between two words of a script without spaces;
//   5. between any two characters (UAX #29).
// Of equal places, the one nearest to the middle wins. Never cuts within one of
// `whole`, which ascend and do not overlap. Returns 0 if there is no such
// place, as in a single character.
size_t ClauseBorder(std::string_view sentence,
                    const std::vector<TextSpan>& whole = {});

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_SENTENCES_H_
