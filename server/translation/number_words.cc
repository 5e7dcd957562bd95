#include "server/translation/number_words.h"

#include <unicode/dtfmtsym.h>
#include <unicode/locid.h>
#include <unicode/rbnf.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/language_code.h"

namespace trivium {
namespace {

// Shorter words count only whole: "ein" is no "einfach".
constexpr size_t kLeastBeginning = 4;
constexpr int kMostSpelled = 100;

// Returns the letters in lower case.
std::string Letters(std::string_view text) {
  std::string letters;
  for (; !text.empty(); text.remove_prefix(FirstCodePoint(text).size)) {
    const UChar32 c = FirstCharacter(text);
    if (u_isalpha(c)) AppendUtf8(u_tolower(c), &letters);
  }
  return letters;
}

std::string Letters(const icu::UnicodeString& text) {
  std::string utf8;
  return Letters(text.toUTF8String(utf8));
}

struct SpelledWord {
  TextSpan span;
  std::string letters;  // in lower case
};

std::vector<SpelledWord> WordsOf(std::string_view text) {
  std::vector<SpelledWord> words;
  SpelledWord word;
  for (size_t at = 0; at < text.size();) {
    const UChar32 c = FirstCharacter(text.substr(at));
    const size_t end = at + FirstCodePoint(text.substr(at)).size;
    if (u_isalpha(c)) {
      if (word.letters.empty()) word.span.begin = at;
      word.span.end = end;
      AppendUtf8(u_tolower(c), &word.letters);
    } else if (!word.letters.empty()) {
      words.push_back(std::exchange(word, {}));
    }
    at = end;
  }
  if (!word.letters.empty()) words.push_back(std::move(word));
  return words;
}

// True for the article before "hundred".
bool IsOne(std::string_view word) {
  return word == "a" || word == "one" || word == "ein" || word == "eine" ||
         word == "einem" || word == "einen" || word == "einer";
}

// Adds the hour and the minutes of times such as "half past two" and "halb
// drei", both halves of the day. `hour_of` returns the value of a word.
template <typename HourOf>
void AddTimesIn(const std::vector<SpelledWord>& words, const HourOf& hour_of,
                std::set<int>* said) {
  struct Phrase {
    std::vector<std::string_view> words;
    int minutes;
    bool next_hour;  // the phrase names the hour that follows
  };
  static const auto* const kPhrases =
      new std::vector<Phrase>{{{"halb"}, 30, true},
                              {{"viertel"}, 15, true},
                              {{"dreiviertel"}, 45, true},
                              {{"viertel", "nach"}, 15, false},
                              {{"viertel", "vor"}, 45, true},
                              {{"half", "past"}, 30, false},
                              {{"quarter", "past"}, 15, false},
                              {{"quarter", "after"}, 15, false},
                              {{"quarter", "to"}, 45, true},
                              {{"quarter", "of"}, 45, true}};
  constexpr int kHours = 12;
  for (size_t i = 0; i < words.size(); ++i) {
    for (const Phrase& phrase : *kPhrases) {
      const size_t at = i + phrase.words.size();
      if (at >= words.size() ||
          !std::equal(phrase.words.begin(), phrase.words.end(),
                      words.begin() + static_cast<ptrdiff_t>(i),
                      [](std::string_view word, const SpelledWord& other) {
                        return word == other.letters;
                      })) {
        continue;
      }
      const std::optional<int> hour = hour_of(words[at].letters);
      if (!hour || *hour < 1 || *hour > kHours) continue;
      const int begun = phrase.next_hour ? *hour - 1 : *hour;
      said->insert({phrase.minutes, begun == 0 ? kHours : begun,
                    (begun + kHours) % (2 * kHours)});
    }
  }
}

}  // namespace

const NumberWords& NumberWords::For(std::string_view language) {
  const std::string code = LanguageCode(language);
  static Mutex mutex;
  static auto* const all =
      new std::map<std::string, std::unique_ptr<const NumberWords>>;
  const MutexLock lock(&mutex);
  std::unique_ptr<const NumberWords>& words = (*all)[code];
  if (!words) words.reset(new NumberWords(code));
  return *words;
}

NumberWords::NumberWords(const std::string& language) {
  const icu::Locale locale(language.c_str());
  UErrorCode error = U_ZERO_ERROR;
  const icu::RuleBasedNumberFormat format(icu::URBNF_SPELLOUT, locale, error);
  if (language.empty() || U_FAILURE(error)) return;
  // ICU falls back to other languages.
  if (format.getLocale(ULOC_ACTUAL_LOCALE, error).getLanguage() != language) {
    return;
  }
  for (int i = 0; i < format.getNumberOfRuleSetNames(); ++i) {
    const icu::UnicodeString rules = format.getRuleSetName(i);
    const auto spelled = [&](int value) {
      icu::UnicodeString word;
      icu::FieldPosition nowhere;
      UErrorCode failed = U_ZERO_ERROR;
      format.format(static_cast<int64_t>(value), rules, word, nowhere, failed);
      return U_FAILURE(failed) ? std::string() : Letters(word);
    };
    const bool cardinal = rules.indexOf("ordinal") < 0;
    const Kind kind = cardinal ? Kind::kCardinal : Kind::kOther;
    const std::string one = spelled(1);
    for (int value = 0; value <= kMostSpelled; ++value) {
      Add(spelled(value), value, kind);
    }
    Add(spelled(1000), 1000, kind);
    // "hundred" and "thousand" alone.
    for (const int value : {100, 1000}) {
      const std::string word = spelled(value);
      if (!one.empty() && word.starts_with(one)) {
        Add(word.substr(one.size()), value, kind);
      }
    }
  }
  const icu::DateFormatSymbols dates(locale, error);
  if (U_FAILURE(error)) return;
  int32_t count = 0;
  const icu::UnicodeString* const months = dates.getMonths(count);
  for (int32_t i = 0; i < count; ++i)
    Add(Letters(months[i]), i + 1, Kind::kMonth);
}

void NumberWords::Add(std::string word, int value, Kind kind) {
  if (word.empty()) return;
  longest_ = std::max(longest_, word.size());
  const auto [begin, end] = values_.equal_range(word);
  if (std::any_of(begin, end,
                  [&](const auto& one) { return one.second.value == value; })) {
    return;
  }
  values_.emplace(std::move(word), Meaning{value, kind});
}

std::set<int> NumberWords::SaidIn(std::string_view text) const {
  return SaidIn(text, /*numbers=*/true, /*months=*/true);
}

std::set<int> NumberWords::NumbersSaidIn(std::string_view text) const {
  return SaidIn(text, /*numbers=*/true, /*months=*/false);
}

std::set<int> NumberWords::MonthsIn(std::string_view text) const {
  return SaidIn(text, /*numbers=*/false, /*months=*/true);
}

std::set<int> NumberWords::SaidIn(std::string_view text, bool numbers,
                                  bool months) const {
  std::set<int> said;
  const auto add = [&](const std::string& word) {
    const auto [begin, end] = values_.equal_range(word);
    for (auto it = begin; it != end; ++it) {
      if (it->second.kind == Kind::kMonth ? months : numbers) {
        said.insert(it->second.value);
      }
    }
    return begin != end;
  };
  const std::vector<SpelledWord> words = WordsOf(text);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].letters;
    // "twenty-one" is two words.
    if (i + 1 < words.size()) add(word + words[i + 1].letters);
    if (add(word)) continue;
    for (size_t size = std::min(word.size() - 1, longest_);
         size >= kLeastBeginning && !add(word.substr(0, size)); --size) {
    }
  }
  if (numbers) {
    AddTimesIn(
        words, [this](const std::string& word) { return CardinalOf(word); },
        &said);
  }
  return said;
}

