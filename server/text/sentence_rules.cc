// Invariants: a border is only taken back, never moved; what is unknown ends a
// sentence, as Unicode's rules (UAX #29) say, which also keep a full stop
// before a small letter within its sentence.
#include "server/text/sentence_rules.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "server/text/abbreviations.h"
#include "server/text/characters.h"

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

}  // namespace

bool EndsSentence(std::string_view language, std::string_view left,
                  std::string_view right) {
  std::string_view core = left;
  StripQuotesAtEnd(&core);
  StripQuotesAtBegin(&right);
  if (core.empty()) return false;
  const bool quoted = core.size() < left.size();
  const bool small = !right.empty() && u_islower(FirstCharacter(right));
  // "Really?" she asked.
  if (quoted && small) return false;
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

bool EndsBeforeNumber(std::string_view language, std::string_view left) {
  if (left.empty() || left.back() != '.') return false;
  left.remove_suffix(1);
  const std::string_view word = LastWord(left);
  return Characters(word) > 3 && word.size() < left.size() &&
         All(word, IsLetter) && u_islower(Last(word)) &&
         FindAbbreviation(language, word) == Abbreviation::kNone;
}

}  // namespace trivium
