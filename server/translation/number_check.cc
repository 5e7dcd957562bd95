// Compare() pairs numbers in three rounds, and a later round sees only what the
// earlier ones leave:
//   1. numbers of equal value
//   2. parts of dates, times and numbers without groups, in any order, such as
//      "26.11.2026" and "November 26, 2026"
//   3. parts that the other text says in another way: hours by 12 apart, years
//      of two digits, words
// A number with group marks has no parts, so that "1,234" and the German
// "1,234" differ.
//
// A point between digits need not be a separator of a number: "Windows 3.1" is
// the same in German. So separators of a number with a point alone stay if the
// word before it is the same in both texts, or announces a section.
#include "server/translation/number_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "server/translation/characters.h"
#include "server/translation/number_words.h"

namespace trivium {
namespace {

constexpr size_t kLongestPart = 9;  // digits; longer ones are only compared
constexpr size_t kLeastName = 4;    // bytes of a name before a version

// A number, or a part of one.
struct Part {
  size_t number;  // index
  std::string digits;
  bool time;
  bool paired = false;

  std::optional<int> value() const {
    if (digits.size() > kLongestPart ||
        digits.find_first_not_of("0123456789") != digits.npos) {
      return std::nullopt;
    }
    return std::atoi(digits.c_str());
  }
};

std::string WithoutZeros(std::string_view digits) {
  return std::string(digits.substr(
      std::min(digits.find_first_not_of('0'), digits.size() - 1)));
}

std::vector<Part> PartsOf(std::string_view text,
                          const std::vector<WrittenNumber>& numbers,
                          const std::vector<bool>& paired) {
  std::vector<Part> parts;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (paired[i]) continue;
    const WrittenNumber& number = numbers[i];
    if (number.is_value() && (number.grouped || !number.fraction)) {
      parts.push_back({i, number.value, number.time});
      continue;
    }
    for (const TextSpan& run : number.runs) {
      parts.push_back({i, WithoutZeros(run.Of(text)), true});
    }
  }
  return parts;
}

bool IsOtherHour(int a, int b) {
  return a <= 24 && b <= 24 && std::abs(a - b) == 12;
}

bool IsShortYear(int a, int b) {
  if (a < b) std::swap(a, b);
  return a >= 1000 && a < 3000 && b >= 10 && b < 100 && a % 100 == b;
}

// "half past three" is "halb vier".
bool IsHalfHour(std::string_view source, std::string_view translation, int a,
                int b) {
  return std::abs(a - b) == 1 &&
         (source.find("halb ") != source.npos ||
          translation.find("halb ") != translation.npos);
}

template <typename Matches>
void Pair(std::vector<Part>* source, std::vector<Part>* translation,
          const Matches& matches) {
  for (Part& one : *source) {
    if (one.paired) continue;
    for (Part& other : *translation) {
      if (other.paired || !matches(one, other)) continue;
      one.paired = other.paired = true;
      break;
    }
  }
}

// Marks the parts that the other text says in words.
void PairWithWords(std::string_view other_text, std::string_view language,
                   std::vector<Part>* parts) {
  const bool left = std::any_of(parts->begin(), parts->end(),
                                [](const Part& one) { return !one.paired; });
  if (!left) return;
  const NumberWords& words = NumberWords::For(language);
  const std::set<int> said = words.SaidIn(other_text);
  for (Part& one : *parts) {
    const std::optional<int> value = one.value();
    if (!value) continue;
    // "9:00" is "9 Uhr".
    if (one.time && *value == 0) one.paired = true;
    if (said.contains(*value)) one.paired = true;
    constexpr int kMostSmall = 12;
    if (!words.known() && *value <= kMostSmall) one.paired = true;
  }
}

std::vector<size_t> Unpaired(const std::vector<Part>& parts) {
  std::set<size_t> numbers;
  for (const Part& part : parts) {
    if (!part.paired) numbers.insert(part.number);
  }
  return {numbers.begin(), numbers.end()};
}

// Returns the word directly before `at`, in lower case.
std::string WordBefore(std::string_view text, size_t at) {
  while (at > 0 && text[at - 1] == ' ') --at;
  size_t begin = at;
  while (begin > 0) {
    const size_t size = LastCharacterSize(text.substr(0, begin));
    if (!u_isalpha(FirstCharacter(text.substr(begin - size)))) break;
    begin -= size;
  }
  std::string word;
  for (std::string_view rest = text.substr(begin, at - begin); !rest.empty();
       rest.remove_prefix(FirstCodePoint(rest).size)) {
    AppendUtf8(u_tolower(FirstCharacter(rest)), &word);
  }
  return word;
}

bool AnnouncesSection(std::string_view word) {
  static const auto* const kWords = new std::set<std::string_view>{
      "appendix", "article", "chapter", "clause",  "figure", "paragraph",
      "part",     "release", "section", "version", "step",   "table"};
  return kWords->contains(word);
}

// Returns the number with a plain space for each kind of space.
std::string WithPlainSpaces(std::string number) {
  for (const std::string_view space : {"\u00A0", "\u202F", "\u2009"}) {
    for (size_t at = number.find(space); at != number.npos;
         at = number.find(space, at)) {
      number.replace(at, space.size(), " ");
    }
  }
  return number;
}

// True if the number has the style's separators.
bool IsWrittenAs(const NumberStyle& style, std::string_view text,
                 const WrittenNumber& number) {
  return WithPlainSpaces(WriteNumber(text, number, style)) ==
         WithPlainSpaces(std::string(number.span.Of(text)));
}

// Returns a number that is no value with the separator that `style` has there:
// "17.45 Uhr" is 17:45, and the German "4:41,30" has a fraction of seconds.
// Others stay as they are.
std::string WithoutCommas(std::string_view text, const WrittenNumber& number,
                          const NumberStyle& style) {
  if (!number.time || number.runs.size() != 2) {
    return std::string(number.span.Of(text));
  }
  const size_t begin = number.span.begin;
  const bool seconds = begin > 0 && text[begin - 1] == ':';
  return fmt::format("{}{}{}", number.runs[0].Of(text),
                     seconds ? style.point : ":", number.runs[1].Of(text));
}

// A time of day in a text.
struct ClockTime {
  TextSpan hour;
  int value = 0;             // the hour
  std::string minutes = {};  // empty for a whole hour
  size_t end = 0;            // after the minutes
  bool sure = false;         // WrittenNumber::time
};

// Returns the times and other numbers that may be one.
std::vector<ClockTime> ClockTimesIn(std::string_view text,
                                    const std::vector<WrittenNumber>& numbers) {
  std::vector<ClockTime> times;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const WrittenNumber& number = numbers[i];
    if (number.runs.size() > 2 || number.grouped) continue;
    ClockTime time = {
        .hour = number.runs[0], .end = number.span.end, .sure = number.time};
    if (number.runs[0].end - number.runs[0].begin > 2) continue;
    time.value = std::atoi(std::string(time.hour.Of(text)).c_str());
    if (number.runs.size() == 2) time.minutes = number.runs[1].Of(text);
    const bool minutes = i + 1 < numbers.size() && text[time.end] == ':' &&
                         numbers[i + 1].span.begin == time.end + 1;
    if (minutes) {
      ++i;
      time.minutes = DigitsOf(text, numbers[i]);
      time.end = numbers[i].span.end;
    }
    if (time.minutes == "00") time.minutes.clear();
    times.push_back(std::move(time));
  }
  return times;
}

