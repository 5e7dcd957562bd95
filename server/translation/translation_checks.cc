// Always:
// - A repetition or U+FFFD is no fault if the source has as much of it.
//   Repetitions are measured in both texts, with no least length in the source.
// - Letter case does not count. Words are compared as hashes, so two words with
//   equal hashes are equal.
// - From U+2E80 on, each character is a word by itself, and a letter weighs
//   three.
// - In doubt nothing is found. IsAnother asks CLD2 only about texts that are
//   long enough and are not all names, and believes it only if it is sure.
// - Codes of languages are compared after Canonical, on both sides, since
//   models and CLD2 may name a language differently.
#include "server/translation/translation_checks.h"

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <unicode/uchar.h>
#include <unicode/ulocdata.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/language_code.h"
#include "server/translation/language_detection.h"

namespace trivium {
namespace {

// The longest unit whose repetition counts, in words or characters.
constexpr size_t kLongestPeriod = 16;
// A word that comes four times in a row is repeated three times.
constexpr size_t kLeastRepeatedWords = 3;
constexpr size_t kLeastRepeatedCharacters = 10;
constexpr size_t kCopiedRun = 3;
constexpr size_t kLeastCopied = 4;
// One text may have so many letters more than twice those of the other.
constexpr size_t kLengthSlack = 12;
// CLD2 only guesses at texts with fewer letters.
constexpr size_t kLeastLettersOfLanguage = 24;
constexpr size_t kLeastOtherThanNames = 2;  // words
constexpr int kLeastPercentOfAnother = 60;
constexpr int kMostPercentOfTarget = 20;
constexpr int kLeastPercentOfSure = 80;

// The first character of the scripts that put no spaces between words. One of
// their characters says about as much as three letters.
constexpr UChar32 kFirstIdeographic = 0x2E80;

struct CheckedWord {
  size_t hash = 0;
  bool letters = false;
  bool small = false;    // has small letters
  bool capital = false;  // its first character
};

// Returns the words in lower case, without signs at their ends. In scripts
// without spaces each character is a word.
std::vector<CheckedWord> CheckedWordsOf(std::string_view text) {
  std::vector<CheckedWord> words;
  std::string folded, marks;
  CheckedWord word;
  const auto end = [&] {
    // Signs alone are a word, too.
    if (!folded.empty() || !marks.empty()) {
      word.hash = std::hash<std::string>()(folded.empty() ? marks : folded);
      words.push_back(word);
    }
    folded.clear();
    marks.clear();
    word = {};
  };
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    text.remove_prefix(point.size);
    const auto c = static_cast<UChar32>(point.value);
    if (u_isUWhiteSpace(c)) {
      end();
      continue;
    }
    const bool alone = c >= kFirstIdeographic;
    if (alone) end();
    if (u_isalnum(c)) {
      if (folded.empty()) word.capital = u_isupper(c);
      word.letters |= static_cast<bool>(u_isalpha(c));
      word.small |= static_cast<bool>(u_islower(c));
      folded += marks;  // within the word
      marks.clear();
      AppendUtf8(u_foldCase(c, U_FOLD_CASE_DEFAULT), &folded);
    } else if (!folded.empty() || u_ispunct(c)) {
      AppendUtf8(c, &marks);
    } else {
      AppendUtf8(c, &folded);
    }
    if (alone) end();
  }
  end();
  return words;
}

std::vector<size_t> CharactersOf(std::string_view text) {
  std::vector<size_t> characters;
  for (; !text.empty(); text.remove_prefix(FirstCodePoint(text).size)) {
    characters.push_back(u_foldCase(FirstCharacter(text), U_FOLD_CASE_DEFAULT));
  }
  return characters;
}

// Returns the length of the longest run of units that each equal the unit
// `period` places before. Counts only runs of at least `least` units and of at
// least `times` periods; 0 if there is none.
size_t LongestRepetition(const std::vector<size_t>& units, size_t least,
                         size_t times) {
  size_t longest = 0;
  for (size_t period = 1;
       period <= kLongestPeriod && 2 * period <= units.size(); ++period) {
    size_t run = 0, most = 0;
    for (size_t i = period; i < units.size(); ++i) {
      run = units[i] == units[i - period] ? run + 1 : 0;
      most = std::max(most, run);
    }
    if (most >= std::max(least, times * period)) {
      longest = std::max(longest, most);
    }
  }
  return longest;
}

std::vector<size_t> Hashes(const std::vector<CheckedWord>& words) {
  std::vector<size_t> hashes;
  for (const CheckedWord& word : words) hashes.push_back(word.hash);
  return hashes;
}

std::vector<CheckedWord> WithLetters(std::vector<CheckedWord> words) {
  std::erase_if(words, [](const CheckedWord& word) { return !word.letters; });
  return words;
}

size_t HashOfRun(const std::vector<CheckedWord>& words, size_t begin) {
  size_t hash = 0;
  for (size_t i = 0; i < kCopiedRun; ++i) {
    hash = hash * 0x9E3779B97F4A7C15 + words[begin + i].hash;
  }
  return hash;
}

// Returns the number of letters and digits, where ideographs count as three.
size_t Weight(std::string_view text) {
  size_t weight = 0;
  for (; !text.empty(); text.remove_prefix(FirstCodePoint(text).size)) {
    const UChar32 c = FirstCharacter(text);
    if (u_isalnum(c)) weight += c >= kFirstIdeographic ? 3 : 1;
  }
  return weight;
}

// True if the text may consist of names alone, which are the same in all
// languages.
bool IsOfNames(std::string_view text) {
  size_t names = 0, others = 0;
  for (const CheckedWord& word : CheckedWordsOf(text)) {
    if (word.small) ++(word.capital ? names : others);
  }
  return names > 0 && others < kLeastOtherThanNames;
}

size_t CountReplacementCharacters(std::string_view text) {
  constexpr std::string_view kReplacement = "\uFFFD";
  size_t count = 0;
  for (size_t at = text.find(kReplacement); at != std::string_view::npos;
       at = text.find(kReplacement, at + kReplacement.size())) {
    ++count;
  }
  return count;
}

// Returns the shortest code of the language. Languages that CLD2 hardly tells
// apart share one.
std::string Canonical(std::string_view language) {
  static const auto* const kCommon =
      new std::unordered_map<std::string, std::string>{
          {"nb", "no"},  {"nn", "no"}, {"da", "no"},  {"bs", "hr"},
          {"sr", "hr"},  {"sh", "hr"}, {"cnr", "hr"}, {"id", "ms"},
          {"in", "ms"},  {"iw", "he"}, {"jw", "jv"},  {"ji", "yi"},
          {"fil", "tl"}, {"pt", "gl"}};
  std::string code = LanguageCode(language);
  const auto common = kCommon->find(code);
  return common == kCommon->end() ? code : common->second;
}

}  // namespace

