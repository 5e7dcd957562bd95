// Two lists for each language:
// - words that negate the sentence that they are in ("not", "niemand"),
// - words in which a translation may put a negation ("without", "verbieten").
//   A * stands for any ending.
//
// A text with a word of the first list and a translation with none of either
// list differ. The lists were made with the development corpora in view: a word
// is on the second one if it made a false alarm there.
#include "server/translation/negation_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_split.h"
#include "server/translation/characters.h"
#include "server/translation/language_code.h"

namespace trivium {
namespace {

// Longer words are of no list.
constexpr size_t kLongestListed = 32;
constexpr size_t kShortestUn = 6;  // letters of "unwell", but not of "unit"

class WordList {
 public:
  explicit WordList(std::string_view words) {
    const std::vector<std::string> all = absl::StrSplit(
        absl::string_view(words.data(), words.size()), ' ', absl::SkipEmpty());
    for (const std::string& word : all) {
      if (word.ends_with('*')) {
        begins_.insert(word.substr(0, word.size() - 1));
      } else {
        words_.insert(word);
      }
    }
  }

  bool Has(const std::string& word) const {
    if (word.size() > kLongestListed) return false;
    if (words_.contains(word)) return true;
    for (size_t size = 1; size <= word.size(); ++size) {
      if (begins_.contains(word.substr(0, size))) return true;
    }
    return false;
  }

 private:
  absl::flat_hash_set<std::string> words_, begins_;
};

using PlainWords = std::vector<std::string>;

// Returns the words in small letters, with straight apostrophes in them.
PlainWords PlainWordsOf(std::string_view text) {
  PlainWords words;
  bool open = false;
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    text.remove_prefix(point.size);
    UChar32 c = u_tolower(static_cast<UChar32>(point.value));
    if (c == 0x2019) c = '\'';
    const bool letter = u_isalnum(c) || (open && c == '\'');
    if (letter && !open) words.emplace_back();
    if (letter) AppendUtf8(static_cast<char32_t>(c), &words.back());
    open = letter;
  }
  return words;
}

bool EndsWithOneOf(std::string_view word,
                   std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [word](std::string_view end) {
    return word.ends_with(end);
  });
}

// Returns the word `i`, or "" behind the last.
std::string_view WordAt(const PlainWords& words, size_t i) {
  return i < words.size() ? std::string_view(words[i]) : "";
}

bool BeginsWithDigit(std::string_view word) {
  return !word.empty() && word[0] >= '0' && word[0] <= '9';
}

// True if the word `i` negates. The "no" of "No. 1" does not.
bool IsEnglishNegation(const PlainWords& words, size_t i) {
  static const WordList& list = *new WordList(
      "not cannot never nobody nothing none nowhere neither nor no dont doesnt "
      "didnt isnt wasnt wont cant");
  const std::string& word = words[i];
  if (word == "no" && BeginsWithDigit(WordAt(words, i + 1))) return false;
  return list.Has(word) || word.ends_with("n't");
}

bool NegatesInEnglish(const PlainWords& words) {
  static const WordList& pronouns =
      *new WordList("i you he she it we they there one");
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!IsEnglishNegation(words, i)) continue;
    const std::string_view next = WordAt(words, i + 1);
    if (word == "no" && (next.empty() || next == "doubt")) continue;
    if (word == "not" && (next == "only" || next == "just" || next == "until" ||
                          next == "merely" || next == "least")) {
      continue;
    }
    if (word.ends_with("n't") && i > 0 && i + 2 == words.size() &&
        pronouns.Has(words[i + 1])) {
      continue;  // "..., isn't it?"
    }
    return true;
  }
  return false;
}

bool MayNegateInEnglish(const PlainWords& words) {
  static const WordList& list = *new WordList(
      "non without hardly barely scarcely seldom rarely rare few fewer little "
      "less except unless until till instead rather fail* lack* refus* deny "
      "denie* denying denial* avoid* prevent* stop* forbid* reject* declin* "
      "ignor* absen* exclu* exempt* too yet otherwise else doubt* prohibit* "
      "ban "
      "banned cease* quit* lost lose* wrong beyond away empty zero neglect* "
      "oppos* off kept despite regardless hard difficult sick loath afk minus "
      "forgot* forget* skip* anyone anybody problem trouble leave left apart "
      "aside best hate* abandon* give gave gone outside abstain* spare resist* "
      "hesitat* barr* bar cut shortage short shy missing dis* mis*");
  // Words that begin like a negation and are none.
  static const WordList& no_un = *new WordList(
      "under* union* unit* univer* uniq* uncle uncles until unless");
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (IsEnglishNegation(words, i) || list.Has(word) ||
        word.ends_with("less")) {
      return true;
    }
    if (word.starts_with("un") && word.size() >= kShortestUn &&
        !no_un.Has(word)) {
      return true;
    }
    const bool latin = word.starts_with("in") || word.starts_with("im") ||
                       word.starts_with("ir") || word.starts_with("il");
    if (latin &&
        EndsWithOneOf(word, {"able", "ible", "ably", "ibly", "ent", "ently",
                             "ant", "ate", "ive", "ous", "ence", "ance", "ncy",
                             "ity", "lete", "fect", "ure", "al", "ally"})) {
      return true;
    }
  }
  return false;
}

