#ifndef TRIVIUM_MODEL_TOKENIZER_TRUNCATION_H_
#define TRIVIUM_MODEL_TOKENIZER_TRUNCATION_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// Cuts the tokens of a text or a pair so that, with `added` others, they obey
// `options.max_tokens`. Returns how many were cut; INVALID_ARGUMENT if the
// limit leaves no room.
//
// If k of n tokens stay, they are 0 .. k - 1, or with truncate_left n - k .. n
// - 1.
absl::StatusOr<int> Truncate(const EncodeOptions& options, size_t added,
                             std::vector<Token>* first,
                             std::optional<std::vector<Token>>* second);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TRUNCATION_H_