bool RepeatsItself(std::string_view source, std::string_view translation) {
  const size_t words = LongestRepetition(Hashes(CheckedWordsOf(translation)),
                                         kLeastRepeatedWords, 1);
  if (words > 0 &&
      words > LongestRepetition(Hashes(CheckedWordsOf(source)), 1, 1)) {
    return true;
  }
  const size_t characters =
      LongestRepetition(CharactersOf(translation), kLeastRepeatedCharacters, 3);
  return characters > 0 &&
         characters > LongestRepetition(CharactersOf(source), 1, 1);
}

bool CopiesSource(std::string_view source, std::string_view translation) {
  const std::vector<CheckedWord> read = WithLetters(CheckedWordsOf(source));
  const std::vector<CheckedWord> written =
      WithLetters(CheckedWordsOf(translation));
  if (written.size() < kLeastCopied || read.size() < kCopiedRun) return false;
  std::unordered_set<size_t> runs;
  for (size_t i = 0; i + kCopiedRun <= read.size(); ++i) {
    runs.insert(HashOfRun(read, i));
  }
  size_t copied = 0, names = 0, counted = 0;  // up to word `counted`
  for (size_t i = 0; i + kCopiedRun <= written.size(); ++i) {
    if (!runs.contains(HashOfRun(written, i))) continue;
    for (counted = std::max(counted, i); counted < i + kCopiedRun; ++counted) {
      ++copied;
      names += written[counted].capital ? 1 : 0;
    }
  }
  return copied >= kLeastCopied && 2 * copied >= written.size() &&
         2 * names <= copied;
}

bool HasUnlikelyLength(std::string_view source, std::string_view translation) {
  const size_t read = Weight(source), written = Weight(translation);
  if (read > 0 && IsBlank(translation)) return true;
  return std::max(read, written) > 2 * std::min(read, written) + kLengthSlack;
}

bool HasReplacementCharacters(std::string_view source,
                              std::string_view translation) {
  return CountReplacementCharacters(translation) >
         CountReplacementCharacters(source);
}

std::optional<LanguageCheck> LanguageCheck::For(std::string_view language) {
  const std::string code = LanguageCode(language);
  if (code.empty() ||
      CLD2::GetLanguageFromName(code.c_str()) == CLD2::UNKNOWN_LANGUAGE) {
    return std::nullopt;
  }
  return LanguageCheck(code);
}

LanguageCheck::LanguageCheck(std::string language)
    : language_(Canonical(language)) {
  UErrorCode error = U_ZERO_ERROR;
  ULocaleData* const data = ulocdata_open(language.c_str(), &error);
  if (U_FAILURE(error)) return;
  auto letters = std::make_shared<icu::UnicodeSet>();
  ulocdata_getExemplarSet(data, letters->toUSet(), USET_CASE_INSENSITIVE,
                          ULOCDATA_ES_STANDARD, &error);
  ulocdata_close(data);
  if (U_SUCCESS(error) && !letters->isEmpty()) letters_ = std::move(letters);
}

bool LanguageCheck::IsAnother(std::string_view text) const {
  if (Weight(text) < kLeastLettersOfLanguage || IsOfNames(text)) return false;
  const std::vector<LanguageGuess> guesses = DetectLanguages(text);
  if (guesses.empty() || !guesses[0].reliable) return false;
  int of_target = 0;
  for (const LanguageGuess& guess : guesses) {
    if (Canonical(guess.language) == language_) of_target += guess.percent;
  }
  return of_target <= kMostPercentOfTarget &&
         guesses[0].percent >= kLeastPercentOfAnother;
}

bool LanguageCheck::IsSame(std::string_view language) const {
  return Canonical(language) == language_;
}

bool LanguageCheck::IsSurely(std::string_view text) const {
  size_t capitals = 0, others = 0;
  const std::vector<CheckedWord> words = CheckedWordsOf(text);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].small) ++(words[i].capital && i > 0 ? capitals : others);
  }
  // German writes nouns with capitals, too.
  if (language_ != "de" && capitals > 0 && capitals + 1 >= others) return false;
  for (std::string_view rest = text; letters_ && !rest.empty();
       rest.remove_prefix(FirstCodePoint(rest).size)) {
    const UChar32 c = FirstCharacter(rest);
    if (u_isalpha(c) && !letters_->contains(c)) return false;
  }
  const std::vector<LanguageGuess> guesses = DetectLanguages(text);
  return !guesses.empty() && guesses[0].reliable &&
         Canonical(guesses[0].language) == language_ &&
         guesses[0].percent >= kLeastPercentOfSure;
}

}  // namespace trivium
