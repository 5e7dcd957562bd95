// The search. A text is split into units, words and signs. Each unit has a key:
// its letters in folded case, stemmed if inflections are wanted. Units with one
// key are the same word, apart from spelling.
//
// All terms form one tree whose edges are keys. From each unit, Find walks down
// the tree as far as the text follows, and keeps the last node where a term
// ends whose required capitals the text has. So the longest term wins, and the
// search continues after it. If no term begins at a unit, the search moves on
// by one unit. What always holds: matches ascend, do not overlap, and begin and
// end at units.
//
// Keys ignore case, and each term checks its capitals only at the node where it
// ends (IsWritten). So terms that differ only in case share a node ("it",
// "IT"), and the first that fits wins.
//
// A walk takes at most the words of the longest term. A search for each term
// alone would read the text once for each.
#include "server/translation/glossary.h"

#include <libstemmer.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/language_code.h"

namespace trivium {
namespace {

// Longer words, in bytes, are not stemmed.
constexpr size_t kLongestStemmed = 64;

struct StemmerDeleter {
  void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};
using Stemmer = std::unique_ptr<sb_stemmer, StemmerDeleter>;

// Null if there is no such stemmer, or `algorithm` is empty.
Stemmer NewStemmer(const std::string& algorithm) {
  return Stemmer(
      algorithm.empty() ? nullptr : sb_stemmer_new(algorithm.c_str(), "UTF_8"));
}

std::string AlgorithmOf(std::string_view language) {
  const std::string code = LanguageCode(language);
  // Snowball has two stemmers for English; "en" is the newer one. Its "no" also
  // covers the two Norwegian languages.
  return code == "nb" || code == "nn" ? "no" : code;
}

bool IsPartOfWord(UChar32 c) {
  return u_isalnum(c) || u_charType(c) == U_NON_SPACING_MARK ||
         u_charType(c) == U_COMBINING_SPACING_MARK;
}

// True if the script puts no spaces between words: each character is then a
// unit by itself.
bool StandsAlone(UChar32 c) {
  UErrorCode error = U_ZERO_ERROR;
  switch (uscript_getScript(c, &error)) {
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_THAI:
    case USCRIPT_LAO:
    case USCRIPT_KHMER:
    case USCRIPT_MYANMAR:
      return true;
    default:
      return false;
  }
}

std::string Folded(std::string_view text) {
  std::string folded;
  for (; !text.empty(); text.remove_prefix(FirstCodePoint(text).size)) {
    AppendUtf8(u_foldCase(FirstCharacter(text), U_FOLD_CASE_DEFAULT), &folded);
  }
  return folded;
}

// Splits a text into units: words and signs. White space belongs to none.
std::vector<TextSpan> UnitsOf(std::string_view text) {
  std::vector<TextSpan> units;
  bool within = false;
  for (size_t at = 0; at < text.size();) {
    const UChar32 c = FirstCharacter(text.substr(at));
    const size_t size = FirstCodePoint(text.substr(at)).size;
    const bool in_word = IsPartOfWord(c) && !StandsAlone(c);
    if (in_word && within) {
      units.back().end = at + size;
    } else if (!u_isUWhiteSpace(c)) {
      units.push_back({at, at + size});
    }
    within = in_word;
    at += size;
  }
  return units;
}

std::string KeyOf(std::string_view word, sb_stemmer* stemmer) {
  std::string key = Folded(word);
  if (stemmer == nullptr || key.size() > kLongestStemmed) return key;
  const sb_symbol* const stem =
      sb_stemmer_stem(stemmer, reinterpret_cast<const sb_symbol*>(key.data()),
                      static_cast<int>(key.size()));
  if (stem == nullptr) return key;
  return {reinterpret_cast<const char*>(stem),
          static_cast<size_t>(sb_stemmer_length(stemmer))};
}

// True if any word has a capital after its first letter.
bool HasCapitalsWithin(std::string_view text,
                       const std::vector<TextSpan>& units) {
  return std::any_of(units.begin(), units.end(), [text](TextSpan unit) {
    std::string_view rest = unit.Of(text);
    rest.remove_prefix(FirstCodePoint(rest).size);
    for (; !rest.empty(); rest.remove_prefix(FirstCodePoint(rest).size)) {
      if (u_isupper(FirstCharacter(rest))) return true;
    }
    return false;
  });
}

// True if `at` is between two characters of one word.
bool IsWithinWord(std::string_view text, size_t at) {
  if (at == 0 || at >= text.size()) return false;
  const std::string_view before = text.substr(0, at);
  const UChar32 left =
      FirstCharacter(before.substr(at - LastCharacterSize(before)));
  const UChar32 right = FirstCharacter(text.substr(at));
  return IsPartOfWord(left) && IsPartOfWord(right) && !StandsAlone(left) &&
         !StandsAlone(right);
}

}  // namespace

bool Glossary::KnowsInflections(std::string_view language) {
  return NewStemmer(AlgorithmOf(language)) != nullptr;
}

Glossary::Glossary(const std::vector<Term>& terms, std::string_view language,
                   bool inflections)
    : algorithm_(inflections ? AlgorithmOf(language) : "") {
  const Stemmer stemmer = NewStemmer(algorithm_);
  entries_.emplace_back();
  for (size_t i = 0; i < terms.size(); ++i) {
    const std::string& text = terms[i].text;
    const std::vector<TextSpan> units = UnitsOf(text);
    if (units.empty()) continue;
    Entry entry = {i, {}};
    const bool exact =
        terms[i].match_case.value_or(HasCapitalsWithin(text, units));
    int node = 0;
    for (const TextSpan& unit : units) {
      const int word = words_
                           .try_emplace(KeyOf(unit.Of(text), stemmer.get()),
                                        static_cast<int>(words_.size()))
                           .first->second;
      const auto [next, added] = next_.try_emplace(
          std::pair(node, word), static_cast<int>(entries_.size()));
      if (added) entries_.emplace_back();
      node = next->second;
      if (exact) entry.exact.emplace_back(unit.Of(text));
    }
    entries_[node].push_back(std::move(entry));
  }
}

size_t Glossary::CountWords(std::string_view term) {
  return UnitsOf(term).size();
}

// Compares letter by letter as long as the word and the term agree apart from
// case. So an inflected form must have the capitals of the term where both
// agree, and is free in its ending.
bool Glossary::IsWritten(const Entry& entry, std::string_view text,
                         const TextSpan* words) {
  for (const std::string& exact : entry.exact) {
    std::string_view word = (words++)->Of(text);
    std::string_view wanted = exact;
    while (!word.empty() && !wanted.empty()) {
      const UChar32 is = FirstCharacter(word), should = FirstCharacter(wanted);
      if (u_foldCase(is, U_FOLD_CASE_DEFAULT) !=
          u_foldCase(should, U_FOLD_CASE_DEFAULT)) {
        break;
      }
      if (is != should) return false;
      word.remove_prefix(FirstCodePoint(word).size);
      wanted.remove_prefix(FirstCodePoint(wanted).size);
    }
  }
  return true;
}

absl::StatusOr<std::vector<Glossary::Match>> Glossary::Find(
    std::string_view text, const AliveCheck& check_alive) const {
  constexpr size_t kBytesBetween = 4096;  // calls of check_alive
  const Stemmer stemmer = NewStemmer(algorithm_);
  const std::vector<TextSpan> units = UnitsOf(text);
  const auto ask = [&, asked = size_t{0}](size_t at) mutable {
    if (at < asked) return absl::OkStatus();
    asked = at + kBytesBetween;
    return check_alive();
  };
  std::vector<int> words;  // [units] numbers; -1: in no term
  for (auto ask_reading = ask; const TextSpan& unit : units) {
    TRIVIUM_RETURN_IF_ERROR(ask_reading(unit.begin));
    const auto found = words_.find(KeyOf(unit.Of(text), stemmer.get()));
    words.push_back(found == words_.end() ? -1 : found->second);
  }
  std::vector<Match> matches;
  auto ask_matching = ask;
  for (size_t begin = 0; begin < units.size();) {
    TRIVIUM_RETURN_IF_ERROR(ask_matching(units[begin].begin));
    std::optional<Match> longest;
    size_t taken = 1;
    int node = 0;
    for (size_t end = begin; end < units.size() && words[end] >= 0;) {
      const auto next = next_.find(std::pair(node, words[end]));
      if (next == next_.end()) break;
      node = next->second;
      ++end;
      const std::vector<Entry>& entries = entries_[node];
      const auto written =
          std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
            return IsWritten(entry, text, &units[begin]);
          });
      if (written == entries.end()) continue;
      taken = end - begin;
      longest = {written->term, {units[begin].begin, units[end - 1].end}};
    }
    if (longest) matches.push_back(*longest);
    begin += taken;
  }
  return matches;
}

size_t CountTerm(std::string_view text, std::string_view term, bool endings) {
  if (term.empty()) return 0;
  const std::string capital = WithCapital(term);
  size_t count = 0;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const size_t size = rest.starts_with(term)      ? term.size()
                        : rest.starts_with(capital) ? capital.size()
                                                    : 0;
    if (size == 0 || IsWithinWord(text, at) ||
        (!endings && IsWithinWord(text, at + size))) {
      at += FirstCodePoint(rest).size;
      continue;
    }
    ++count;
    at += size;
  }
  return count;
}

bool EndsInsideText(std::string_view term) {
  const UChar32 c =
      FirstCharacter(term.substr(term.size() - LastCharacterSize(term)));
  return !IsPartOfWord(c) || StandsAlone(c);
}

bool BeginsInsideText(std::string_view term) {
  return StandsAlone(FirstCharacter(term));
}

}  // namespace trivium
