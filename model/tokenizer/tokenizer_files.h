#ifndef TRIVIUM_MODEL_TOKENIZER_TOKENIZER_FILES_H_
#define TRIVIUM_MODEL_TOKENIZER_TOKENIZER_FILES_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/tokenizer/pipeline_tokenizer.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Each function reads one kind of tokenizer files of a Hugging Face folder into
// the parts that Transformers makes of them. Errors name the file.

// vocab.txt: BERT's WordPiece.
absl::StatusOr<TokenizerParts> LoadWordPieceFiles(const std::string& folder);
// vocab.json and merges.txt: byte-level BPE, or the first GPT's of characters.
absl::StatusOr<TokenizerParts> LoadByteLevelFiles(const std::string& folder);
// A SentencePiece model of a family that uses it unchanged. `usual_family`
// counts if the folder names no family. UNIMPLEMENTED names an unknown family.
absl::StatusOr<TokenizerParts> LoadSentencePieceFile(
    const std::string& folder, const std::string& file,
    const std::string& usual_family);
// A SentencePiece model of a family with language tokens or masks beside the
// file's pieces: mBART, mBART-50, M2M-100 (with a vocab.json), NLLB and
// Pegasus. Returns nothing for other families.
absl::StatusOr<std::optional<TokenizerParts>> LoadTextToTextFile(
    const std::string& folder, const std::string& file);
// tokenizer.json with any parts that this version knows. UNIMPLEMENTED names
// those that it does not know.
absl::StatusOr<TokenizerParts> LoadTokenizerJson(const std::string& folder);
// Reads the contents of tokenizer.json and tokenizer_config.json.
absl::StatusOr<TokenizerParts> ReadTokenizerJson(
    nlohmann::json json, const nlohmann::json& tokenizer_config);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TOKENIZER_FILES_H_