bool IsGermanNegation(const std::string& word) {
  static const WordList& list = *new WordList(
      "nicht nichts nie niemals niemand niemand* nirgends nirgendwo "
      "keinesfalls "
      "keineswegs weder kein keine keiner keines keinen keinem keinerlei");
  return list.Has(word);
}

bool NegatesInGerman(const PlainWords& words) {
  static const WordList& scarce = *new WordList(
      "jemand jemanden jemandem etwas noch irgendwer ein eine einer eines "
      "einen "
      "einem");
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string next(WordAt(words, i + 1));
    // "kaum jemand", but not "kaum war er da".
    if (word == "kaum" && scarce.Has(next)) return true;
    if (!IsGermanNegation(word)) continue;
    if (word == "nicht" &&
        (next == "nur" || next == "zuletzt" || next == "bloß" ||
         next == "wahr" || next == "allein")) {
      continue;
    }
    return true;
  }
  return false;
}

bool MayNegateInGerman(const PlainWords& words) {
  static const WordList& list = *new WordList(
      "nein ne nee nö ohne kaum selten* wenig* nur außer* sondern statt* "
      "anstatt "
      "bis nirgend* miss* miß* fehl* gefehlt mangel* weiger* verweiger* "
      "geweigert ablehn* abgelehn* lehn* vermeid* vermied* verhinder* hinder* "
      "verbot* verbiet* leugn* ignor* fern* nicht* sonst* erst ander* egal "
      "gelassen lassen lass lässt doch schwer* schwierig* verlor* verlier* "
      "falsch* vergess* vergaß* vergiss vergisst versäum* verpass* trotz* "
      "lediglich bloß verzicht* null leer* ob zweifel* schlecht* abgesehen "
      "bevor ehe nimmer* aufgehört hör* ausgeschloss* ausschließ* entgeh* "
      "entgang* entkomm* mitnichten stimmt weg lieber je jemals irgend* "
      "höchstens etwa scheiter* gescheitert verweh* vorenthalt* abwesen* wohl "
      "verschon* unterlass* hüt* wehe gar längst keinster schließlich gleich "
      "gleichgültig* frei*");
  static const WordList& no_un = *new WordList("uns* unter* und");
  for (const std::string& word : words) {
    if (IsGermanNegation(word) || list.Has(word)) return true;
    if (word.starts_with("un") && word.size() >= kShortestUn &&
        !no_un.Has(word)) {
      return true;
    }
    std::string_view stem = word;
    for (const std::string_view end : {"er", "es", "en", "em", "e"}) {
      if (!stem.ends_with(end)) continue;
      stem.remove_suffix(end.size());
      break;
    }
    if (EndsWithOneOf(stem, {"los", "frei", "leer"})) return true;
    const bool latin = stem.starts_with("in") || stem.starts_with("im") ||
                       stem.starts_with("ir") || stem.starts_with("il");
    if (latin && EndsWithOneOf(stem, {"abel", "ibel", "ent", "ant", "iv", "al",
                                      "tät", "ell"})) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<NegationCheck> NegationCheck::For(
    std::string_view source_language, std::string_view target_language) {
  const std::string source = LanguageCode(source_language);
  const std::string target = LanguageCode(target_language);
  const bool from_english = source == "en" && target == "de";
  if (!from_english && !(source == "de" && target == "en")) return std::nullopt;
  return NegationCheck(from_english);
}

bool NegationCheck::Differs(std::string_view source,
                            std::string_view translation) const {
  const PlainWords english = PlainWordsOf(from_english_ ? source : translation);
  const PlainWords german = PlainWordsOf(from_english_ ? translation : source);
  if (NegatesInEnglish(english)) return !MayNegateInGerman(german);
  return NegatesInGerman(german) && !MayNegateInEnglish(english);
}

}  // namespace trivium
