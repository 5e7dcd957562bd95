// Invariants: a border is taken back or added, never moved; what is unknown
// ends a sentence, as Unicode's rules (UAX #29) say. These keep a full stop
// before a number or a small letter within its sentence, any mark before a
// dash or before quoted speech that begins small, and do not know that people
// end sentences with emoticons and emoji, and Thai ones with particles.
#include "server/translation/sentence_rules.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "server/translation/abbreviations.h"
#include "server/translation/characters.h"
#include "server/translation/sentences.h"

namespace trivium {
namespace {

UChar32 Last(std::string_view text) {
  return FirstCharacter(text.substr(text.size() - LastCharacterSize(text)));
}

// Quotes and brackets of any direction, and apostrophes that are used as such.
bool IsQuoteOrBracket(UChar32 c) {
  constexpr uint32_t kMask =
      U_GC_PS_MASK | U_GC_PE_MASK | U_GC_PI_MASK | U_GC_PF_MASK;
  return c == '"' || c == '\'' || (U_GET_GC_MASK(c) & kMask) != 0;
}

bool IsQuote(UChar32 c) {
  return IsQuoteOrBracket(c) && u_hasBinaryProperty(c, UCHAR_QUOTATION_MARK);
}

bool IsLetter(UChar32 c) { return u_isalpha(c) != 0; }

void StripQuotesAtEnd(std::string_view* text) {
  while (!text->empty() && IsQuoteOrBracket(Last(*text))) {
    text->remove_suffix(LastCharacterSize(*text));
  }
}

void StripQuotesAtBegin(std::string_view* text) {
  while (!text->empty() && IsQuoteOrBracket(FirstCharacter(*text))) {
    text->remove_prefix(FirstCodePoint(*text).size);
  }
}

// No word of the tables is longer. What is looked at of a text is bounded, so
// that all borders of a long line take time of its length.
constexpr size_t kMostWordBytes = 64;

// What stands between the last white space, bracket, quote or dash and the
// end.
std::string_view LastWord(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && text.size() - begin < kMostWordBytes) {
    const std::string_view before = text.substr(0, begin);
    const UChar32 c = Last(before);
    // "Tom's": an apostrophe within a word.
    const std::string_view more =
        before.substr(0, begin - LastCharacterSize(before));
    const bool apostrophe = (c == '\'' || c == 0x2019) && begin < text.size() &&
                            !more.empty() && u_isalnum(Last(more));
    if (u_isUWhiteSpace(c) || (IsQuoteOrBracket(c) && !apostrophe) ||
        c == '/' || u_charType(c) == U_DASH_PUNCTUATION) {
      break;
    }
    begin -= LastCharacterSize(before);
  }
  return text.substr(begin);
}

// Letters, digits and apostrophes at the beginning.
std::string_view FirstWord(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && end < kMostWordBytes) {
    const std::string_view rest = text.substr(end);
    const UChar32 c = FirstCharacter(rest);
    const bool inner = end > 0 && (c == '\'' || c == 0x2019);
    if (!u_isalnum(c) && !inner) break;
    end += FirstCodePoint(rest).size;
  }
  return text.substr(0, end);
}

template <typename Predicate>
bool All(std::string_view text, Predicate is) {
  if (text.empty()) return false;
  for (; !text.empty(); text.remove_prefix(FirstCodePoint(text).size)) {
    if (!is(FirstCharacter(text))) return false;
  }
  return true;
}

bool IsDigits(std::string_view text) {
  return All(text, [](UChar32 c) { return c >= '0' && c <= '9'; });
}

bool IsRoman(std::string_view text) {
  return All(text, [](UChar32 c) {
    return std::string_view("IVXLCDM").find(static_cast<char>(c)) !=
               std::string_view::npos &&
           c < 0x80;
  });
}

