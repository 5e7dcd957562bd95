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

// Finds terms in texts: words, or several words in a row, as they are written
// but for capitals; with inflections also other forms of these words, by
// Snowball's stemmers ("licenses" for "license").
//
//   auto glossary = Glossary::Create({{"hard disk"}}, "en", true);
//   glossary->Find("Two Hard Disks.", check_alive)  // {term 0, [4, 14)}
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

  // Words of a term, and marks. Find takes time for each of the longest's.
  static size_t CountWords(std::string_view term);

  // Whether there is a stemmer of the language (BCP 47, or as "deu_Latn").
  static bool KnowsInflections(std::string_view language);

  // `language`: with `inflections`, one of which there is a stemmer. Of equal
  // terms the first counts; one without letters and digits is never found.
  Glossary(const std::vector<Term>& terms, std::string_view language,
           bool inflections);

  // Ascending and apart: at each word the longest term. Time is linear in the
  // text, times the words of the longest term; `check_alive`, unless null, is
  // asked every few KiB, and its error returned.
  absl::StatusOr<std::vector<Match>> Find(std::string_view text,
                                          const AliveCheck& check_alive) const;

 private:
  struct Entry {
    size_t term;
    // Words as they must be written, one after the other; empty: however.
    std::vector<std::string> exact;
  };

  // Whether words of the text, from `begin` on, are as the entry has them.
  static bool IsWritten(const Entry& entry, std::string_view text,
                        const TextSpan* words);

  std::string algorithm_;  // of Snowball; empty: none
  // What terms' words are to it, by their keys; each has a number.
  absl::flat_hash_map<std::string, int> words_;
  // Terms as a tree of these numbers: the node behind a node and a word. Node 0
  // is the root.
  absl::flat_hash_map<std::pair<int, int>, int> next_;
  std::vector<std::vector<Entry>> entries_;  // [nodes]: of terms that end there
};

// How often `term` is in a text as whole words, written so or with a capital in
// front; with `endings` also where its last word goes on.
size_t CountTerm(std::string_view text, std::string_view term, bool endings);

// Whether words are written without spaces between them, as the term's end or
// its beginning is.
bool EndsInsideText(std::string_view term);
bool BeginsInsideText(std::string_view term);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_GLOSSARY_H_
