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

// Whole texts for models that read a sentence at a time: where sentences
// begin and end, and where one may be cut that is too long for the model.
// Nothing here knows models or messages.

// Bytes [begin, end) of a text.
struct TextSpan {
  size_t begin = 0;
  size_t end = 0;

  std::string_view Of(std::string_view text) const {
    return text.substr(begin, end - begin);
  }
  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

// Without the white space (Unicode's White_Space) at both ends.
TextSpan WithoutWhiteSpace(std::string_view text, TextSpan span);

// Else there is nothing to translate, but signs alone ("* * *").
bool HasLettersOrDigits(std::string_view text);

// Finds the sentences of texts in a language: ICU's borders, of which those
// are taken back that follow an abbreviation, an ordinal, an initial or quoted
// speech that goes on (sentence_rules.h). A line break ends a sentence, too.
//
//   SentenceSplitter splitter("de");
//   splitter.Split("Am 3. Oktober kam z. B. Dr. Meier. Er blieb.", check_alive)
//   // "Am 3. Oktober kam z. B. Dr. Meier." and "Er blieb."
//
// Immutable and thread-safe.
class SentenceSplitter {
 public:
  // BCP 47, or as "deu_Latn"; empty, or one that nothing is known of: what
  // holds everywhere.
  explicit SentenceSplitter(std::string_view language);

  // Ascending and apart. None is empty, or begins or ends with white space;
  // all that is in none is white space. Bytes that are no UTF-8 are characters
  // like others. `check_alive` is asked before each line and in long ones; its
  // error is returned.
  absl::StatusOr<std::vector<TextSpan>> Split(
      std::string_view text, const AliveCheck& check_alive) const;

 private:
  class Lines;

  std::string language_;  // its shortest code
};

// Where to cut a sentence in two that is too long, so that neither part is
// empty: in its middle half after a semicolon, colon or dash, else after a
// comma, else at white space, wherever there is some, else between two words of
// a script without spaces, else between any two characters (UAX #29); as near
// to the middle as it can be, and never within one of `whole`, which are
// ascending and apart. 0 where there is no such place, as in a single
// character.
size_t ClauseBorder(std::string_view sentence,
                    const std::vector<TextSpan>& whole = {});

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_SENTENCES_H_
