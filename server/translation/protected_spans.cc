// Most kinds are RE2 patterns (protected_patterns.h). Arguments of ICU messages
// nest, which no regular expression can match, so AddArguments finds them by
// counting braces.
//
// RE2 finds one match in linear time. But finding all matches of `a[^b]*b|a` in
// a row of a's takes quadratic time. And if its automaton needs too many
// states, RE2 spends time on each instruction at each byte. So a caller's
// pattern is matched in windows, and Find gives up after a maximum number of
// searches or amount of CPU time.
#include "server/translation/protected_spans.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "server/translation/characters.h"
#include "server/translation/protected_patterns.h"

namespace trivium {
namespace {

using re2::RE2;
using re2::StringPiece;

// Maximum memory of a pattern in bytes, compiled and while it runs.
constexpr int64_t kPatternMemory = 1 << 20;

// Window of a kind's pattern in bytes. It is larger than a caller's pattern's,
// since the kinds' patterns take linear time.
constexpr size_t kKindWindow = 64 << 10;

RE2::Options Quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  return options;
}

// Maximum CPU time of all caller's patterns in a text, and the extra time for
// each of its bytes. This is a hundred times what they usually need.
constexpr absl::Duration kMostTime = absl::Milliseconds(100);
constexpr absl::Duration kMostTimeOfByte = absl::Microseconds(1);

// Returns the CPU time that this thread has used so far.
absl::Duration ThreadTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

// Adds all matches of a pattern's group, from left to right. Each search sees
// 2 * `window` bytes and accepts a match that begins in their first half; at
// the text's end, it accepts any match.
absl::Status AddMatches(std::string_view text, const RE2& pattern, int group,
                        size_t window, const AliveCheck& check_alive,
                        std::vector<TextSpan>* out) {
  const StringPiece whole(text.data(), text.size());
  StringPiece found[2];
  for (size_t at = 0; at <= text.size();) {
    TRIVIUM_RETURN_IF_ERROR(check_alive());
    const size_t rest = text.size() - at;
    const size_t end = rest / 2 < window ? text.size() : at + 2 * window;
    if (!pattern.Match(whole, at, end, RE2::UNANCHORED, found, group + 1)) {
      if (end == text.size()) break;
      at += window;
      continue;
    }
    const auto whole_begin = static_cast<size_t>(found[0].data() - text.data());
    if (end < text.size() && whole_begin >= at + window) {
      at = whole_begin;  // it may be longer
      continue;
    }
    const StringPiece& match = found[group];
    const auto begin = static_cast<size_t>(match.data() - text.data());
    const size_t match_end = begin + match.size();
    if (!match.empty()) out->push_back({begin, match_end});
    // An empty match is no span; the search goes on one character later.
    at = match.empty() && match_end < text.size()
             ? match_end + FirstCodePoint(text.substr(match_end)).size
             : match_end + (match.empty() ? 1 : 0);
  }
  return absl::OkStatus();
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns the line before `at`, or the last bytes of a long one.
std::string_view LineBefore(std::string_view text, size_t at) {
  constexpr size_t kMostBytes = 256;
  std::string_view head = text.substr(0, at);
  head.remove_prefix(head.size() - std::min(head.size(), kMostBytes));
  const size_t end = head.rfind('\n');
  return end == head.npos ? head : head.substr(end + 1);
}

// True if the '%' is a percent sign, as in "100%sure", and not a conversion: it
// follows a digit, and the word goes on after the span.
bool IsPercentSign(std::string_view text, TextSpan span) {
  return span.begin > 0 && IsDigit(text[span.begin - 1]) &&
         text[span.end - 1] != '%' && span.end < text.size() &&
         u_isalpha(FirstCharacter(text.substr(span.end)));
}

// True for "[APPLAUSE]" at the beginning of a line, which people read: a field
// in capitals stands in a sentence, or has an underscore.
bool IsStageDirection(std::string_view text, TextSpan span) {
  const std::string_view found = span.Of(text);
  if (found.size() < 2 || found[0] != '[' || found[1] == '[' ||
      found.find('_') != found.npos) {
    return false;
  }
  const std::string_view before = LineBefore(text, span.begin);
  return std::none_of(before.begin(), before.end(), absl::ascii_islower);
}

// True for the ":innen" of "Café:innen": RE2 knows no letters but ASCII's.
bool IsRestOfWord(std::string_view text, TextSpan span) {
  const std::string_view before = text.substr(0, span.begin);
  return text[span.begin] == ':' && !before.empty() &&
         u_isalpha(FirstCharacter(
             before.substr(before.size() - LastCharacterSize(before))));
}

// True if the mark of inches at the end of the span ends a quotation.
bool EndsQuotation(std::string_view text, TextSpan span) {
  if (text[span.end - 1] != '"') return false;
  bool open = false;
  const std::string_view before = LineBefore(text, span.begin);
  for (size_t i = 0; i < before.size(); ++i) {
    const bool inches = !open && i > 0 && IsDigit(before[i - 1]);
    if (before[i] == '"' && !inches) open = !open;
  }
  return open;
}

// True for an argument whose words depend on a value, or that is formatted.
bool IsChoice(std::string_view argument) {
  static const RE2 pattern(
      R"(\{\s*[\w.]+\s*,\s*(?:plural|select|selectordinal|choice|number|)"
      R"(date|time|duration|spellout|ordinal)\s*[,}])");
  return pattern.Match(StringPiece(argument.data(), argument.size()), 0,
                       argument.size(), RE2::ANCHOR_START, nullptr, 0);
}

// True if a match of the kind's pattern is something else.
bool IsNoSpan(ProtectedKind kind, std::string_view text, TextSpan span) {
  switch (kind) {
    case ProtectedKind::kPrintf:
      return IsPercentSign(text, span);
    case ProtectedKind::kField:
      return IsStageDirection(text, span) || IsRestOfWord(text, span);
    case ProtectedKind::kMeasure:
      return EndsQuotation(text, span);
    default:
      return false;
  }
}

// Returns the end of the text that the apostrophe at `at` quotes.
size_t EndOfQuoted(std::string_view text, size_t at) {
  const size_t end = text.find('\'', at + 1);
  return end == std::string_view::npos ? text.size() : end + 1;
}

// True if an apostrophe at `at` quotes a brace.
bool IsQuote(std::string_view text, size_t at) {
  return text[at] == '\'' && at + 1 < text.size() &&
         (text[at + 1] == '{' || text[at + 1] == '}');
}

// Adds the arguments of ICU's MessageFormat, including nested ones, and quoted
// text. A brace without partner is text.
void AddArguments(std::string_view text, std::vector<TextSpan>* out) {
  std::vector<size_t> open;
  for (size_t at = 0; at < text.size(); ++at) {
    if (IsQuote(text, at)) {
      const size_t end = EndOfQuoted(text, at);
      out->push_back({at, end});
      at = end - 1;
    } else if (text[at] == '{') {
      open.push_back(at);
    } else if (text[at] == '}' && !open.empty()) {
      out->push_back({open.back(), at + 1});
      open.pop_back();
    }
  }
}

// Returns the spans without those that overlap an earlier or, at the same
// begin, longer one. Adjacent spans are joined.
std::vector<TextSpan> Apart(std::vector<TextSpan> spans) {
  std::sort(spans.begin(), spans.end(), [](TextSpan a, TextSpan b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<TextSpan> apart;
  for (const TextSpan& span : spans) {
    if (apart.empty() || span.begin > apart.back().end) {
      apart.push_back(span);
    } else if (span.begin == apart.back().end) {
      apart.back().end = span.end;
    }
  }
  return apart;
}

bool HasLetters(std::string_view text) {
  while (!text.empty()) {
    if (u_isalpha(FirstCharacter(text))) return true;
    text.remove_prefix(FirstCodePoint(text).size);
  }
  return false;
}

}  // namespace

absl::StatusOr<ProtectedSpans> ProtectedSpans::Create(
    const std::vector<ProtectedKind>& kinds,
    const std::vector<std::string>& patterns) {
  ProtectedSpans result;
  result.kinds_ = kinds;
  for (size_t i = 0; i < patterns.size(); ++i) {
    auto pattern = std::make_shared<const RE2>(patterns[i], Quiet());
    if (!pattern->ok()) {
      return absl::InvalidArgumentError(
          fmt::format("patterns[{}]: {}", i, pattern->error()));
    }
    const int instructions = pattern->ProgramSize();
    if (instructions > kMostInstructions) {
      return absl::InvalidArgumentError(fmt::format(
          "patterns[{}]: has {} RE2 instructions, more than the maximum of {}; "
          "use smaller repetition counts or fewer character classes",
          i, instructions, kMostInstructions));
    }
    result.patterns_.push_back(std::move(pattern));
  }
  return result;
}

absl::StatusOr<std::vector<TextSpan>> ProtectedSpans::Find(
    std::string_view text, const AliveCheck& check_alive) const {
  std::vector<TextSpan> spans;
  for (const ProtectedKind kind : kinds_) {
    const auto of_kind = static_cast<ptrdiff_t>(spans.size());
    if (kind == ProtectedKind::kIcuMessage ||
        kind == ProtectedKind::kIcuChoice) {
      AddArguments(text, &spans);
      if (kind == ProtectedKind::kIcuMessage) continue;
      spans.erase(std::remove_if(spans.begin() + of_kind, spans.end(),
                                 [text](TextSpan span) {
                                   return !IsChoice(span.Of(text));
                                 }),
                  spans.end());
      continue;
    }
    TRIVIUM_RETURN_IF_ERROR(AddMatches(text, PatternOf(kind), /*group=*/1,
                                       kKindWindow, check_alive, &spans));
    spans.erase(std::remove_if(
                    spans.begin() + of_kind, spans.end(),
                    [&](TextSpan span) { return IsNoSpan(kind, text, span); }),
                spans.end());
  }
  absl::Duration left =
      kMostTime + static_cast<double>(text.size()) * kMostTimeOfByte;
  absl::Duration since = ThreadTime();
  for (size_t i = 0; i < patterns_.size(); ++i) {
    size_t searches = 0;
    const auto next = [&]() -> absl::Status {
      left -= ThreadTime() - since;
      if (left < absl::ZeroDuration()) {
        return absl::InvalidArgumentError(fmt::format(
            "patterns[{}]: takes too long in a text of {} bytes; use smaller "
            "repetition counts or fewer patterns",
            i, text.size()));
      }
      if (++searches > kMostMatches) {
        return absl::InvalidArgumentError(fmt::format(
            "patterns[{}]: matches more than {} times in a text, counting "
            "empty matches; send the text in parts",
            i, kMostMatches));
      }
      const absl::Status status = check_alive();
      since = ThreadTime();  // this thread may do other work meanwhile
      return status;
    };
    TRIVIUM_RETURN_IF_ERROR(AddMatches(text, *patterns_[i], /*group=*/0,
                                       kLongestMatch, next, &spans));
  }
  return Apart(std::move(spans));
}

std::vector<TextSpan> JoinAtSpans(const std::vector<TextSpan>& sentences,
                                  const std::vector<TextSpan>& spans) {
  std::vector<TextSpan> joined;
  auto span = spans.begin();
  for (TextSpan sentence : sentences) {
    // A span that extended the last sentence may reach into this one.
    if (!joined.empty() && joined.back().end > sentence.begin) {
      joined.back().end = std::max(joined.back().end, sentence.end);
    } else {
      joined.push_back(sentence);
    }
    TextSpan& last = joined.back();
    while (span != spans.end() && span->end <= last.begin) ++span;
    for (; span != spans.end() && span->begin < last.end; ++span) {
      last.begin = std::min(last.begin, span->begin);
      last.end = std::max(last.end, span->end);
    }
  }
  return joined;
}

std::vector<TextSpan> WordsBetween(std::string_view text, TextSpan span,
                                   const std::vector<TextSpan>& inner) {
  std::vector<TextSpan> words;
  const auto add = [&](size_t begin, size_t end) {
    const TextSpan piece = WithoutWhiteSpace(text, {begin, end});
    if (HasLetters(piece.Of(text))) words.push_back(piece);
  };
  size_t begin = span.begin;
  for (const TextSpan& one : inner) {
    add(begin, one.begin);
    begin = one.end;
  }
  add(begin, span.end);
  return words;
}

}  // namespace trivium
