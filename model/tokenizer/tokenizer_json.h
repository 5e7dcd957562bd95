#ifndef TRIVIUM_MODEL_TOKENIZER_TOKENIZER_JSON_H_
#define TRIVIUM_MODEL_TOKENIZER_TOKENIZER_JSON_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/piece_decoder.h"
#include "model/tokenizer/post_processor.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/token_model.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Read the sections of a tokenizer.json, each {"type": name, ...}. A null or
// missing section means "none", where that is possible. UNIMPLEMENTED names a
// type or option that this version does not know; INVALID_ARGUMENT says what is
// broken.
absl::StatusOr<std::unique_ptr<Normalizer>> ReadNormalizer(
    const nlohmann::json& json);
absl::StatusOr<std::unique_ptr<PreTokenizer>> ReadPreTokenizer(
    const nlohmann::json& json);
// Consumes the largest section, so that its memory is free before the model
// needs as much.
absl::StatusOr<std::unique_ptr<TokenModel>> ReadTokenModel(nlohmann::json json);
absl::StatusOr<PostProcessor> ReadPostProcessor(const nlohmann::json& json);
absl::StatusOr<std::vector<DecoderStepFactory>> ReadDecoder(
    const nlohmann::json& json);

// {"String": text} or {"Regex": expression}.
absl::StatusOr<std::unique_ptr<Pattern>> ReadPattern(
    const nlohmann::json& json);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TOKENIZER_JSON_H_
