// A time of the source and one of the translation belong together if their
// minutes are equal and their hours are equal or 12 apart. Each is used once.
#include "server/translation/clock_times.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "server/translation/characters.h"

namespace trivium {
namespace {

constexpr size_t kLookAhead = 24;  // bytes behind a time that may say more

// A time of day in a text.
struct ClockTime {
  TextSpan hour;
  int value = 0;              // the hour
  std::string minutes = {};   // empty for a whole hour
  size_t end = 0;             // after the minutes
  bool sure = false;          // WrittenNumber::time
  bool with_minutes = false;  // written, "00" too
};

// Returns the times and other numbers that may be one.
std::vector<ClockTime> ClockTimesIn(std::string_view text,
                                    const std::vector<WrittenNumber>& numbers) {
  std::vector<ClockTime> times;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const WrittenNumber& number = numbers[i];
    if (number.runs.size() > 2 || number.grouped || number.roman) continue;
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
    time.with_minutes = !time.minutes.empty();
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

bool FollowedByOneOf(std::string_view text, const ClockTime& time,
                     std::initializer_list<std::string_view> words) {
  const std::string following = Following(text, time.end, kLookAhead);
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return following.find(word) != following.npos;
  });
}

// A mark such as "p.m." behind a time.
struct HalfMark {
  TextSpan span;  // with the space before it; empty: there is none
  bool afternoon = false;
};

HalfMark HalfMarkAt(std::string_view text, size_t at) {
  const size_t begin = at;
  if (at < text.size() && text[at] == ' ') ++at;
  for (const std::string_view known :
       {"p.m.", "a.m.", "p.m", "a.m", "pm", "am"}) {
    const std::string there =
        absl::AsciiStrToLower(std::string(text.substr(at, known.size())));
    size_t end = at + known.size();
    if (there != known ||
        (end < text.size() && u_isalnum(FirstCharacter(text.substr(end))))) {
      continue;
    }
    // "am" is German, too.
    if (known == "am" && text[at] == 'a' && begin != at) continue;
    // The last full stop ends the sentence, too.
    if (end == text.size() && known.ends_with('.')) --end;
    return {{begin, end}, known[0] == 'p'};
  }
  return {};
}

// True if an English text has "a.m." or "p.m." behind the time.
bool HasHalf(std::string_view text, const ClockTime& time, char half) {
  const std::string mark = Following(text, time.end, 3);
  return mark == std::string{half, '.', 'm'} ||
         (mark.starts_with(std::string{half, 'm'}) &&
          (mark.size() == 2 || !u_isalpha(mark[2])));
}

bool IsAfternoon(std::string_view text, const ClockTime& time) {
  return time.value >= 1 && time.value < 12 && HasHalf(text, time, 'p');
}

// True for "12:30 a.m.", which is the German 0:30.
bool IsAfterMidnight(std::string_view text, const ClockTime& time) {
  return time.value == 12 && HasHalf(text, time, 'a');
}

bool IsFrom13(const ClockTime& time) {
  return time.sure && time.value > 12 && time.value <= 24;
}

// True if the German text counts the hours of this time to 24, or may do so.
bool CountsTo24(std::string_view text, const ClockTime& time) {
  if (FollowedByOneOf(text, time, {"mittag", "abend", "nacht"})) return false;
  const std::string following = Following(text, time.end, kLookAhead);
  return following.starts_with("uhr") || time.with_minutes ||
         HalfMarkAt(text, time.end).span.end > 0;
}

// True if the English text says in which half of the day this time is.
bool SaysHalfOfDay(std::string_view text, const ClockTime& time) {
  return FollowedByOneOf(
      text, time, {"pm", "p.m", "am", "a.m", "noon", "evening", "night"});
}

// Finds the translation's time for one of the source, and takes it.
class Times {
 public:
  explicit Times(std::vector<ClockTime> times) : times_(std::move(times)) {}

