// The bytes that a text's first tokens need cannot be computed: white space has
// no tokens, and one character may have twenty. So beginnings are tried, each
// four times as long as the one before, until one has enough tokens or is the
// whole text. Together they cost at most 4/3 of the last, and the last costs at
// most four times what was needed.
//
// A beginning's tokens are the text's, except at its end, where it may cut a
// word, a character from its marks, or an added token. So it ends before white
// space if there is some, and its last kMargin tokens are dropped. (A run of
// marks or letters without white space that is longer than a beginning may be
// tokenized differently; no language has one.)
//
// With truncate_left, the same applies to endings: an ending begins before
// white space, and its first kMargin tokens are dropped. But if a model
// compares sums over the whole text (SentencePiece's), the sums begin
// elsewhere, and two segmentations that differ by rounding alone may swap.
#include "model/tokenizer/text_beginning.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "model/tokenizer/interruption.h"

namespace trivium {
namespace {

constexpr size_t kLeastBytes = 4096;
// More bytes than a token has in any language.
constexpr size_t kBytesPerToken = 8;
// Bound of the first beginning, however many tokens are requested.
constexpr size_t kMostFirstBytes = 64 << 10;
constexpr size_t kGrowth = 4;
constexpr size_t kMargin = 64;
// Bytes in which white space is searched for.
constexpr size_t kWordBytes = 256;

std::string_view Beginning(std::string_view text, size_t size) {
  // Leaving out less than half is not worth it.
  if (size >= text.size() / 2) return text;
  for (size_t end = size; end > size - kWordBytes; --end) {
    if (text[end] == ' ' || text[end] == '\n') return text.substr(0, end);
  }
  while (size > 0 && IsContinuation(text[size])) --size;
  return text.substr(0, size);
}

std::string_view Ending(std::string_view text, size_t size) {
  if (size >= text.size() / 2) return text;
  size_t begin = text.size() - size;
  for (size_t space = begin; space < begin + kWordBytes; ++space) {
    if (text[space] == ' ' || text[space] == '\n') return text.substr(space);
  }
  while (IsContinuation(text[begin])) ++begin;
  return text.substr(begin);
}

}  // namespace

absl::StatusOr<std::vector<Token>> TokenizeEnough(
    std::string_view text, const EncodeOptions& options,
    absl::FunctionRef<absl::StatusOr<std::vector<Token>>(std::string_view)>
        tokenize,
    bool* partial) {
  *partial = false;
  const auto most = static_cast<size_t>(options.most_tokens);
  size_t size = most == 0 ? text.size()
                          : std::min(kLeastBytes + kBytesPerToken * most,
                                     kMostFirstBytes);
  absl::Status wanted;
  const InterruptionScope scope([&] {
    if (options.wanted) wanted = options.wanted();
    return wanted.ok();
  });
  for (;; size *= kGrowth) {
    if (options.wanted) TRIVIUM_RETURN_IF_ERROR(options.wanted());
    const bool left = options.truncate_left;
    const std::string_view part =
        left ? Ending(text, size) : Beginning(text, size);
    absl::StatusOr<std::vector<Token>> tokenized = tokenize(part);
    TRIVIUM_RETURN_IF_ERROR(wanted);
    TRIVIUM_ASSIGN_OR_RETURN(std::vector<Token> tokens, std::move(tokenized));
    if (part.size() == text.size()) return tokens;
    if (tokens.size() <= most + kMargin) continue;
    *partial = true;
    if (!left) {
      tokens.resize(tokens.size() - kMargin);
      return tokens;
    }
    tokens.erase(tokens.begin(), tokens.begin() + kMargin);
    const auto before = static_cast<int>(text.size() - part.size());
    for (Token& token : tokens) {
      token.byte_begin += before;
      token.byte_end += before;
    }
    return tokens;
  }
}

}  // namespace trivium
