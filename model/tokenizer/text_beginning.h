#ifndef TRIVIUM_MODEL_TOKENIZER_TEXT_BEGINNING_H_
#define TRIVIUM_MODEL_TOKENIZER_TEXT_BEGINNING_H_

#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// Tokenizes only as much of a text as options.most_tokens requires, from its
// beginning or, with truncate_left, up to its end. So the cost of a text is
// bounded by what a model can read. `tokenize` returns the tokens of a part of
// the text, with offsets in that part. `partial` becomes true if the rest was
// left out.
absl::StatusOr<std::vector<Token>> TokenizeEnough(
    std::string_view text, const EncodeOptions& options,
    absl::FunctionRef<absl::StatusOr<std::vector<Token>>(std::string_view)>
        tokenize,
    bool* partial);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TEXT_BEGINNING_H_
