#ifndef TRIVIUM_MODEL_TOKENIZER_TOKENIZER_FILES_H_
#define TRIVIUM_MODEL_TOKENIZER_TOKENIZER_FILES_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/tokenizer/pipeline_tokenizer.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Each reads one kind of tokenizer files of a Hugging Face folder into the
// parts that Transformers makes of them. Errors name the file.

// vocab.txt: BERT's WordPiece.
absl::StatusOr<TokenizerParts> LoadWordPieceFiles(const std::string& folder);
// vocab.json and merges.txt: byte-level BPE, or the first GPT's of characters.
absl::StatusOr<TokenizerParts> LoadByteLevelFiles(const std::string& folder);
// A SentencePiece model of a family that uses one as it is; `usual_family`
// where the folder does not say which. UNIMPLEMENTED names another one.
absl::StatusOr<TokenizerParts> LoadSentencePieceFile(
    const std::string& folder, const std::string& file,
    const std::string& usual_family);
// The same of a family that has language tokens, or masks of its own, beside
// the file's pieces: mBART, mBART-50, M2M-100 (with a vocab.json), NLLB and
// Pegasus. Nothing where the folder is of none of them.
absl::StatusOr<std::optional<TokenizerParts>> LoadTextToTextFile(
    const std::string& folder, const std::string& file);
// tokenizer.json: whatever it says, of what this version knows. UNIMPLEMENTED
// names what it does not.
absl::StatusOr<TokenizerParts> LoadTokenizerJson(const std::string& folder);
// The same of the contents of tokenizer.json and tokenizer_config.json.
absl::StatusOr<TokenizerParts> ReadTokenizerJson(
    nlohmann::json json, const nlohmann::json& tokenizer_config);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TOKENIZER_FILES_H_
