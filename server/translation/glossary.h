#ifndef TRIVIUM_SERVER_TRANSLATION_GLOSSARY_H_
#define TRIVIUM_SERVER_TRANSLATION_GLOSSARY_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "server/translation/sentences.h"

namespace trivium {

// Finds terms in texts. A term is one word, or several in a row. A match
// ignores case unless the term asks for it. With inflections, Snowball's
// stemmers also match other forms of the words ("licenses" for "license").
//
//   auto glossary = Glossary::Create({{"hard disk"}}, "en", true);
//   glossary->Find("Two Hard Disks.", check_alive)  // {term 0, [4, 14)}
//
// Immutable and thread-safe.
class Glossary {
 public:
  struct Term {
    std::string text;
    // The text must have the same capitals as the term. If unset, it must have
    // them only if the term has one after the first letter of a word, as "IT"
    // has.
    std::optional<bool> match_case = std::nullopt;
  };
  struct Match {
    size_t term = 0;
    TextSpan span;
  };

  // Returns the number of words and signs in a term. The time of Find grows
  // with that of the longest term.
  static size_t CountWords(std::string_view term);

  // True if there is a stemmer for the language (BCP 47, or such as
  // "deu_Latn").
  static bool KnowsInflections(std::string_view language);

  // With `inflections`, `language` must have a stemmer. If two terms are equal,
  // the first is used. A term of white space alone is never found.
  Glossary(const std::vector<Term>& terms, std::string_view language,
           bool inflections);

  // Returns the matches in ascending order, without overlap; where several
  // terms begin at a word, the longest wins. Time is linear in the text, times
  // the words of the longest term. Asks `check_alive` every few KiB and returns
  // its error.
  absl::StatusOr<std::vector<Match>> Find(std::string_view text,
                                          const AliveCheck& check_alive) const;

 private:
  struct Entry {
    size_t term;
    // The words with the capitals that the text must have; empty: any case.
    std::vector<std::string> exact;
  };

  // True if the words of the text, from `words` on, have the capitals that the
  // entry requires.
  static bool IsWritten(const Entry& entry, std::string_view text,
                        const TextSpan* words);

  std::string algorithm_;  // Snowball's name of the stemmer; empty: none
  // Numbers the words of all terms by their keys: words with one key are equal.
  absl::flat_hash_map<std::string, int> words_;
  // The terms as a tree: maps a node and a word's number to the next node. Node
  // 0 is the root.
  absl::flat_hash_map<std::pair<int, int>, int> next_;
  std::vector<std::vector<Entry>> entries_;  // [nodes] terms that end there
};

// Counts the places where `term` stands in the text as whole words, either as
// written or with its first letter in upper case. With `endings`, the last word
// may continue.
size_t CountTerm(std::string_view text, std::string_view term, bool endings);

// True if other letters may directly follow the term's end, or precede its
// beginning, since its script puts no spaces between words. A term that ends
// with a sign may be followed by anything, too.
bool EndsInsideText(std::string_view term);
bool BeginsInsideText(std::string_view term);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_GLOSSARY_H_
