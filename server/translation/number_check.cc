// Compare() pairs numbers in three rounds, and a later round sees only what the
// earlier ones leave:
//   1. numbers of equal value
//   2. parts of dates, times and numbers without groups, in any order, such as
//      "26.11.2026" and "November 26, 2026"
//   3. parts that the other text says in another way: hours by 12 apart, years
//      of two digits, words
// A number with group marks has no parts, so that "1,234" and the German
// "1,234" differ. A month in words stands for no number if both texts have it.
//
// Corrections() joins and parts numbers, so Repairs() looks at the text that
// they leave.
//
// A point between digits need not be a separator of a number: "Windows 3.1" is
// the same in German. So separators of a number with a point alone stay if the
// word before it is the same in both texts, or announces a section. They become
// the source's if it is a version: joined to a name, or behind a name that is
// the same in both texts.
#include "server/translation/number_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "server/translation/characters.h"
#include "server/translation/clock_times.h"
#include "server/translation/number_neighbours.h"
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
  bool whole_year = false;  // of a date such as 2026-11-26
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

// True for the year of "2026-11-26".
bool IsYearOfDate(std::string_view text, const WrittenNumber& number) {
  constexpr size_t kYearDigits = 4;
  const TextSpan span = number.span;
  return span.end - span.begin == kYearDigits && number.runs.size() == 1 &&
         span.end + 1 < text.size() && text[span.end] == '-' &&
         absl::ascii_isdigit(text[span.end + 1]);
}

// True if a date such as "3.4.2022" or "03/04/2022" ends at `end`.
bool EndsWithYear(std::string_view text, size_t end) {
  constexpr size_t kYearDigits = 4;
  size_t begin = end;
  while (begin > 0 && absl::ascii_isdigit(text[begin - 1])) --begin;
  return end - begin == kYearDigits && begin >= 2 &&
         (text[begin - 1] == '/' || text[begin - 1] == '.') &&
         absl::ascii_isdigit(text[begin - 2]);
}

