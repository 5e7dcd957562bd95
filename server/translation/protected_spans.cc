// Most kinds are RE2 patterns. Arguments of ICU messages nest, which no regular
// expression can match, so AddArguments finds them by counting braces.
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

#include "absl/time/time.h"
#include "base/status.h"
#include "server/translation/characters.h"

namespace trivium {
namespace {

using re2::RE2;
using re2::StringPiece;

// Maximum memory of a pattern in bytes, compiled and while it runs.
constexpr int64_t kPatternMemory = 1 << 20;

// Window of a kind's pattern in bytes. It is larger than a caller's pattern's,
// since the kinds' patterns take linear time.
constexpr size_t kKindWindow = 64 << 10;

constexpr char kPrintf[] =
    R"((%(?:%|(?:\(\w+\))?(?:\d+\$)?[-+#0']*(?:\d+|\*(?:\d+\$)?)?)"
    R"((?:\.(?:\d+|\*(?:\d+\$)?)?)?(?:hh?|ll?|[Lqjzt])?)"
    R"([diouxXeEfFgGaAcCsSpn@])))";

constexpr char kMustache[] = R"((\{\{\{[^{}]*\}\}\}|\{\{[^{}]*\}\}))";

// Does not match the punctuation that follows a URL in a sentence. Parentheses
// belong to a URL only in pairs.
constexpr char kUrl[] = R"(\b((?:[A-Za-z][A-Za-z0-9+.-]*://|www\.|mailto:))"
                        R"((?:\([^\s<>"()]*\)|[^\s<>"()“”„«»])*)"
                        R"((?:\([^\s<>"()]*\)|[^\s<>"()“”„«».,;:!?\]'…])))";

constexpr char kEmail[] =
    R"(([\pL\pN_.+%-]*[\pL\pN_+%-]@[\pL\pN-]+(?:\.[\pL\pN-]+)+))";

// Matches paths that begin with a root, "~" or dots, and names with a common
// extension, with the folders before them.
constexpr char kFileName[] =
    R"((?:^|[^\pL\pN_./\\~-])()"
    R"([A-Za-z]:\\(?:[^\s"<>|:*?]*[^\s"<>|:*?.,;!)\]'])?)"
    R"(|(?:~|\.\.?)?/[\pL\pN_.+/-]*[\pL\pN_+/-])"
    R"(|(?:[\pL\pN_.+-]+[/\\])*[\pL\pN_+-][\pL\pN_.+-]*\.(?:)"
    R"(txt|md|rst|rtf|pdf|docx?|xlsx?|pptx?|od[tsp]|csv|tsv|json|ya?ml|xml|)"
    R"(html?|css|[cm]?js|tsx?|py|ipynb|rb|go|rs|c|h|cc|cpp|hpp|java|kt|swift|)"
    R"(cs|php|pl|sh|bat|ps1|sql|exe|dll|so|dylib|jar|zip|tar|tgz|gz|bz2|xz|)"
    R"(zst|7z|rar|deb|rpm|apk|dmg|msi|iso|img|png|jpe?g|gif|svg|webp|bmp|ico|)"
    R"(tiff?|mp[34]|m4a|wav|ogg|flac|avi|mov|mkv|webm|log|ini|conf|cfg|toml|)"
    R"(env|lock|db|sqlite|pot?|mo|xliff?|xlf|srt|vtt|epub|tex|bak|tmp|pem|)"
    R"(key|crt|proto|bin|gguf|safetensors)\b)"
    R"())";

constexpr char kNumberWithUnit[] =
    R"((?:^|[^\pL\pN_.,%$€£¥{#])()"
    R"([-+±−]?\d+(?:[.,'’\x{A0}\x{202F}]\d+)*[ \x{A0}\x{202F}]?(?:%|‰|€|£|¥|\$)"
    R"(|°[CF]?|(?:km/h|m/s|mph|rpm|µm|nm|mm|cm|dm|km|m|ft|yd|mi)[²³]?)"
    R"(|µg|mg|kg|g|lbs?|oz|µs|ns|ms|s|min|h|[kMGT]?Hz|[kKMGTP]i?B|B)"
    R"(|[kMGT]?bits?|[kMG]bps|[mk]?V|m?A|[kMG]?Wh?|[hkM]?Pa|bar|psi|N|k?J|k?cal)"
    R"(|K|ml|mL|dl|l|L|px|pt|em|rem|dpi|fps|mol|dB|EUR|USD|GBP|CHF|JPY))"
    R"(|[$€£¥][ \x{A0}\x{202F}]?\d+(?:[.,'’]\d+)*)(?:[^\pL\pN_]|$))";

// Numbers are joined by at most one separator, and are no part of a word.
constexpr char kNumber[] =
    R"((?:^|[^\pL\pN_])()"
    R"([-+±−]?\d+(?:[.,'’:/\-\x{A0}\x{202F}]\d+)*)(?:[^\pL\pN_]|$))";

// Matches names of hosts without a scheme. Top-level domains that are words of
// sentences, such as "it" and "so", are left out: a full stop without a space
// may stand before those.
constexpr char kDomain[] =
    R"((?:^|[^\pL\pN_.@/-])()"
    R"((?:[\pL\pN](?:[\pL\pN-]*[\pL\pN])?\.)+)"
    R"((?:com|org|net|edu|gov|info|biz|io|ai|app|dev|cloud|eu|uk|de|at|ch|fr|)"
    R"(nl|pl|ru|jp|cn|br|au|ca|se|dk|cz|tv)\b)"
    R"((?::\d+)?(?:/(?:[^\s<>"()“”„«»]*[^\s<>"()“”„«».,;:!?\]'…])?)?))";

// Matches code between backticks; variables; flags and variables with their
// values; calls and names with "::" or "->"; names with an underscore or a
// capital inside; words in small letters that go on with digits; entities;
// handles and tags.
// A chain such as "a_b.c::d" is one match. Otherwise each part of a chain would
// look for "()" in all that follows, which takes quadratic time.
constexpr char kIdentifier[] =
    R"((?:^|[^\pL\pN_.@#`/-])()"
    R"(`[^`\n]{1,200}`)"
    R"(|\$(?:[A-Za-z_]\w*|\{[\w.:-]+\}|\(\w+\)))"
    R"(|%[A-Za-z_]\w+%)"
    R"(|(?:--?[A-Za-z][\w-]*|[A-Z][A-Z0-9_]*)=[^\s,;()]*[^\s.,;:!?()'"“”’])"
    R"(|[A-Za-z_]\w*(?:(?:::|->|\.)\w+)*(?:\(\)|(?:::|->)\w+))"
    R"(|\pL[\pL\pN]*(?:_[\pL\pN]+)+)"
    R"(|[a-z]{2,}[A-Z][a-z][\pL\pN]*)"
    R"(|\p{Ll}\pL*\d[\pL\pN]*(?:[.-]\d[\pL\pN]*)*(?:-[a-z]+[.\d]*\d)?)"
    R"(|\d+(?:\.\d+)+-(?:alpha|beta|rc|dev|pre|snapshot)(?:\.?\d+)*\b)"
    R"(|--[A-Za-z][\w-]*\b|\{[A-Za-z_][\w.]*\})"
    R"(|&(?:[A-Za-z]{2,8}\d{0,2}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});)"
    R"(|[@#]\pL[\pL\pN_]*))";

