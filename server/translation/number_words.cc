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

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (; !text.empty(); text.remove_prefix(FirstCodePoint(text).size)) {
    const UChar32 c = FirstCharacter(text);
    if (u_isalpha(c)) {
      AppendUtf8(u_tolower(c), &word);
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
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
    const std::string one = spelled(1);
    for (int value = 0; value <= kMostSpelled; ++value) {
      Add(spelled(value), value);
    }
    Add(spelled(1000), 1000);
    // "hundred" and "thousand" alone.
    for (const int value : {100, 1000}) {
      const std::string word = spelled(value);
      if (!one.empty() && word.starts_with(one)) {
        Add(word.substr(one.size()), value);
      }
    }
  }
  const icu::DateFormatSymbols dates(locale, error);
  if (U_FAILURE(error)) return;
  int32_t count = 0;
  const icu::UnicodeString* const months = dates.getMonths(count);
  for (int32_t i = 0; i < count; ++i) Add(Letters(months[i]), i + 1);
}

void NumberWords::Add(std::string word, int value) {
  if (word.empty()) return;
  longest_ = std::max(longest_, word.size());
  const auto [begin, end] = values_.equal_range(word);
  if (std::any_of(begin, end,
                  [&](const auto& one) { return one.second == value; })) {
    return;
  }
  values_.emplace(std::move(word), value);
}

std::set<int> NumberWords::SaidIn(std::string_view text) const {
  std::set<int> said;
  const auto add = [&](const std::string& word) {
    const auto [begin, end] = values_.equal_range(word);
    for (auto it = begin; it != end; ++it) said.insert(it->second);
    return begin != end;
  };
  const std::vector<std::string> words = WordsOf(text);
  for (size_t i = 0; i < words.size(); ++i) {
    // "twenty-one" is two words.
    if (i + 1 < words.size()) add(words[i] + words[i + 1]);
    if (add(words[i])) continue;
    for (size_t size = std::min(words[i].size() - 1, longest_);
         size >= kLeastBeginning && !add(words[i].substr(0, size)); --size) {
    }
  }
  return said;
}

}  // namespace trivium