// Returns the beginning of the text at `at`, after a space, in lower case.
std::string Following(std::string_view text, size_t at, size_t bytes) {
  if (at < text.size() && text[at] == ' ') ++at;
  return absl::AsciiStrToLower(
      std::string(text.substr(std::min(at, text.size()), bytes)));
}

bool IsAfternoon(std::string_view text, const ClockTime& time) {
  const std::string mark = Following(text, time.end, 3);
  return time.value >= 1 && time.value < 12 &&
         (mark == "p.m" || (mark.starts_with("pm") &&
                            (mark.size() == 2 || !u_isalpha(mark[2]))));
}

// True if the German text counts the hours of this time to 24.
bool CountsTo24(std::string_view text, const ClockTime& time) {
  constexpr size_t kLookAhead = 24;  // bytes
  const std::string following = Following(text, time.end, kLookAhead);
  if (!following.starts_with("uhr")) return false;
  for (const char* const part : {"mittag", "abend", "nacht"}) {
    if (following.find(part) != following.npos) return false;
  }
  return true;
}

bool IsFrom13(const ClockTime& time) {
  return time.sure && time.value > 12 && time.value < 24;
}

// True if the English text says in which half of the day this time is.
bool SaysHalfOfDay(std::string_view text, const ClockTime& time) {
  constexpr size_t kLookAhead = 24;  // bytes
  const std::string following = Following(text, time.end, kLookAhead);
  for (const char* const mark :
       {"pm", "p.m", "am", "a.m", "noon", "evening", "night"}) {
    if (following.find(mark) != following.npos) return true;
  }
  return false;
}