// Matches tags; calls whose arguments are no words of a sentence; and lines of
// code: prompts of a shell, SQL, and statements of usual programming languages.
// Each kind of line has a mark that prose lacks.
constexpr char kCode[] =
    R"((</?[A-Za-z][A-Za-z0-9-]*(?: [a-z-]+="[^"<>\n]*")*\s?/?>)"
    R"(|\b[A-Za-z_]\w*\((?:"[^"\n]*"[^()\n]*|'[^'\n]*'[^()\n]*)"
    R"(|[\w.]+(?:, ?[\w.]+)+)\))"
    R"(|(?m:^[ \t]*(?:)"
    R"(\$ [a-z][\w./-]*(?: [^\n]*)?)"
    R"(|SELECT (?:DISTINCT )?(?:\*|[a-z"`])[^\n]* FROM [^\n]+)"
    R"(|(?:INSERT INTO|DELETE FROM|CREATE TABLE|UPDATE) [a-z"`][^\n]*;)"
    R"(|#include [<"][^\n]+|import [\w.{}*, ]+ from ["'][^\n]+)"
    R"(|(?:def|function|func|fn) \w*\([^\n]*\)[^\n]*[:{}])"
    R"(|(?:var|let|const|int|auto|float|double|bool|string) \w+ ?= ?[^\n]*;)"
    R"(|(?:if|for|while|switch) ?\([^\n]*\) ?(?:\{[^\n]*|[^\n]*;))"
    R"(|return [\w.()+*/"' -]*;|[\w.]+\([^\n]*\);)"
    R"()[ \t]*$)))";

// Matches emoticons between white space, and faces of several scripts. A face
// in brackets has signs within or arms beside it, so that "(?)" is none.
constexpr char kEmoticon[] =
    R"re((?:^|\s)([:;]['^-]?[()\[\]DPpO3|/\\*]+|=[()DP]|<3+|\^\^|[xX]D|-_-)re"
    R"re(|\\o/|\([\^>TQ;=*oO•°≧][_.,~▽ω□][\^<TQ;=*oO•°≦]\)|\(-[_.]-\))re"
    R"re(|[^\s\w()"'.,;:!?…–—„“”‘’«»À-ɏ*-]{0,5})re"
    R"re(\([^\s()A-Za-z0-9À-ɏ]{1,8}\))re"
    R"re([^\s\w()"'.,;:!?…–—„“”‘’«»À-ɏ*-][^\s\w()"À-ɏ]{0,4}(?: ┻━┻)?)re"
    R"re(|[ʕʢ][^\s()]{1,8}[ʔʡ])(?:\s|$|[.,!?]))re";

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

// Returns a kind's pattern, whose spans are the matches of group 1.
const RE2& PatternOf(ProtectedKind kind) {
  static const RE2 printf_pattern(kPrintf);
  static const RE2 mustache(kMustache);
  static const RE2 url(kUrl);
  static const RE2 email(kEmail);
  static const RE2 file_name(kFileName);
  static const RE2 number_with_unit(kNumberWithUnit);
  static const RE2 number(kNumber);
  static const RE2 domain(kDomain);
  static const RE2 identifier(kIdentifier);
  static const RE2 code(kCode);
  static const RE2 emoticon(kEmoticon);
  switch (kind) {
    case ProtectedKind::kMustache:
      return mustache;
    case ProtectedKind::kUrl:
      return url;
    case ProtectedKind::kEmail:
      return email;
    case ProtectedKind::kFileName:
      return file_name;
    case ProtectedKind::kNumberWithUnit:
      return number_with_unit;
    case ProtectedKind::kNumber:
      return number;
    case ProtectedKind::kDomain:
      return domain;
    case ProtectedKind::kIdentifier:
      return identifier;
    case ProtectedKind::kCode:
      return code;
    case ProtectedKind::kEmoticon:
      return emoticon;
    case ProtectedKind::kPrintf:
    case ProtectedKind::kIcuMessage:  // has no pattern
      break;
  }
  return printf_pattern;
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

// True if the '%' is a percent sign, as in "100%sure", and not a conversion: it
// follows a digit, and the word goes on after the span.
bool IsPercentSign(std::string_view text, TextSpan span) {
  return span.begin > 0 && IsDigit(text[span.begin - 1]) &&
         text[span.end - 1] != '%' && span.end < text.size() &&
         u_isalpha(FirstCharacter(text.substr(span.end)));
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
    if (kind == ProtectedKind::kIcuMessage) {
      AddArguments(text, &spans);
      continue;
    }
    const auto of_kind = static_cast<ptrdiff_t>(spans.size());
    TRIVIUM_RETURN_IF_ERROR(AddMatches(text, PatternOf(kind), /*group=*/1,
                                       kKindWindow, check_alive, &spans));
    if (kind != ProtectedKind::kPrintf) continue;
    spans.erase(std::remove_if(spans.begin() + of_kind, spans.end(),
                               [text](TextSpan span) {
                                 return IsPercentSign(text, span);
                               }),
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
