#ifndef TRIVIUM_SERVER_TRANSLATION_NUMBER_WORDS_H_
#define TRIVIUM_SERVER_TRANSLATION_NUMBER_WORDS_H_

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

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

  // Returns the numbers that the text says in words: 0 to 100, 1000, and a
  // month's. A word that begins with a number's counts ("dreistündig"), so this
  // may return too many.
  std::set<int> SaidIn(std::string_view text) const;

 private:
  explicit NumberWords(const std::string& language);

  void Add(std::string word, int value);

  std::unordered_multimap<std::string, int> values_;
  size_t longest_ = 0;  // word in bytes
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_NUMBER_WORDS_H_