// The number of single digits to change, add or leave out, to make `b` of `a`.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Longer numbers are not compared digit by digit.
constexpr size_t kMostDigits = 64;

bool AreSimilar(std::string_view a, std::string_view b) {
  const size_t size = std::max(a.size(), b.size());
  return size > 1 && size <= kMostDigits && 2 * Distance(a, b) <= size;
}

// Returns where the text has a word that is in none of the edits; npos:
// nowhere.
size_t FindUnedited(std::string_view text, std::string_view word,
                    const std::vector<TextEdit>& edits) {
  for (size_t at = text.find(word); at != text.npos;
       at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (at > 0 && absl::ascii_isalnum(text[at - 1])) continue;
    if (end < text.size() && u_isalnum(FirstCharacter(text.substr(end)))) {
      continue;
    }
    const bool edited =
        std::any_of(edits.begin(), edits.end(), [&](const TextEdit& edit) {
          return edit.span.begin < end && at < edit.span.end;
        });
    if (!edited) return at;
  }
  return text.npos;
}

void SortByPlace(std::vector<TextEdit>* edits) {
  std::sort(edits->begin(), edits->end(),
            [](const TextEdit& a, const TextEdit& b) {
              return a.span.begin < b.span.begin;
            });
}

}  // namespace

std::optional<NumberCheck> NumberCheck::For(std::string_view source,
                                            std::string_view target) {
  std::optional<NumberStyle> from = NumberStyle::For(source);
  std::optional<NumberStyle> to = NumberStyle::For(target);
  if (!from || !to) return std::nullopt;
  return NumberCheck(std::string(source), std::string(target), *std::move(from),
                     *std::move(to));
}

NumberCheck::Differences NumberCheck::Compare(
    std::string_view source, std::string_view translation) const {
  const std::vector<WrittenNumber> read = NumbersIn(source, source_style_);
  const std::vector<WrittenNumber> written =
      NumbersIn(translation, target_style_);
  std::vector<bool> found(read.size()), used(written.size());
  for (size_t i = 0; i < read.size(); ++i) {
    for (size_t j = 0; j < written.size() && !found[i]; ++j) {
      if (used[j] || !read[i].is_value() || read[i].value != written[j].value) {
        continue;
      }
      found[i] = used[j] = true;
    }
  }
  std::vector<Part> parts = PartsOf(source, read, found);
  std::vector<Part> others = PartsOf(translation, written, used);
  if (parts.empty() && others.empty()) return {};
  Pair(&parts, &others,
       [](const Part& a, const Part& b) { return a.digits == b.digits; });
  Pair(&parts, &others, [&](const Part& a, const Part& b) {
    const std::optional<int> x = a.value(), y = b.value();
    return x && y &&
           (((a.time || b.time) && IsOtherHour(*x, *y)) ||
            IsShortYear(*x, *y) || IsHalfHour(source, translation, *x, *y));
  });
  PairWithWords(translation, target_, &parts);
  PairWithWords(source, source_, &others);
  return {Unpaired(parts), Unpaired(others)};
}

