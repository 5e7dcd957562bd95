// Splits line by line: a line break always ends a sentence, and the rules see
// no more than one line. In a line, candidates are ICU's borders and the places
// after spaces. From left to right, each candidate is judged by the text since
// the last accepted border and by the rest of the line:
//
//   ICU sees a border      it stands if EndsSentence agrees
//   only a space is there  it stands if MayEndWithoutBorder and EndsSentence
//   agree
//
// So a border depends on those before it: after "1." at the beginning of a
// sentence, for example, no sentence ends.
//
// A sentence that is too long is cut by ClauseBorder. It rates every place in
// one pass, and asks ICU's dictionaries only if no place follows a mark or is
// at white space.
#include "server/translation/sentences.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include <algorithm>
#include <memory>

#include "base/status.h"
#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/language_code.h"
#include "server/translation/sentence_rules.h"

namespace trivium {
namespace {

bool IsSpace(std::string_view text) {
  return u_isUWhiteSpace(FirstCharacter(text));
}

// True for the line breaks of UAX #29's ParaSep.
bool IsLineBreak(std::string_view text) {
  const UChar32 c = FirstCharacter(text);
  return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

// The bytes of a line that are read between two calls of check_alive.
constexpr size_t kAskBytes = 64 << 10;

// Languages whose abbreviations abbreviations.cc covers. For some of the
// others, ICU has a list.
bool HasOwnTables(std::string_view language) {
  return language == "en" || language == "de" || language.empty();
}

}  // namespace

TextSpan WithoutWhiteSpace(std::string_view text, TextSpan span) {
  while (span.begin < span.end && IsSpace(span.Of(text))) {
    span.begin += FirstCodePoint(span.Of(text)).size;
  }
  while (span.begin < span.end) {
    const size_t size = LastCharacterSize(span.Of(text));
    if (!IsSpace(text.substr(span.end - size, size))) break;
    span.end -= size;
  }
  return span;
}

// Finds the sentences of a text, line by line. ICU's iterators are not
// thread-safe, so each call of Split creates its own.
class SentenceSplitter::Lines {
 public:
  static absl::StatusOr<Lines> Create(const std::string& language) {
    UErrorCode error = U_ZERO_ERROR;
    icu::Locale locale(language.c_str());
    if (!HasOwnTables(language)) {
      locale.setKeywordValue("ss", "standard", error);
      error = U_ZERO_ERROR;
    }
    Lines lines(language);
    lines.borders_.reset(
        icu::BreakIterator::createSentenceInstance(locale, error));
    if (U_FAILURE(error)) {
      return absl::InternalError(
          std::string("ICU has no rules for sentences: ") + u_errorName(error));
    }
    return lines;
  }

  // Appends the sentences of text[begin, end), which has no line breaks.
  absl::Status Add(std::string_view text, size_t begin, size_t end,
                   const AliveCheck& check_alive, std::vector<TextSpan>* out) {
    TRIVIUM_RETURN_IF_ERROR(check_alive());
    const TextSpan line = WithoutWhiteSpace(text, {begin, end});
    if (line.begin == line.end) return absl::OkStatus();
    const std::string_view view = line.Of(text);
    TRIVIUM_RETURN_IF_ERROR(FindBorders(view));
    size_t first = 0;
    size_t asked = 0;
    auto seen = found_.begin();
    for (const size_t border : Candidates(view)) {
      if (border - asked > kAskBytes) {
        TRIVIUM_RETURN_IF_ERROR(check_alive());
        asked = border;
      }
      while (seen != found_.end() && *seen < border) ++seen;
      const bool is_seen = seen != found_.end() && *seen == border;
      if (border <= first) continue;
      const TextSpan left = WithoutWhiteSpace(view, {first, border});
      const TextSpan right = WithoutWhiteSpace(view, {border, view.size()});
      if (left.begin == left.end || right.begin == right.end) continue;
      if (!is_seen &&
          !MayEndWithoutBorder(language_, left.Of(view), right.Of(view))) {
        continue;
      }
      if (!EndsSentence(language_, left.Of(view), right.Of(view))) continue;
      out->push_back({line.begin + left.begin, line.begin + left.end});
      first = right.begin;
    }
    const TextSpan last = WithoutWhiteSpace(view, {first, view.size()});
    out->push_back({line.begin + last.begin, line.begin + last.end});
    return absl::OkStatus();
  }

