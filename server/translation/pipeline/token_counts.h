#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TOKEN_COUNTS_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TOKEN_COUNTS_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/tokenizer/tokenizer.h"
#include "server/translation/sentences.h"

namespace trivium {

// Estimates how many tokens the parts of a long text have. The text is
// tokenized once, a few KiB at a time, instead of again at each place where it
// is cut. At the borders of these pieces, tokens may differ from those of the
// whole text.
class TokenCounts {
 public:
  // Counts the tokens of `span` in `text`. Stops once there are more than
  // `most`. Asks `check_alive` before each piece and within it, and returns its
  // error.
  static absl::StatusOr<TokenCounts> Of(const Tokenizer& tokenizer,
                                        std::string_view text, TextSpan span,
                                        size_t most,
                                        const AliveCheck& check_alive);

  size_t all() const { return begins_.size(); }
  // Number of tokens of `span` in the same text.
  size_t In(TextSpan span) const;

 private:
  std::vector<uint32_t> begins_;  // [tokens] first byte in the text; ascending
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TOKEN_COUNTS_H_
