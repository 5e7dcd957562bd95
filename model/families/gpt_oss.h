#ifndef TRIVIUM_MODEL_FAMILIES_GPT_OSS_H_
#define TRIVIUM_MODEL_FAMILIES_GPT_OSS_H_

#include "model/families/registry.h"

namespace trivium {

// GptOssForCausalLM ("gpt-oss-120b & gpt-oss-20b Model Card", OpenAI 2025):
// experts with clipped gates; attention with sinks and, in every other layer, a
// window. Weights are plain numbers or, as published, experts in MXFP4.
FamilyModel LoadGptOss(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GPT_OSS_H_
