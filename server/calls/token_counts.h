#ifndef TRIVIUM_SERVER_CALLS_TOKEN_COUNTS_H_
#define TRIVIUM_SERVER_CALLS_TOKEN_COUNTS_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/tokenizer.h"
#include "server/translation/sentences.h"

namespace trivium {

// About how many tokens the parts of a long text have, so that a text which is
// cut in many parts need not be tokenized anew for each place where it is cut:
// it is tokenized once, a few KiB at a time. At the borders of these the tokens
// may be others than the whole text's.
class TokenCounts {
 public:
  // Of text[span). Stops where more than `most` are found. `wanted` is asked
  // before each piece, and inside of it; its error is returned.
  static absl::StatusOr<TokenCounts> Of(
      const Tokenizer& tokenizer, std::string_view text, TextSpan span,
      size_t most, const std::function<absl::Status()>& wanted);

  size_t all() const { return begins_.size(); }
  // Of `span`, in the same text.
  size_t In(TextSpan span) const;

 private:
  std::vector<uint32_t> begins_;  // of each token, in the text; ascending
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_TOKEN_COUNTS_H_
