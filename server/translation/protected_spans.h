#ifndef TRIVIUM_SERVER_TRANSLATION_PROTECTED_SPANS_H_
#define TRIVIUM_SERVER_TRANSLATION_PROTECTED_SPANS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "server/translation/sentences.h"

namespace re2 {
class RE2;
}  // namespace re2

namespace trivium {

// Kinds of text that are meant for programs. A translation must keep them byte
// for byte.
enum class ProtectedKind {
  kPrintf,          // %s, %1$d, %(name)s, %-5.2f, %%
  kIcuMessage,      // {name}, {n, plural, one {# file} other {# files}}, '{'
  kMustache,        // {{name}}, {{{name}}}, {{#section}}
  kUrl,             // https://example.com/a?b=c, www.example.com
  kEmail,           // jane@example.com
  kFileName,        // report.pdf, src/main.cc, /etc/hosts, C:\a\b
  kNumberWithUnit,  // 5 km, 3,5 GB, 100 %, $20
  kNumber,          // 12, -3.5, 1,234.50, 24/7, 2026-11-26, 10:30
  kDomain,          // example.com, example.com/a?b=c
  kIdentifier,  // getName(), MAX_SIZE, $HOME, LANG=C, std::min, user2, @jane,
                // #Summer, `make all`, --verbose, v2.4.1-rc1
  kField,       // {name}, {0:N2}, #{x}, [[x]], [NAME], *|NAME|*, {% if x %}
  kIcuChoice,   // those of kIcuMessage with a format or choice of words
  kPhone,       // +49 30 12345, (030) 765-4321; also of accounts
  kMeasure,     // 5'10", 27", 52°31'12"N
  kCode,        // <b>, print("hello"), and lines: $ git push, if (x) { y(); }
  kEmoticon,    // :-) <3 (^_^) ¯\\_(ツ)_/¯
};

// Finds protected spans: those of the given kinds, and the matches of the
// caller's patterns.
//
//   auto scanner = ProtectedSpans::Create({ProtectedKind::kPrintf}, {"#\\d+"});
//   scanner->Find("Ticket #12 of %s", check_alive)  // "#12" and "%s"
//
// Immutable and thread-safe.
class ProtectedSpans {
 public:
  // A pattern is matched in windows of the text. Matches of up to kLongestMatch
  // bytes are found as in the whole text. No match is longer than twice that: a
  // longer one is found in parts, which become one span, or not at all.
  static constexpr size_t kLongestMatch = 1024;
  static constexpr int kMostInstructions = 4000;
  static constexpr size_t kMostMatches = 1 << 16;

  // `patterns` have RE2's syntax; a span is a whole match. Returns
  // INVALID_ARGUMENT if a pattern is malformed, as "patterns[1]: missing ):
  // (a", or has more than kMostInstructions. Takes milliseconds.
  static absl::StatusOr<ProtectedSpans> Create(
      const std::vector<ProtectedKind>& kinds,
      const std::vector<std::string>& patterns);

  // Returns the spans, ascending and disjoint, none of them empty. Of spans
  // that overlap, only the first is returned, and of those that begin together,
  // the longest. Adjacent spans are joined. Calls `check_alive` before each
  // match and each window, and returns its error.
  //
  // Returns INVALID_ARGUMENT, without naming the text, if a pattern needs more
  // than kMostMatches searches, one for each match and each window. Also if all
  // patterns together take more CPU time than 0.1 s plus 1 µs for each byte of
  // the text, which is far more than usual.
  absl::StatusOr<std::vector<TextSpan>> Find(
      std::string_view text, const AliveCheck& check_alive) const;

 private:
  std::vector<ProtectedKind> kinds_;
  std::vector<std::shared_ptr<const re2::RE2>> patterns_;
};

// Returns the sentences, extended to include each span that they overlap, so
// that no sentence begins or ends within a span. Sentences that share a span
// are joined. Both arguments must be ascending and disjoint.
std::vector<TextSpan> JoinAtSpans(const std::vector<TextSpan>& sentences,
                                  const std::vector<TextSpan>& spans);

// Returns the parts of `span` outside of `inner`, without white space around
// them. Leaves out parts without letters. `inner` must be ascending, disjoint
// and within `span`.
std::vector<TextSpan> WordsBetween(std::string_view text, TextSpan span,
                                   const std::vector<TextSpan>& inner);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PROTECTED_SPANS_H_