std::vector<TextEdit> NumberCheck::SeparatorEdits(
    std::string_view source, std::string_view translation) const {
  std::vector<TextEdit> edits;
  const std::vector<WrittenNumber> read = NumbersIn(source, source_style_);
  const std::vector<WrittenNumber> written =
      NumbersIn(translation, target_style_);
  std::vector<bool> used(read.size());
  for (const WrittenNumber& number : written) {
    const std::string digits = DigitsOf(translation, number);
    for (size_t i = 0; i < read.size(); ++i) {
      const WrittenNumber& origin = read[i];
      if (used[i] || origin.runs.size() == 1 ||
          DigitsOf(source, origin) != digits) {
        continue;
      }
      used[i] = true;
      const std::string_view there = number.span.Of(translation);
      if (!origin.is_value() && !number.is_value()) {
        // A time, a date, a version or an address.
        std::string text = WithoutCommas(source, origin, target_style_);
        if (there.find(',') != there.npos && text != there) {
          edits.push_back({number.span, std::move(text)});
        }
        break;
      }
      const std::string word = WordBefore(source, origin.span.begin);
      const bool point = !origin.grouped && source_style_.point == ".";
      const bool section = point && AnnouncesSection(word);
      if (!section && origin.value == number.value &&
          origin.grouped == number.grouped &&
          IsWrittenAs(target_style_, translation, number)) {
        break;
      }
      // "at 10.15" is "um 10.15 Uhr".
      if (number.time && !origin.grouped) break;
      if (point && !section && word.size() >= kLeastName &&
          word == WordBefore(translation, number.span.begin)) {
        break;
      }
      std::string text = origin.is_value() && !section
                             ? WriteNumber(source, origin, target_style_)
                             : std::string(origin.span.Of(source));
      if (text != there) {
        edits.push_back({number.span, std::move(text)});
      }
      break;
    }
  }
  return edits;
}

void NumberCheck::AddHourEdits(std::string_view source,
                               std::string_view translation,
                               std::vector<TextEdit>* edits) const {
  const bool to_german = target_ == "de";
  if (!to_german && target_ != "en") return;
  std::vector<ClockTime> written =
      ClockTimesIn(translation, NumbersIn(translation, target_style_));
  for (const ClockTime& time :
       ClockTimesIn(source, NumbersIn(source, source_style_))) {
    if (to_german ? !IsAfternoon(source, time) : !IsFrom13(time)) {
      continue;
    }
    const int wrong = to_german ? time.value : time.value - 12;
    const int right = to_german ? time.value + 12 : time.value;
    const auto found =
        std::find_if(written.begin(), written.end(), [&](const auto& other) {
          return other.value == wrong && other.minutes == time.minutes &&
                 (to_german ? CountsTo24(translation, other)
                            : other.sure && !SaysHalfOfDay(translation, other));
        });
    if (found == written.end()) continue;
    const TextSpan hour = found->hour;
    written.erase(found);
    const bool edited =
        std::any_of(edits->begin(), edits->end(), [hour](const TextEdit& edit) {
          return edit.span.begin < hour.end && hour.begin < edit.span.end;
        });
    if (!edited) edits->push_back({hour, std::to_string(right)});
  }
}

