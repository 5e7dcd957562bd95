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

// What texts have for programs, and a translation must have byte for byte.
enum class ProtectedKind {
  kPrintf,          // %s, %1$d, %(name)s, %-5.2f, %%
  kIcuMessage,      // {name}, {n, plural, one {# file} other {# files}}, '{'
  kMustache,        // {{name}}, {{{name}}}, {{#section}}
  kUrl,             // https://example.com/a?b=c, www.example.com
  kEmail,           // jane@example.com
  kFileName,        // report.pdf, src/main.cc, /etc/hosts, C:\a\b
  kNumberWithUnit,  // 5 km, 3,5 GB, 100 %, $20
};

// Finds them.
//
//   auto scanner = ProtectedSpans::Create({ProtectedKind::kPrintf}, {"#\\d+"});
//   scanner->Find("Ticket #12 of %s", check_alive)  // "#12" and "%s"
//
// Immutable and thread-safe.
class ProtectedSpans {
 public:
  // A pattern sees a text through windows: what has up to kLongestMatch bytes
  // is found as in all of it; no match is longer than twice that, so that a
  // longer one is found in pieces, which become one span, or not at all.
  static constexpr size_t kLongestMatch = 1024;
  static constexpr int kMostInstructions = 4000;
  static constexpr size_t kMostMatches = 1 << 16;

  // `patterns` are RE2's; a span is what a whole match is. INVALID_ARGUMENT
  // tells what is wrong with a pattern, as "patterns[1]: missing ): (a", or
  // that it has more than kMostInstructions. Takes milliseconds.
  static absl::StatusOr<ProtectedSpans> Create(
      const std::vector<ProtectedKind>& kinds,
      const std::vector<std::string>& patterns);

  // Ascending and apart, none empty. Of those that overlap the first one is
  // taken, of those that begin together the longest; neighbours without
  // anything between them are one. `check_alive` is asked before each match and
  // each window; its error is returned. INVALID_ARGUMENT, without naming the
  // text: there are more than kMostMatches of a pattern, or they take far more
  // time than patterns do: 0.1 s, and 1 µs for each of the text's bytes.
  absl::StatusOr<std::vector<TextSpan>> Find(
      std::string_view text, const AliveCheck& check_alive) const;

 private:
  std::vector<ProtectedKind> kinds_;
  std::vector<std::shared_ptr<const re2::RE2>> patterns_;
};

// Sentences none of whose borders is in a span: those that share one are
// joined. Both ascending and apart.
std::vector<TextSpan> JoinAtSpans(const std::vector<TextSpan>& sentences,
                                  const std::vector<TextSpan>& spans);

// What of a span is in none of `inner`, which are ascending, apart and in it:
// without white space around, and only where there are letters.
std::vector<TextSpan> WordsBetween(std::string_view text, TextSpan span,
                                   const std::vector<TextSpan>& inner);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PROTECTED_SPANS_H_