int Characters(std::string_view text) {
  return static_cast<int>(std::count_if(
      text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

// "U.S", "z.B", "a.m": stops between letters, few of them at a time.
bool IsDotted(std::string_view word) {
  int letters = 0;
  bool dotted = false;
  for (; !word.empty(); word.remove_prefix(FirstCodePoint(word).size)) {
    const UChar32 c = FirstCharacter(word);
    if (c == '.') {
      if (letters == 0) return false;
      dotted = true;
      letters = 0;
    } else if (!IsLetter(c) || ++letters > 3) {
      return false;
    }
  }
  return dotted && letters > 0;
}

// After a number and a full stop: of an ordinal the sentence goes on. `first`:
// it begins the sentence, as in a list.
bool EndsAfterNumber(std::string_view language, std::string_view number,
                     bool first, bool starter) {
  if (first && number.size() <= 3) return false;
  if (language == "en" || number.size() > 3) return true;
  return starter;
}

bool IsMark(UChar32 c) { return c == '.' || c == '!' || c == '?'; }

// A full stop may end a sentence although what follows begins with a number,
// which Unicode's rules do not tell from "No. 5".
bool EndsBeforeNumber(std::string_view language, std::string_view left) {
  left.remove_suffix(1);
  const std::string_view word = LastWord(left);
  return Characters(word) > 3 && word.size() < left.size() &&
         All(word, IsLetter) && u_islower(Last(word)) &&
         FindAbbreviation(language, word) == Abbreviation::kNone;
}

// "i slept. then i ate.": who writes without capitals ends sentences all the
// same, with words that are no abbreviations as far as the tables know, nor
// look like any.
bool EndsWithWord(std::string_view language, std::string_view left) {
  constexpr std::string_view kVowels[] = {"a", "e", "i", "o", "u",
                                          "y", "ä", "ö", "ü"};
  if (language != "en" && language != "de") return false;
  left.remove_suffix(1);
  const std::string_view word = LastWord(left);
  if (Characters(word) < 3 || word.size() == left.size() ||
      !All(word, [](UChar32 c) { return u_islower(c) != 0; })) {
    return false;
  }
  return FindAbbreviation(language, word) == Abbreviation::kNone &&
         FindAbbreviation(language, WithCapital(word)) == Abbreviation::kNone &&
         std::any_of(std::begin(kVowels), std::end(kVowels),
                     [word](std::string_view vowel) {
                       return word.find(vowel) != word.npos;
                     });
}

// "20", "$5,000", "(3": digits behind nothing but signs of money, "#", quotes
// and brackets.
bool BeginsWithNumber(std::string_view text) {
  StripQuotesAtBegin(&text);
  if (text.empty()) return false;
  const UChar32 sign = FirstCharacter(text);
  if (u_charType(sign) == U_CURRENCY_SYMBOL || sign == '#') {
    text.remove_prefix(FirstCodePoint(text).size);
  }
  return !text.empty() && u_isdigit(FirstCharacter(text));
}

// "-- Then": dashes, white space and a capital.
bool GoesOnLarge(std::string_view right) {
  const auto skip = [&right](auto is) {
    const size_t size = right.size();
    while (!right.empty() && is(FirstCharacter(right))) {
      right.remove_prefix(FirstCodePoint(right).size);
    }
    return right.size() < size;
  };
  return skip([](UChar32 c) { return u_charType(c) == U_DASH_PUNCTUATION; }) &&
         skip([](UChar32 c) { return u_isUWhiteSpace(c) != 0; }) &&
         !right.empty() && u_isupper(FirstCharacter(right));
}

// What Thai speech ends with, who speaks being polite; what Thai writes has no
// other mark of an end.
bool EndsWithThaiParticle(std::string_view left) {
  for (const std::string_view particle :
       {"ครับ", "ค่ะ", "คะ", "จ้ะ", "จ๊ะ", "จ้า"}) {
    if (left.ends_with(particle)) return true;
  }
  return false;
}

// What stands between the last white space and the end, up to a few bytes.
std::string_view LastRun(std::string_view text) {
  constexpr size_t kMostBytes = 32;
  size_t begin = text.size();
  while (begin > 0 && text.size() - begin < kMostBytes) {
    const size_t size = LastCharacterSize(text.substr(0, begin));
    if (u_isUWhiteSpace(FirstCharacter(text.substr(begin - size)))) break;
    begin -= size;
  }
  return text.substr(begin);
}

// ":-)", ";D", "=(", ":))" and the like, after white space.
bool IsEmoticon(std::string_view left) {
  std::string_view run = LastRun(left);
  if (run.size() < 2 || run.size() == left.size()) return false;
  if (std::string_view(":;=").find(run[0]) == run.npos) return false;
  run.remove_prefix(1);
  if (std::string_view("-'^o*").find(run[0]) != run.npos) run.remove_prefix(1);
  if (run.empty()) return false;
  return run.find_first_not_of(")(DP") == run.npos;
}

bool IsEmoji(UChar32 c) {
  return c > 0x7F && (u_hasBinaryProperty(c, UCHAR_EMOJI) ||
                      u_hasBinaryProperty(c, UCHAR_EMOJI_COMPONENT));
}

// "As ever :) But the view ..." and "It's fine 😊 We will ...": behind a mark
// or alone before a capital, else only before a usual first word.
bool EndsWithSmile(std::string_view language, std::string_view left,
                   std::string_view right) {
  if (!u_isupper(FirstCharacter(right))) return false;
  const std::string_view run = LastRun(left);
  const bool emoji = All(run, IsEmoji);
  if (run.size() == left.size()) return emoji;
  if (!emoji && !IsEmoticon(left)) return false;
  const std::string_view before =
      WithoutWhiteSpace(left, {0, left.size() - run.size()}).Of(left);
  return (!before.empty() && IsMark(Last(before))) ||
         IsSentenceStarter(language, FirstWord(right));
}

}  // namespace

bool EndsSentence(std::string_view language, std::string_view left,
                  std::string_view right) {
  std::string_view core = left;
  StripQuotesAtEnd(&core);
  // ... she asked." "again, he ..."
  const bool opens = IsQuote(Last(left)) && IsQuote(FirstCharacter(right));
  StripQuotesAtBegin(&right);
  if (core.empty()) return false;
  const bool quoted = core.size() < left.size();
  const bool small = !right.empty() && u_islower(FirstCharacter(right));
  // "Really?" she asked.
  if (quoted && small && !opens) return false;
  if (core.back() != '.' || quoted) return true;

  core.remove_suffix(1);
  if (!core.empty() && core.back() == '.') return true;  // "..."
  const std::string_view word = LastWord(core);
  if (word.empty()) return true;
  const bool first = word.size() == core.size();
  const std::string_view next = FirstWord(right);
  const bool starter = IsSentenceStarter(language, next);
  if (IsDigits(word)) return EndsAfterNumber(language, word, first, starter);
  switch (FindAbbreviation(language, word)) {
    case Abbreviation::kBeforeName:
      return false;
    case Abbreviation::kBeforeNumber:
      return next.empty() || !u_isdigit(FirstCharacter(next));
    case Abbreviation::kAnywhere:
      return starter;
    case Abbreviation::kNone:
      break;
  }
  if (Characters(word) == 1 && IsLetter(FirstCharacter(word))) {
    // An initial, or half of "z. B.".
    return starter && !u_islower(FirstCharacter(word));
  }
  if (IsDotted(word)) return starter;
  // "Ludwig XIV. von": an ordinal where the language writes them with stops.
  if (IsRoman(word)) return first ? false : language == "en" || starter;
  return true;
}

bool EndsUnseen(std::string_view language, std::string_view left,
                std::string_view right) {
  const UChar32 next = FirstCharacter(right);
  const UChar32 last = Last(left);
  if (last == '.' && BeginsWithNumber(right)) {
    return EndsBeforeNumber(language, left);
  }
  if (last == '.' && u_islower(next)) return EndsWithWord(language, left);
  if (last == 0x2026 && u_isupper(next)) return true;  // "Well… He went."
  if (IsMark(last) && u_charType(next) == U_DASH_PUNCTUATION) {
    return GoesOnLarge(right);
  }
  if (language == "th") return EndsWithThaiParticle(left);
  if (IsQuote(last) && IsQuote(next)) {
    std::string_view core = left;
    StripQuotesAtEnd(&core);
    return !core.empty() && IsMark(Last(core));
  }
  return EndsWithSmile(language, left, right);
}

}  // namespace trivium
