#ifndef TRIVIUM_MODEL_TOKENIZER_TOKENIZER_FACTORY_H_
#define TRIVIUM_MODEL_TOKENIZER_TOKENIZER_FACTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "model/tokenizer/sentence_config.h"
#include "model/tokenizer/tokenizer.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Returns the tokenizer of a model folder, chosen by the files it has. Null if
// it has none of them (the model then serves ids only). An error names the file
// if one of several is missing or broken; UNIMPLEMENTED for the files of a
// tokenizer that this version does not know.
absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(
    const std::string& folder);
// Does the same for the folder of a transformer or of another module that reads
// texts.
absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(
    const std::string& folder, const SentenceConfig& sentences);

// Returns the tokenizer of a tokenizer.json and a tokenizer_config.json that
// are not in files.
absl::StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(
    nlohmann::json tokenizer, const nlohmann::json& tokenizer_config);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TOKENIZER_FACTORY_H_
