// A word is a run of letters, marks, digits and raised characters, with the
// invisible characters in it. "Dvořák's" and "Łódź-Nord" have a protected word
// each; the model reads the rest, and so knows that a name is in the genitive.
//
// Words of a run may have signs between them. Between words in Latin letters,
// these are a space or a hyphen, as in full names. Other scripts are no part of
// the sentence around them, so commas, quotes and the script's own signs may be
// in the run, too. What ends a sentence ends a run, except after an initial.
#include "server/translation/pipeline/unknown_letters_stage.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/pipeline/span_protection.h"

namespace trivium {
namespace {

constexpr size_t kMostWordBytes = 256;

bool IsMark(UChar32 c) { return (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0; }

bool IsOfWord(UChar32 c) {
  return u_isalnum(c) || IsMark(c) || u_charType(c) == U_FORMAT_CHAR ||
         IsRaised(static_cast<char32_t>(c));
}

bool IsLatin(UChar32 c) {
  UErrorCode error = U_ZERO_ERROR;
  return uscript_getScript(c, &error) == USCRIPT_LATIN;
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
}

// True for signs that belong to some scripts, such as "、" and "؟", and are no
// symbols.
bool IsScriptSign(UChar32 c) {
  return c >= 0x300 && (c < 0x2000 || c >= 0x2E80) && c < 0xFFF0 &&
         u_ispunct(c);
}

// A word that is protected.
struct Word {
  TextSpan span;
  bool latin = false;
  bool initial = false;  // a single letter
};

Word WordAt(std::string_view text, TextSpan span) {
  Word word = {span, true, false};
  size_t letters = 0;
  for (size_t at = span.begin; at < span.end;) {
    const UChar32 c = FirstCharacter(text.substr(at));
    if (u_isalpha(c)) {
      ++letters;
      word.latin = word.latin && IsLatin(c);
    } else if (u_isalnum(c) && c >= 0x80) {
      word.latin = false;
    }
    at += FirstCodePoint(text.substr(at)).size;
  }
  word.initial = letters == 1;
  return word;
}

// Returns what to protect of a word with raised characters: all of it, or only
// the raised characters at its end if as many letters stand before them as a
// word of the language has.
TextSpan RaisedPart(std::string_view text, TextSpan word) {
  constexpr int kWordLetters = 4;
  int letters = 0;
  size_t raised = word.begin;  // where the raised end begins
  for (size_t at = word.begin; at < word.end;) {
    const CodePoint c = FirstCodePoint(text.substr(at));
    at += c.size;
    if (IsRaised(c.value)) continue;
    raised = at;
    if (u_isalpha(static_cast<UChar32>(c.value))) ++letters;
  }
  if (letters < kWordLetters || raised == word.end) return word;
  return {raised, word.end};
}

// True if two words with `between` between them are one run.
bool IsRun(const Word& left, const Word& right, std::string_view between) {
  constexpr size_t kMostBytes = 16;
  if (between.size() > kMostBytes) return false;
  if (left.latin || right.latin) {
    return left.latin == right.latin && (between == " " || between == "-");
  }
  constexpr std::string_view kSigns = " ,;:'\"()-/&";
  for (size_t at = 0; at < between.size();) {
    const UChar32 c = FirstCharacter(between.substr(at));
    const bool joins =
        c < 0x80 ? kSigns.find(static_cast<char>(c)) != kSigns.npos ||
                       (c == '.' && at == 0 && left.initial)
                 : IsScriptSign(c) || c == 0xB7 || c == 0xA0 ||
                       (c >= 0x2010 && c <= 0x201F) || c == 0x2039 ||
                       c == 0x203A || c == 0xAB || c == 0xBB || c == 0x3000;
    if (!joins) return false;
    at += FirstCodePoint(between.substr(at)).size;
  }
  return true;
}

}  // namespace

bool UnknownLettersStage::Knows(char32_t c) const {
  return std::all_of(models_.begin(), models_.end(),
                     [c](const auto& model) { return model->Knows(c); });
}

bool UnknownLettersStage::KnowsWord(std::string_view word) const {
  return std::all_of(models_.begin(), models_.end(), [word](const auto& model) {
    return model->KnowsWord(word);
  });
}

bool UnknownLettersStage::IsOfTarget(std::string_view word) const {
  if (target_letters_ == nullptr || !u_isupper(FirstCharacter(word))) {
    return false;
  }
  constexpr int kLeastLetters = 3;  // "Äh" and "Hü" are no names
  bool found = false;
  int letters = 0;
  for (size_t at = 0; at < word.size(); ++letters) {
    const CodePoint c = FirstCodePoint(word.substr(at));
    if (!u_isalpha(static_cast<UChar32>(c.value))) return false;
    found = found || target_letters_->Contains(c.value);
    at += c.size;
  }
  return found && letters >= kLeastLetters;
}

size_t UnknownLettersStage::EndOfName(std::string_view text, size_t end) const {
  constexpr int kMostWords = 2;
  constexpr size_t kLeastBytes = 3;
  for (int i = 0; i < kMostWords; ++i) {
    const size_t begin = end + 1;
    if (begin >= text.size() || text[end] != ' ' ||
        !u_isupper(FirstCharacter(text.substr(begin)))) {
      break;
    }
    size_t at = begin + FirstCodePoint(text.substr(begin)).size;
    while (at < text.size() && u_islower(FirstCharacter(text.substr(at)))) {
      at += FirstCodePoint(text.substr(at)).size;
    }
    const std::string_view word = text.substr(begin, at - begin);
    // Words in capitals, and what goes on with a hyphen, are no names.
    const UChar32 next = at < text.size() ? FirstCharacter(text.substr(at)) : 0;
    if (word.size() < kLeastBytes || word.size() > kMostWordBytes ||
        u_isalnum(next) || next == '-' ||
        std::any_of(models_.begin(), models_.end(),
                    [&](const auto& model) { return model->IsPiece(word); })) {
      break;
    }
    end = at;
  }
  return end;
}

std::vector<TextSpan> UnknownLettersStage::Find(std::string_view text) const {
  std::vector<Word> words;
  size_t begin = 0;  // of the current word
  bool ascii = true, unknown = false, raised = false;
  const auto end_word = [&](size_t end) {
    // The whole word decides: a letter and its mark may be known as one letter,
    // and some vocabularies have words instead of letters.
    // Of a script without spaces, a beginning suffices.
    const std::string_view word = text.substr(begin, end - begin);
    if ((unknown && !KnowsWord(word.substr(
                        0, WholeSize(word.substr(0, kMostWordBytes))))) ||
        (!ascii && IsOfTarget(word))) {
      words.push_back(WordAt(text, {begin, end}));
    } else if (raised) {
      words.push_back(WordAt(text, RaisedPart(text, {begin, end})));
    }
    ascii = true;
    unknown = raised = false;
  };
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint c = FirstCodePoint(text.substr(at));
    const auto value = static_cast<UChar32>(c.value);
    if (!IsOfWord(value)) {
      end_word(at);
      begin = at + c.size;
    } else if (value >= 0x80) {
      ascii = false;
      const bool lacks = u_charType(value) != U_FORMAT_CHAR && !Knows(c.value);
      unknown |= lacks;
      raised |= lacks && IsRaised(c.value);
    }
    at += c.size;
  }
  end_word(at);
  // The signs of a script go with its words.
  std::vector<TextSpan> runs;
  for (size_t i = 0; i < words.size(); ++i) {
    TextSpan span = words[i].span;
    for (; i + 1 < words.size(); ++i) {
      const TextSpan between = {span.end, words[i + 1].span.begin};
      if (!IsRun(words[i], words[i + 1], between.Of(text))) break;
      span.end = words[i + 1].span.end;
    }
    if (words[i].latin && u_isupper(FirstCharacter(text.substr(span.begin)))) {
      const size_t end = EndOfName(text, span.end);
      // The next word is found by itself, too.
      while (i + 1 < words.size() && words[i + 1].span.begin < end) ++i;
      span.end = std::max(end, words[i].span.end);
    }
    while (!words[i].latin && span.end < text.size() &&
           IsScriptSign(FirstCharacter(text.substr(span.end)))) {
      span.end += FirstCodePoint(text.substr(span.end)).size;
    }
    runs.push_back(span);
  }
  return runs;
}

absl::Status UnknownLettersStage::Open(TranslationJob* job) const {
  const std::string_view text = job->text.text;
  if (!job->prefix.empty() || IsAscii(text)) return absl::OkStatus();
  const std::vector<TextSpan> found = Find(text);
  if (found.empty()) return absl::OkStatus();
  AddProtectedSpans(found, job);
  job->text_stages.insert(TextStage::kUnknownLetters);
  return absl::OkStatus();
}

}  // namespace trivium
