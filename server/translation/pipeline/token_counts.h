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

// About how many tokens the parts of a long text have. A text that is cut in
// many parts is tokenized once, a few KiB at a time, instead of anew at each
// place where it is cut. At the borders of these pieces the tokens may differ
// from those of the whole text.
class TokenCounts {
 public:
  // Counts the tokens of text[span). Stops after more than `most`. Returns the
  // error of `check_alive`, which is asked before each piece and within.
  static absl::StatusOr<TokenCounts> Of(const Tokenizer& tokenizer,
                                        std::string_view text, TextSpan span,
                                        size_t most,
                                        const AliveCheck& check_alive);

  size_t all() const { return begins_.size(); }
  // Tokens of `span` of the same text.
  size_t In(TextSpan span) const;

 private:
  std::vector<uint32_t> begins_;  // [tokens] bytes of the text; ascending
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TOKEN_COUNTS_H_
