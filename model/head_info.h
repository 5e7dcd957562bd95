#ifndef TRIVIUM_MODEL_HEAD_INFO_H_
#define TRIVIUM_MODEL_HEAD_INFO_H_

#include <cstdint>
#include <optional>

#include "base/config_reader.h"
#include "model/model.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads the labels (id2label) and scores (problem_type) of a head with
// `outputs` outputs, with the meaning that they have in Transformers'
// pipelines.
HeadInfo ReadHeadInfo(HeadKind kind, int outputs, ConfigReader* config);

// Returns the id of tokenizer_config.json's mask_token, or of "[MASK]" or
// "<mask>" if it names none.
std::optional<int32_t> FindMask(const Tokenizer& tokenizer,
                                const nlohmann::json& tokenizer_config);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HEAD_INFO_H_
