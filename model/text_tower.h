#ifndef TRIVIUM_MODEL_TEXT_TOWER_H_
#define TRIVIUM_MODEL_TEXT_TOWER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Models that read pictures and text keep a text model, the text tower, inside
// their folder. Its configuration is config.json's text_config, and its tensors
// have longer names beside those of the other towers. Such a folder is served
// as its text model.
//
//   model_type of the folder: gemma3 (TranslateGemma, too), gemma4, mistral3,
//   qwen3_5, qwen3_vl, smolvlm and so on: see kWrappers
//
// Qwen2-VL's and Qwen2.5-VL's older folders have the text model's keys beside
// the other towers', without a text_config.

// Replaces the configuration and the weights of such a folder by those of its
// text tower; leaves every other folder as it is. Adds a problem if there is no
// text_config.
void UseTextTower(nlohmann::json* config, std::unique_ptr<Weights>* weights,
                  Problems* problems);

// Returns the model types of such folders.
std::vector<std::string_view> TextTowerTypes();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TEXT_TOWER_H_