std::vector<Part> PartsOf(std::string_view text,
                          const std::vector<WrittenNumber>& numbers,
                          const std::vector<bool>& paired) {
  std::vector<Part> parts;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (paired[i]) continue;
    const WrittenNumber& number = numbers[i];
    if (number.roman) {
      const std::optional<int> value = RomanValue(number.value);
      parts.push_back(
          {i, value ? std::to_string(*value) : number.value, false});
      continue;
    }
    if (number.is_value() && (number.grouped || !number.fraction)) {
      parts.push_back(
          {i, number.value, number.time, IsYearOfDate(text, number)});
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

// Marks the parts of `text` that the other text says in words.
void PairWithWords(std::string_view text, std::string_view language,
                   std::string_view other_text, std::string_view other_language,
                   std::vector<Part>* parts) {
  const bool left = std::any_of(parts->begin(), parts->end(),
                                [](const Part& one) { return !one.paired; });
  if (!left) return;
  const NumberWords& words = NumberWords::For(other_language);
  std::set<int> said = words.NumbersSaidIn(other_text);
  // The month of "4 to 7 July" is no seven.
  const std::set<int> own_months = NumberWords::For(language).MonthsIn(text);
  for (const int month : words.MonthsIn(other_text)) {
    if (!own_months.contains(month)) said.insert(month);
  }
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

// True if the number that ends at `at` counts what follows: "section 93.4 feet
// wide" names no section 93.4.
bool CountsUnit(std::string_view text, size_t at) {
  constexpr size_t kLookAhead = 16;  // bytes
  std::string_view rest = text.substr(at, kLookAhead);
  if (rest.starts_with("%")) return true;
  if (!rest.starts_with(" ")) return false;
  rest.remove_prefix(1);
  size_t end = 0;
  while (end < rest.size() && absl::ascii_isalpha(rest[end])) ++end;
  static const auto* const kUnits = new std::set<std::string_view>{
      "feet",    "foot",    "inches",  "miles",   "meters",  "metres", "km",
      "percent", "per",     "million", "billion", "hundred", "pounds", "euros",
      "dollars", "cents",   "years",   "hours",   "minutes", "tons",   "tonnes",
      "kg",      "degrees", "times",   "thousand"};
  return rest.starts_with("%") || kUnits->contains(rest.substr(0, end));
}

// Returns the letters before `end`, with the spaces or the sign between them:
// "iOS ", "GPT-", "doi:".
std::string_view NameBefore(std::string_view text, size_t end) {
  size_t begin = end;
  if (begin > 0 &&
      std::string_view("-/:").find(text[begin - 1]) != std::string_view::npos) {
    --begin;
  } else {
    while (begin > 0 && text[begin - 1] == ' ') --begin;
  }
  while (begin > 0 && absl::ascii_isalpha(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// True if a sentence that begins with a word and the number at `at` may begin
// with a name and its version: "Ubuntu 22.04 is out". Other words that are the
// same in two languages measure something.
bool BeginsWithVersion(std::string_view source, std::string_view word,
                       size_t at) {
  static const auto* const kMeasures = new std::set<std::string_view>{
      "Album", "Bonus", "Budget",  "Dollar",    "Euro",     "Factor",
      "Index", "Level", "Maximum", "Minimum",   "Minus",    "Normal",
      "Plus",  "Pound", "Rating",  "Inflation", "Standard", "Status",
      "Tempo", "Total", "Volume"};
  // No verb, as behind amounts.
  static const auto* const kOthers = new std::set<std::string_view>{
      "and", "or", "to", "in", "on", "of", "at", "by", "for", "from", "per"};
  const size_t end =
      std::min(source.find_first_not_of("0123456789.", at), source.size());
  constexpr size_t kMostWhole = 3, kMostFraction = 2;  // digits
  const std::string_view number = source.substr(at, end - at);
  const size_t point = number.find('.');
  const std::string_view next = source.substr(std::min(end + 1, source.size()));
  const bool goes_on =
      !next.empty() && source[end] == ' ' &&
      absl::ascii_islower(static_cast<unsigned char>(next[0])) &&
      !kOthers->contains(next.substr(0, next.find(' ')));
  return word.size() >= kLeastName && !kMeasures->contains(word) && goes_on &&
         point <= kMostWhole && number.size() - point - 1 <= kMostFraction;
}

// True if the number at `at` is a version: the translation, too, has it joined
// to the same name ("HTTP/1.1"), behind the same name in capitals ("iOS 17.4"),
// or behind one that has a capital within an English sentence ("with Web 2.0")
// or begins one.
bool IsVersion(std::string_view source, size_t at, std::string_view translation,
               size_t there) {
  const std::string_view name = NameBefore(source, at);
  const std::string_view written = NameBefore(translation, there);
  // At the begin of a sentence "iOS" may become "IOS".
  if (name.empty() || !absl::EqualsIgnoreCase(
                          absl::string_view(name.data(), name.size()),
                          absl::string_view(written.data(), written.size()))) {
    return false;
  }
  const std::string_view word = name.substr(0, name.find(' '));
  static const auto* const kCurrencies = new std::set<std::string_view>{
      "EUR", "USD", "GBP", "CHF", "JPY", "AUD", "CAD", "CNY", "SEK"};
  if (kCurrencies->contains(word)) return false;
  const auto is_upper = [](char c) {
    return absl::ascii_isupper(static_cast<unsigned char>(c));
  };
  if (word.size() == name.size()) return absl::ascii_isalpha(name[0]);
  if (std::count_if(word.begin(), word.end(), is_upper) >= 2) return true;
  const std::string_view before = source.substr(0, at - name.size());
  if (word.empty() || !is_upper(word[0])) return false;
  if (before.empty()) return BeginsWithVersion(source, word, at);
  return before.size() > 1 && before.ends_with(' ') &&
         absl::ascii_islower(before[before.size() - 2]);
}

bool AnnouncesSection(std::string_view word) {
  static const auto* const kWords = new std::set<std::string_view>{
      "appendix", "article", "chapter", "clause", "figure", "paragraph", "part",
      "release",  "section", "version", "step",   "table",  "room"};
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

bool Overlaps(TextSpan span, const std::vector<TextEdit>& edits) {
  return std::any_of(edits.begin(), edits.end(), [span](const TextEdit& edit) {
    return edit.span.begin < span.end && span.begin < edit.span.end;
  });
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
            (!a.whole_year && IsShortYear(*x, *y)) ||
            IsHalfHour(source, translation, *x, *y));
  });
  PairWithWords(source, source_, translation, target_, &parts);
  PairWithWords(translation, target_, source, source_, &others);
  Differences differences = {Unpaired(parts), Unpaired(others)};
  const auto is_in_source = [&](size_t i) {
    return written[i].is_value() &&
           std::any_of(read.begin(), read.end(), [&](const auto& one) {
             return one.value == written[i].value;
           });
  };
  differences.repeated = static_cast<size_t>(std::count_if(
      differences.added.begin(), differences.added.end(), is_in_source));
  return differences;
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
        // "1,5 km" in an English text has the point of a German one.
        const bool has_targets_point =
            origin.runs.size() == 2 &&
            TextSpan{origin.runs[0].end, origin.runs[1].begin}.Of(source) ==
                target_style_.point;
        if ((has_targets_point || there.find(',') != there.npos) &&
            text != there) {
          edits.push_back({number.span, std::move(text)});
        }
        break;
      }
      const std::string word = WordBefore(source, origin.span.begin);
      const bool point = !origin.grouped && source_style_.point == ".";
      const bool counts = point && CountsUnit(source, origin.span.end);
      const bool section = point && !counts && AnnouncesSection(word);
      const bool version =
          point && !counts && !section &&
          IsVersion(source, origin.span.begin, translation, number.span.begin);
      if (!section && !version && origin.value == number.value &&
          origin.grouped == number.grouped &&
          IsWrittenAs(target_style_, translation, number)) {
        break;
      }
      // "at 10.15" is "um 10.15 Uhr".
      if (number.time && !origin.grouped) break;
      if (point && !section && !version && word.size() >= kLeastName &&
          word == WordBefore(translation, number.span.begin)) {
        break;
      }
      std::string text = origin.is_value() && !section && !version
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
  for (const WrittenNumber& number : NumbersIn(translation, target_style_)) {
    const size_t end = number.span.end;
    if (EndsWithYear(translation, end) &&
        translation.substr(end).starts_with(kMark)) {
      edits->push_back({{end, end + kMark.size()}, ""});
    }
  }
  const std::vector<WrittenNumber> read = NumbersIn(source, source_style_);
  const auto joined = [&](size_t i) {  // by a colon to the next one
    const size_t end = read[i].span.end;
    return i + 1 < read.size() && source[end] == ':' &&
           read[i + 1].span.begin == end + 1;
  };
  for (size_t i = 0; i + 1 < read.size(); ++i) {
    if (!joined(i)) continue;
    const size_t begin = read[i].span.begin;
    // The minutes of a time have two digits, and few times have seconds.
    const bool duration = joined(i + 1);
    if (duration) ++i;
    const TextSpan last = read[i + 1].span;
    if ((!duration && last.end != last.begin + 1) ||
        IsTimeMark(source, last.end)) {
      continue;
    }
    const std::string wrong =
        std::string(source.substr(begin, last.end - begin)) +
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
  for (TextEdit& time :
       ClockTimeEdits(source, NumbersIn(source, source_style_), translation,
                      NumbersIn(translation, target_style_), target_)) {
    if (!Overlaps(time.span, edits)) edits.push_back(std::move(time));
  }
  AddScoreEdits(source, translation, &edits);
  SortByPlace(&edits);
  return edits;
}

std::vector<TextEdit> NumberCheck::Repairs(std::string_view source,
                                           std::string_view translation) const {
  std::vector<TextEdit> edits = WordEdits(source, translation);
  const Differences differences = Compare(source, translation);
  if (differences.missing.empty() ||
      differences.missing.size() != differences.added.size()) {
    return edits;
  }
  const std::vector<WrittenNumber> read = NumbersIn(source, source_style_);
  const std::vector<WrittenNumber> written =
      NumbersIn(translation, target_style_);
  for (size_t i = 0; i < differences.missing.size(); ++i) {
    const WrittenNumber& origin = read[differences.missing[i]];
    const WrittenNumber& number = written[differences.added[i]];
    if (origin.roman != number.roman ||
        !AreSimilar(DigitsOf(source, origin), DigitsOf(translation, number))) {
      continue;
    }
    edits.push_back(
        {number.span, origin.is_value()
                          ? WriteNumber(source, origin, target_style_)
                          : std::string(origin.span.Of(source))});
  }
  SortByPlace(&edits);
  return edits;
}

std::vector<TextEdit> NumberCheck::WordEdits(
    std::string_view source, std::string_view translation) const {
  constexpr int kLeast = 13;  // smaller ones are words in both languages
  std::vector<TextEdit> edits;
  const std::vector<WrittenNumber> read = NumbersIn(source, source_style_);
  std::set<std::string> written;
  for (const WrittenNumber& number : NumbersIn(translation, target_style_)) {
    written.insert(number.value);
  }
  std::optional<std::vector<NumberWords::Said>> said;
  std::set<int> said_by_source;
  for (const WrittenNumber& number : read) {
    const std::optional<int> value = Part{0, number.value, false}.value();
    if (number.roman || !value || *value < kLeast ||
        written.contains(number.value)) {
      continue;
    }
    if (!said) {
      said = NumberWords::For(target_).CardinalsIn(translation);
      said_by_source = NumberWords::For(source_).NumbersSaidIn(source);
    }
    const auto is_it = [&](const auto& one) { return one.value == *value; };
    const auto found = std::find_if(said->begin(), said->end(), is_it);
    if (found == said->end() || said_by_source.contains(*value)) continue;
    std::string text = WriteNumber(source, number, target_style_);
    if (found->age) text += '-';
    edits.push_back({found->span, std::move(text)});
    said->erase(found);
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
  std::string written = EditedText(std::string(number), edits).text();
  return edits.size() == 1 ? WithSignInPlace(std::move(written), target_)
                           : written;
}

std::vector<TextEdit> NumberCheck::Neighbours(
    std::string_view source, std::string_view translation) const {
  return NeighbourEdits({source, NumbersIn(source, source_style_)}, source_,
                        {translation, NumbersIn(translation, target_style_)},
                        target_);
}

std::vector<size_t> NumberCheck::LostCurrencies(
    std::string_view source, std::string_view translation) const {
  return WithoutCurrency({source, NumbersIn(source, source_style_)},
                         {translation, NumbersIn(translation, target_style_)});
}

}  // namespace trivium