std::optional<int> NumberWords::CardinalOf(const std::string& word) const {
  const auto [begin, end] = values_.equal_range(word);
  for (auto it = begin; it != end; ++it) {
    if (it->second.kind == Kind::kCardinal) return it->second.value;
  }
  return std::nullopt;
}

std::vector<NumberWords::Said> NumberWords::CardinalsIn(
    std::string_view text) const {
  constexpr std::string_view kAge = "jähr";
  std::vector<Said> said;
  const std::vector<SpelledWord> words = WordsOf(text);
  const auto gap = [&](size_t i) {  // before the word
    const size_t begin = i > 0 ? words[i - 1].span.end : 0;
    return text.substr(begin, words[i].span.begin - begin);
  };
  bool joined = false;  // the last word was a number
  for (size_t i = 0; i < words.size(); ++i) {
    Said one = {words[i].span};
    std::optional<int> value;
    size_t next = i;  // the last word of the number
    if (i + 1 < words.size() && (gap(i + 1) == "-" || gap(i + 1) == " ")) {
      value = CardinalOf(words[i].letters + words[i + 1].letters);
      // "a hundred" is said by the branch below.
      if (value && !IsOne(words[i].letters)) {
        next = i + 1;
        one.span.end = words[next].span.end;
      } else {
        value.reset();
      }
    }
    if (!value) value = CardinalOf(words[i].letters);
    if (!value) {
      const size_t age = words[i].letters.find(kAge);
      // Letters of other sizes than those of the text have no such word.
      if (age != std::string::npos &&
          words[i].letters.size() == one.span.end - one.span.begin) {
        value = CardinalOf(words[i].letters.substr(0, age));
        one.span.end = one.span.begin + age;
        one.age = true;
      }
    }
    // An article is no number before another one.
    const bool was_joined =
        std::exchange(joined, value.has_value() && !IsOne(words[i].letters));
    if (!value) continue;
    one.value = *value;
    const bool one_before =
        i > 0 && gap(i) == " " && IsOne(words[i - 1].letters);
    const bool whole_hundreds = *value == 100 || *value == 1000;
    if (whole_hundreds && one_before) one.span.begin = words[i - 1].span.begin;
    const bool part_of_longer =
        (was_joined && gap(i) != ", " && !(whole_hundreds && one_before)) ||
        (next + 1 < words.size() && gap(next + 1) == " " &&
         CardinalOf(words[next + 1].letters));
    i = next;
    if (!part_of_longer) said.push_back(one);
  }
  return said;
}

}  // namespace trivium
