#ifndef TRIVIUM_MODEL_TOKENIZER_PRECOMPILED_NORMALIZER_H_
#define TRIVIUM_MODEL_TOKENIZER_PRECOMPILED_NORMALIZER_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/tokenizer/normalizer.h"

namespace trivium {

// SentencePiece's normalization by a table, its precompiled_charsmap. The table
// is a double-array trie (Darts-clone) from byte strings to the places of their
// replacements in the bytes after it. As in the reference, grapheme clusters of
// up to five bytes are looked up as a whole, then each character.
absl::StatusOr<std::unique_ptr<Normalizer>> MakePrecompiled(
    std::string_view charsmap);

// Does the same for a table in base64.
absl::StatusOr<std::unique_ptr<Normalizer>> MakePrecompiledFromBase64(
    std::string_view base64);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_PRECOMPILED_NORMALIZER_H_