 private:
  explicit Lines(const std::string& language) : language_(language) {}

  // Fills `found_` with ICU's borders of a line.
  absl::Status FindBorders(std::string_view line) {
    found_.clear();
    UErrorCode error = U_ZERO_ERROR;
    UText* const utext = utext_openUTF8(
        nullptr, line.data(), static_cast<int64_t>(line.size()), &error);
    borders_->setText(utext, error);
    if (U_SUCCESS(error)) {
      for (int32_t at = borders_->next(); at != icu::BreakIterator::DONE &&
                                          static_cast<size_t>(at) < line.size();
           at = borders_->next()) {
        found_.push_back(static_cast<size_t>(at));
      }
    }
    utext_close(utext);
    if (U_FAILURE(error)) {
      return absl::InternalError(std::string("ICU could not split a text: ") +
                                 u_errorName(error));
    }
    return absl::OkStatus();
  }

  // Returns the places where a sentence of the line may end: ICU's borders, and
  // those after a space. Of several spaces only the last one counts, so that
  // white space is read once.
  std::vector<size_t> Candidates(std::string_view line) const {
    std::vector<size_t> places = found_;
    for (size_t at = line.find(' '); at != line.npos;
         at = line.find(' ', at + 1)) {
      const std::string_view rest = line.substr(at + 1);
      if (!rest.empty() && !IsSpace(rest)) places.push_back(at + 1);
    }
    std::inplace_merge(places.begin(), places.begin() + found_.size(),
                       places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
  }

  std::string language_;
  std::unique_ptr<icu::BreakIterator> borders_;
  std::vector<size_t> found_;  // ICU's borders of the current line; ascending
};

SentenceSplitter::SentenceSplitter(std::string_view language)
    // ICU knows "eng_Latn" as "en".
    : language_(LanguageCode(language)) {}

absl::StatusOr<std::vector<TextSpan>> SentenceSplitter::Split(
    std::string_view text, const AliveCheck& check_alive) const {
  TRIVIUM_ASSIGN_OR_RETURN(Lines lines, Lines::Create(language_));
  std::vector<TextSpan> sentences;
  size_t begin = 0;
  for (size_t at = 0; at <= text.size();) {
    const std::string_view rest = text.substr(at);
    const size_t size = rest.empty() ? 1 : FirstCodePoint(rest).size;
    if (rest.empty() || IsLineBreak(rest)) {
      TRIVIUM_RETURN_IF_ERROR(
          lines.Add(text, begin, at, check_alive, &sentences));
      begin = at + size;
    }
    at += size;
  }
  return sentences;
}

namespace {

// Rates a place to cut between `left` and `right`; 0: between any two
// characters.
int Rank(std::string_view left, std::string_view right) {
  const UChar32 next = FirstCharacter(right);
  if (u_isUWhiteSpace(next)) {
    const UChar32 last =
        FirstCharacter(left.substr(left.size() - LastCharacterSize(left)));
    if (last == ';' || last == ':' || u_charType(last) == U_DASH_PUNCTUATION) {
      return 3;
    }
    return last == ',' || last == 0x60C ? 2 : 1;
  }
  const UChar32 last =
      FirstCharacter(left.substr(left.size() - LastCharacterSize(left)));
  if (last == 0xFF1B || last == 0xFF1A) return 3;                    // ；：
  if (last == 0xFF0C || last == 0x3001 || last == 0xFF64) return 2;  // ，、
  return 0;
}

// True if `at` is inside one of the spans, which ascend and do not overlap.
bool IsInside(const std::vector<TextSpan>& spans, size_t at) {
  const auto next = std::upper_bound(
      spans.begin(), spans.end(), at,
      [](size_t place, const TextSpan& span) { return place < span.end; });
  return next != spans.end() && next->begin < at;
}

// Returns the iterator's border that is nearest to the middle of the sentence
// and in none of `whole`; 0 if there is none. Looks only at some KiB around the
// middle, since dictionaries are slow.
size_t NearestBorder(icu::BreakIterator* borders, std::string_view sentence,
                     const std::vector<TextSpan>& whole) {
  constexpr size_t kMostBytes = 4 << 10;
  const size_t middle = sentence.size() / 2;
  const size_t reach = std::min(middle, kMostBytes / 2);
  size_t begin = middle - reach;
  while (begin > 0 && (sentence[begin] & 0xC0) == 0x80) --begin;
  const std::string_view window = sentence.substr(begin, 2 * reach);
  UErrorCode error = U_ZERO_ERROR;
  UText* const utext = utext_openUTF8(
      nullptr, window.data(), static_cast<int64_t>(window.size()), &error);
  borders->setText(utext, error);
  size_t best = 0, best_distance = sentence.size();
  // The window's ends are not borders of the text.
  for (int32_t i = U_SUCCESS(error) ? borders->next()
                                    : icu::BreakIterator::DONE;
       i != icu::BreakIterator::DONE && static_cast<size_t>(i) < window.size();
       i = borders->next()) {
    const size_t at = begin + i;
    const size_t distance = at < middle ? middle - at : at - middle;
    if (distance < best_distance && !IsInside(whole, at)) {
      best = at;
      best_distance = distance;
    }
  }
  utext_close(utext);
  return best;
}

// Returns a place to cut if no punctuation or white space offers one: between
// words, which ICU's dictionaries know for Thai, Chinese and others; else
// between characters as people see them (UAX #29); 0 if there is none.
size_t WordBorder(std::string_view sentence,
                  const std::vector<TextSpan>& whole) {
  for (const auto create : {&icu::BreakIterator::createWordInstance,
                            &icu::BreakIterator::createCharacterInstance}) {
    UErrorCode error = U_ZERO_ERROR;
    const std::unique_ptr<icu::BreakIterator> borders(
        create(icu::Locale::getRoot(), error));
    if (U_FAILURE(error)) continue;
    if (const size_t at = NearestBorder(borders.get(), sentence, whole)) {
      return at;
    }
  }
  return 0;
}

}  // namespace

bool HasLettersOrDigits(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(FirstCodePoint(text).size)) {
    if (u_isalnum(FirstCharacter(text))) return true;
  }
  return false;
}

size_t ClauseBorder(std::string_view sentence,
                    const std::vector<TextSpan>& whole) {
  const size_t middle = sentence.size() / 2;
  size_t best = 0;
  int best_rank = -1;
  size_t best_distance = 0;
  auto span = whole.begin();
  for (size_t at = FirstCodePoint(sentence).size; at < sentence.size();
       at += FirstCodePoint(sentence.substr(at)).size) {
    while (span != whole.end() && span->end <= at) ++span;
    if (span != whole.end() && span->begin < at) continue;
    int rank = Rank(sentence.substr(0, at), sentence.substr(at));
    const size_t distance = at < middle ? middle - at : at - middle;
    if (distance > sentence.size() / 4) rank = std::min(rank, 1);
    if (rank > best_rank || (rank == best_rank && distance < best_distance)) {
      best = at;
      best_rank = rank;
      best_distance = distance;
    }
  }
  if (best_rank == 0) {
    if (const size_t at = WordBorder(sentence, whole)) return at;
  }
  return best;
}

}  // namespace trivium