  template <typename Matches>
  std::optional<ClockTime> Take(int hour, const std::string& minutes,
                                const Matches& matches) {
    const auto found =
        std::find_if(times_.begin(), times_.end(), [&](const auto& other) {
          return other.value == hour && other.minutes == minutes &&
                 matches(other);
        });
    if (found == times_.end()) return std::nullopt;
    ClockTime time = std::move(*found);
    times_.erase(found);
    return time;
  }

 private:
  std::vector<ClockTime> times_;
};

void AddGermanEdits(std::string_view source,
                    const std::vector<ClockTime>& source_times,
                    std::string_view translation, Times times,
                    std::vector<TextEdit>* edits) {
  const auto any = [](const ClockTime&) { return true; };
  for (const ClockTime& time : source_times) {
    if (!time.sure) continue;
    std::optional<ClockTime> other;
    if (IsAfternoon(source, time)) {
      other = times.Take(time.value, time.minutes, [&](const ClockTime& one) {
        return CountsTo24(translation, one);
      });
      if (other) {
        edits->push_back({other->hour, std::to_string(time.value + 12)});
      } else {
        other = times.Take(time.value + 12, time.minutes, any);
      }
    } else if (IsAfterMidnight(source, time)) {
      other = times.Take(time.value, time.minutes, [&](const ClockTime& one) {
        return CountsTo24(translation, one);
      });
      if (other) edits->push_back({other->hour, "0"});
    } else {
      other = times.Take(time.value, time.minutes, any);
    }
    if (!other) continue;
    const HalfMark mark = HalfMarkAt(translation, other->end);
    if (mark.span.end == 0) continue;
    const bool said = Following(translation, mark.span.end, 3) == "uhr";
    edits->push_back({mark.span, said ? "" : " Uhr"});
  }
}

void AddEnglishEdits(std::string_view source,
                     const std::vector<ClockTime>& source_times,
                     std::string_view translation, Times times,
                     std::vector<TextEdit>* edits) {
  for (const ClockTime& time : source_times) {
    if (!time.sure) continue;
    if (IsFrom13(time)) {
      const auto vague = [&](const ClockTime& one) {
        return one.sure && !SaysHalfOfDay(translation, one);
      };
      const auto marked = [&](const ClockTime& one) {
        return HalfMarkAt(translation, one.end).span.end > 0;
      };
      if (auto other = times.Take(time.value, time.minutes, marked)) {
        edits->push_back({HalfMarkAt(translation, other->end).span, ""});
      } else if (auto hour = times.Take(time.value - 12, time.minutes, vague)) {
        edits->push_back({hour->hour, std::to_string(time.value)});
      }
      continue;
    }
    const bool morning = FollowedByOneOf(
        source, time, {"uhr morgens", "uhr früh", "uhr vormittags"});
    const bool evening =
        FollowedByOneOf(source, time, {"uhr abends", "uhr nachmittags"});
    if (!morning && !evening) continue;
    const auto wrong = [&](const ClockTime& one) {
      const HalfMark mark = HalfMarkAt(translation, one.end);
      return mark.span.end > 0 && mark.afternoon == morning;
    };
    if (auto other = times.Take(time.value, time.minutes, wrong)) {
      const HalfMark mark = HalfMarkAt(translation, other->end);
      std::string text(mark.span.Of(translation));
      std::replace(text.begin(), text.end(), morning ? 'p' : 'a',
                   morning ? 'a' : 'p');
      edits->push_back({mark.span, std::move(text)});
    }
  }
}

}  // namespace

std::vector<TextEdit> ClockTimeEdits(
    std::string_view source, const std::vector<WrittenNumber>& source_numbers,
    std::string_view translation, const std::vector<WrittenNumber>& numbers,
    std::string_view target) {
  std::vector<TextEdit> edits;
  const std::vector<ClockTime> source_times =
      ClockTimesIn(source, source_numbers);
  Times times(ClockTimesIn(translation, numbers));
  if (target == "de") {
    AddGermanEdits(source, source_times, translation, std::move(times), &edits);
  } else if (target == "en") {
    AddEnglishEdits(source, source_times, translation, std::move(times),
                    &edits);
  }
  std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) {
    return a.span.begin < b.span.begin;
  });
  return edits;
}

}  // namespace trivium