std::vector<TextEdit> NumberCheck::DateEdits(
    std::string_view source, std::string_view translation) const {
  std::vector<TextEdit> edits;
  const std::vector<WrittenNumber> read = NumbersIn(source, source_style_);
  for (size_t i = 0; i + 2 < read.size(); ++i) {
    const TextSpan span = {read[i].span.begin, read[i + 2].span.end};
    const auto slash = [&](size_t left) {
      const size_t at = read[left].span.end;
      return source[at] == '/' && read[left + 1].span.begin == at + 1;
    };
    if (!slash(i) || !slash(i + 1)) continue;
    for (const char* const marks : {"./", ".-", "/.", "/-", "-.", "-/"}) {
      const std::string mixed = fmt::format(
          "{}{}{}{}{}", read[i].span.Of(source), marks[0],
          read[i + 1].span.Of(source), marks[1], read[i + 2].span.Of(source));
      const size_t at = FindUnedited(translation, mixed, edits);
      if (at == translation.npos) continue;
      edits.push_back({{at, at + mixed.size()}, std::string(span.Of(source))});
      break;
    }
    i += 2;
  }
  SortByPlace(&edits);
  return edits;
}

void NumberCheck::AddScoreEdits(std::string_view source,
                                std::string_view translation,
                                std::vector<TextEdit>* edits) const {
  constexpr std::string_view kMark = " Uhr";
  if (target_ != "de") return;
  const std::vector<WrittenNumber> read = NumbersIn(source, source_style_);
  for (size_t i = 0; i + 1 < read.size(); ++i) {
    // The minutes of a time have two digits.
    const TextSpan first = read[i].span, second = read[i + 1].span;
    if (second.begin != first.end + 1 || source[first.end] != ':' ||
        second.end != second.begin + 1 || IsTimeMark(source, second.end)) {
      continue;
    }
    const std::string wrong =
        std::string(source.substr(first.begin, second.end - first.begin)) +
        std::string(kMark);
    const size_t at = FindUnedited(translation, wrong, *edits);
    if (at == translation.npos) continue;
    const size_t end = at + wrong.size();
    edits->push_back({{end - kMark.size(), end}, ""});
  }
}

std::vector<TextEdit> NumberCheck::Corrections(
    std::string_view source, std::string_view translation) const {
  // These part numbers, so they stand alone.
  if (std::vector<TextEdit> dates = DateEdits(source, translation);
      !dates.empty()) {
    return dates;
  }
  std::vector<TextEdit> edits = SeparatorEdits(source, translation);
  AddHourEdits(source, translation, &edits);
  AddScoreEdits(source, translation, &edits);
  SortByPlace(&edits);
  const Differences differences =
      Compare(source, EditedText(std::string(translation), edits).text());
  if (differences.missing.empty() ||
      differences.missing.size() != differences.added.size()) {
    return edits;
  }
  // Edits join and part no numbers, so these keep their indices.
  const std::vector<WrittenNumber> read = NumbersIn(source, source_style_);
  const std::vector<WrittenNumber> written =
      NumbersIn(translation, target_style_);
  for (size_t i = 0; i < differences.missing.size(); ++i) {
    if (differences.added[i] >= written.size()) return edits;
    const WrittenNumber& origin = read[differences.missing[i]];
    const WrittenNumber& number = written[differences.added[i]];
    if (!AreSimilar(DigitsOf(source, origin), DigitsOf(translation, number))) {
      continue;
    }
    std::erase_if(
        edits, [&](const TextEdit& edit) { return edit.span == number.span; });
    edits.push_back(
        {number.span, origin.is_value()
                          ? WriteNumber(source, origin, target_style_)
                          : std::string(origin.span.Of(source))});
  }
  SortByPlace(&edits);
  return edits;
}

std::string NumberCheck::Write(std::string_view number) const {
  std::vector<TextEdit> edits;
  for (const WrittenNumber& one : NumbersIn(number, source_style_)) {
    if (one.is_value()) {
      edits.push_back({one.span, WriteNumber(number, one, target_style_)});
    }
  }
  return EditedText(std::string(number), edits).text();
}

}  // namespace trivium
