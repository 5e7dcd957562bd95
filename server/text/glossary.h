#ifndef TRIVIUM_SERVER_TEXT_GLOSSARY_H_
#define TRIVIUM_SERVER_TEXT_GLOSSARY_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/text/sentences.h"

namespace trivium {

// Finds terms in texts: words, or several words in a row, as they are written
// but for capitals; with inflections also other forms of these words, by
// Snowball's stemmers ("licenses" for "license").
//
//   auto glossary = Glossary::Create({{"hard disk"}}, "en", true);
//   glossary->Find("Two Hard Disks.")  // {term 0, [4, 14)}
//
// Immutable and thread-safe.
class Glossary {
 public:
  struct Term {
    std::string text;
    // Capitals are as they are written there. Unset: where the term has one
    // behind the first letter of a word, as "IT".
    std::optional<bool> match_case = std::nullopt;
  };
  struct Match {
    size_t term = 0;
    TextSpan span;
  };

  // Whether there is a stemmer of the language (BCP 47, or as "deu_Latn").
  static bool KnowsInflections(std::string_view language);

  // `language`: with `inflections`, one of which there is a stemmer. Of equal
  // terms the first counts; one without letters and digits is never found.
  Glossary(const std::vector<Term>& terms, std::string_view language,
           bool inflections);

  // Ascending and apart: at each word the longest term. Time is linear in the
  // text, times the words of the longest term.
  std::vector<Match> Find(std::string_view text) const;

 private:
  struct Entry {
    size_t term;
    // Words as they must be written, one after the other; empty: however.
    std::vector<std::string> exact;
  };

  std::string algorithm_;  // of Snowball; empty: none
  size_t longest_ = 0;     // in words
  // By keys of words, joined.
  std::unordered_map<std::string, std::vector<Entry>> entries_;
};

// How often `term` is in a text as whole words, written so or with a capital in
// front; with `endings` also where its last word goes on.
size_t CountTerm(std::string_view text, std::string_view term, bool endings);

// The term with a capital in front.
std::string WithCapital(std::string_view term);

// Whether words are written without spaces between them, as the term's end or
// its beginning is.
bool EndsInsideText(std::string_view term);
bool BeginsInsideText(std::string_view term);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TEXT_GLOSSARY_H_
