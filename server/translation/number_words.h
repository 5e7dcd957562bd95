#ifndef TRIVIUM_SERVER_TRANSLATION_NUMBER_WORDS_H_
#define TRIVIUM_SERVER_TRANSLATION_NUMBER_WORDS_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// The words with which a language says numbers and months, by ICU: "twenty",
// "zwanzigsten", "Mai". Immutable and thread-safe.
class NumberWords {
 public:
  // Returns the words of a language (BCP 47); none if ICU does not know it. The
  // first call for a language takes milliseconds. The result lives forever.
  static const NumberWords& For(std::string_view language);

  // False if numbers in words cannot be told.
  bool known() const { return !values_.empty(); }

  // Returns the numbers that the text says in words: 0 to 100, 1000, a month's,
  // and the hour and minutes of "half past two" and "halb drei". A word that
  // begins with a number's counts ("dreistündig"), so this may return too many.
  std::set<int> SaidIn(std::string_view text) const;
  // The same without months, and months alone.
  std::set<int> NumbersSaidIn(std::string_view text) const;
  std::set<int> MonthsIn(std::string_view text) const;

  // A number that a text says in words.
  struct Said {
    TextSpan span;
    int value = 0;
    // The word goes on with what has an age: "dreißigjährig".
    bool age = false;
  };
  // Returns the cardinal numbers of the text: "thirty", "twenty-one", "a
  // hundred". Leaves out those that are a part of a longer one, such as "two
  // hundred".
  std::vector<Said> CardinalsIn(std::string_view text) const;

 private:
  enum class Kind { kCardinal, kOther, kMonth };
  struct Meaning {
    int value = 0;
    Kind kind = Kind::kOther;
  };

  explicit NumberWords(const std::string& language);

  void Add(std::string word, int value, Kind kind);
  std::set<int> SaidIn(std::string_view text, bool numbers, bool months) const;
  std::optional<int> CardinalOf(const std::string& word) const;

  std::unordered_multimap<std::string, Meaning> values_;
  size_t longest_ = 0;  // word in bytes
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_NUMBER_WORDS_H_
