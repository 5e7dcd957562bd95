// Always:
// - Only expressions have a limit of time and can fail.
// - Matches are in bytes. ICU matches UTF-16, so `bytes` has the byte at which
//   each unit's character begins. Both units of a pair have the same.
// - A search is limited by the CPU time of its thread, so a busy machine
//   refuses no text. Time that the thread spends on other work in an
//   interruption is added to the limit.
// - An interrupted search ends with the same error as one that takes too long.
// - The compiled expression is shared by all threads. Each search has a matcher
//   of its own, because ICU's matchers are not thread-safe.
// - The words of GPT-2 cover the text without a gap.
#include "model/tokenizer/pattern.h"

#include <unicode/regex.h>
#include <unicode/utext.h>

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/cpu_time.h"
#include "fmt/format.h"
#include "model/tokenizer/interruption.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

ByteSpan Span(size_t begin, size_t end) {
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

class LiteralPattern : public Pattern {
 public:
  explicit LiteralPattern(std::string text) : text_(std::move(text)) {}

  absl::StatusOr<std::vector<ByteSpan>> Find(
      std::string_view text) const override {
    std::vector<ByteSpan> found;
    if (text_.empty()) return found;
    for (size_t at = text.find(text_); at != std::string_view::npos;
         at = text.find(text_, at + text_.size())) {
      found.push_back(Span(at, at + text_.size()));
    }
    return found;
  }

 private:
  const std::string text_;
};

// Written by hand: every text of the byte-level families passes through it, and
// it is ten times as fast as a matcher of expressions.
class Gpt2Pattern : public Pattern {
 public:
  absl::StatusOr<std::vector<ByteSpan>> Find(
      std::string_view text) const override {
    std::vector<ByteSpan> words;
    words.reserve(text.size() / 4);
    for (size_t at = 0; at < text.size();) {
      const size_t end = WordEnd(text, at);
      words.push_back(Span(at, end));
      at = end;
    }
    return words;
  }

 private:
  enum class Class { kLetter, kNumber, kSpace, kOther };

  static Class ClassOf(char32_t c) {
    if (IsLetter(c)) return Class::kLetter;
    if (IsNumber(c)) return Class::kNumber;
    if (IsWhiteSpace(c)) return Class::kSpace;
    return Class::kOther;
  }

  // Returns the end of the run of characters of one class that begins at `at`.
  // Sets `last` to the beginning of its last character.
  static size_t RunEnd(std::string_view text, size_t at, Class wanted,
                       size_t* last) {
    while (at < text.size()) {
      size_t next = at;
      if (ClassOf(NextCharacter(text, &next)) != wanted) break;
      *last = at;
      at = next;
    }
    return at;
  }

  static size_t WordEnd(std::string_view text, size_t at) {
    const std::string_view rest = text.substr(at, 3);
    for (const std::string_view ending :
         {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
      if (rest[0] == '\'' && rest.starts_with(ending)) {
        return at + ending.size();
      }
    }
    size_t last = at;
    size_t next = at;
    char32_t c = NextCharacter(text, &next);
    if (c == ' ' && next < text.size()) {
      size_t after = next;
      const Class behind = ClassOf(NextCharacter(text, &after));
      if (behind != Class::kSpace) return RunEnd(text, next, behind, &last);
    }
    const Class first = ClassOf(c);
    const size_t end = RunEnd(text, at, first, &last);
    // White space leaves its last character to the word after it.
    if (first == Class::kSpace && end < text.size() && last > at) return last;
    return end;
  }
};

// Ten times what the slowest published expression takes.
constexpr absl::Duration kSearchTime = absl::Milliseconds(200);
constexpr absl::Duration kSearchTimePerByte = absl::Microseconds(2);
// ICU's own limit, 8 MB, is reached by runs of 200,000 spaces.
constexpr int32_t kMostStack = 64 << 20;
// The longest published expression has 600 bytes.
constexpr size_t kMaxExpressionBytes = 4096;

// The limit of a search; ICU asks it now and then whether to continue.
class SearchLimit {
 public:
  explicit SearchLimit(size_t bytes)
      : end_(ThreadCpuTime() + kSearchTime +
             static_cast<int64_t>(bytes) * kSearchTimePerByte) {}

  void Install(icu::RegexMatcher* matcher, UErrorCode* status) {
    // Within a match: after every 10,000 steps.
    matcher->setMatchCallback(
        [](const void* limit, int32_t) {
          return static_cast<UBool>(InTime(limit) && GoesOn(limit));
        },
        this, *status);
    // Between the places where a match may begin; reading the clock costs time.
    matcher->setFindProgressCallback(
        [](const void* limit, int64_t) {
          const SearchLimit* self = static_cast<const SearchLimit*>(limit);
          return static_cast<UBool>(
              (++self->places_ % 16 != 0 || InTime(limit)) &&
              (self->places_ % kPlacesBetween != 0 || GoesOn(limit)));
        },
        this, *status);
  }

 private:
  static bool InTime(const void* limit) {
    return ThreadCpuTime() < static_cast<const SearchLimit*>(limit)->end_;
  }
  // Time that the thread spends on other work during an interruption does not
  // count.
  static bool GoesOn(const void* limit) {
    const absl::Duration before = ThreadCpuTime();
    if (Interrupted(kPlacesBetween)) return false;
    static_cast<const SearchLimit*>(limit)->end_ += ThreadCpuTime() - before;
    return true;
  }

  static constexpr uint32_t kPlacesBetween = 1024;

  mutable absl::Duration end_;
  mutable uint32_t places_ = 0;
};

class RegexPattern : public Pattern {
 public:
  explicit RegexPattern(std::unique_ptr<icu::RegexPattern> pattern)
      : pattern_(std::move(pattern)) {}

  absl::StatusOr<std::vector<ByteSpan>> Find(
      std::string_view text) const override {
    std::vector<ByteSpan> found;
    UErrorCode status = U_ZERO_ERROR;
    // Converts to UTF-16, with a table of bytes, since ICU's matcher is slow on
    // UTF-8.
    std::u16string units;
    std::vector<uint32_t> bytes;  // [units + 1]
    units.reserve(text.size());
    bytes.reserve(text.size() + 1);
    for (size_t at = 0; at < text.size();) {
      bytes.push_back(static_cast<uint32_t>(at));
      const char32_t c = NextCharacter(text, &at);
      if (c >= 0x10000) {
        bytes.push_back(bytes.back());
        units.push_back(U16_LEAD(c));
        units.push_back(U16_TRAIL(c));
      } else {
        units.push_back(static_cast<char16_t>(c));
      }
    }
    bytes.push_back(static_cast<uint32_t>(text.size()));
    const icu::UnicodeString input(false, units.data(),
                                   static_cast<int32_t>(units.size()));
    const std::unique_ptr<icu::RegexMatcher> matcher(
        pattern_->matcher(input, status));
    SearchLimit limit(text.size());
    if (U_SUCCESS(status)) limit.Install(matcher.get(), &status);
    if (U_SUCCESS(status)) matcher->setStackLimit(kMostStack, status);
    while (U_SUCCESS(status) && matcher->find(status) && U_SUCCESS(status)) {
      const int32_t begin = matcher->start(status);
      const int32_t end = matcher->end(status);
      if (end > begin) found.push_back(Span(bytes[begin], bytes[end]));
    }
    if (U_SUCCESS(status)) return found;
    std::string expression;
    pattern_->pattern().toUTF8String(expression);
    return absl::InvalidArgumentError(fmt::format(
        "the tokenizer's regular expression \"{}\" takes too long or too much "
        "memory on a text of {} bytes ({}); cut the text",
        expression, text.size(), u_errorName(status)));
  }

 private:
  const std::unique_ptr<icu::RegexPattern> pattern_;
};

}  // namespace

std::unique_ptr<Pattern> Pattern::Literal(std::string text) {
  return std::make_unique<LiteralPattern>(std::move(text));
}

std::unique_ptr<Pattern> Pattern::Gpt2Words() {
  return std::make_unique<Gpt2Pattern>();
}

absl::StatusOr<std::unique_ptr<Pattern>> Pattern::Regex(
    const std::string& expression) {
  if (expression.size() > kMaxExpressionBytes) {
    return absl::InvalidArgumentError(fmt::format(
        "a regular expression has {} bytes, and at most {} are read",
        expression.size(), kMaxExpressionBytes));
  }
  UErrorCode status = U_ZERO_ERROR;
  UParseError where;
  std::unique_ptr<icu::RegexPattern> pattern(icu::RegexPattern::compile(
      icu::UnicodeString::fromUTF8(expression), 0, where, status));
  if (U_FAILURE(status)) {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" is not a regular expression ({} at character {})",
                    expression, u_errorName(status), where.offset));
  }
  return std::unique_ptr<Pattern>(new RegexPattern(std::move(pattern)));
}

}  // namespace trivium
