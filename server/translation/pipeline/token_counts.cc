#include "server/translation/pipeline/token_counts.h"

#include <algorithm>

#include "base/status.h"
#include "base/utf8.h"

namespace trivium {
namespace {

constexpr size_t kCountedBytes = 4 << 10;
// A piece ends at white space if there is some in its last bytes.
constexpr size_t kCountedWordBytes = 256;

std::string_view NextCounted(std::string_view text) {
  if (text.size() <= kCountedBytes) return text;
  for (size_t end = kCountedBytes; end > kCountedBytes - kCountedWordBytes;
       --end) {
    if (text[end] == ' ') return text.substr(0, end);
  }
  size_t end = kCountedBytes;
  while (end > kCountedBytes - 4 && IsContinuation(text[end])) --end;
  return text.substr(0, end);
}

}  // namespace

absl::StatusOr<TokenCounts> TokenCounts::Of(const Tokenizer& tokenizer,
                                            std::string_view text,
                                            TextSpan span, size_t most,
                                            const AliveCheck& check_alive) {
  EncodeOptions options;
  options.add_special_tokens = false;
  options.with_tokens = true;
  options.check_alive = check_alive;
  TokenCounts counts;
  for (size_t at = span.begin; at < span.end && counts.all() <= most;) {
    TRIVIUM_RETURN_IF_ERROR(check_alive());
    const std::string_view piece = NextCounted(text.substr(at, span.end - at));
    TRIVIUM_ASSIGN_OR_RETURN(const Encoding encoding,
                             tokenizer.Encode(piece, options));
    for (const Token& token : encoding.tokens) {
      counts.begins_.push_back(static_cast<uint32_t>(at + token.byte_begin));
    }
    at += piece.size();
  }
  // Tokens of one character may come in any order.
  std::sort(counts.begins_.begin(), counts.begins_.end());
  return counts;
}

size_t TokenCounts::In(TextSpan span) const {
  const auto begin =
      std::lower_bound(begins_.begin(), begins_.end(), span.begin);
  return static_cast<size_t>(std::lower_bound(begin, begins_.end(), span.end) -
                             begin);
}

}  // namespace trivium
