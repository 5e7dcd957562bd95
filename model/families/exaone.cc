#include "model/families/exaone.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "model/families/llama.h"
#include "model/weights/renamed_weights.h"

namespace trivium {
namespace {

// EXAONE's names, and LLaMA's.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"transformer.wte.", "model.embed_tokens."},
    {"transformer.h.", "model.layers."},
    {"transformer.ln_f.", "model.norm."},
    {".attn.attention.out_proj.", ".self_attn.o_proj."},
    {".attn.attention.", ".self_attn."},
    {".ln_1.", ".input_layernorm."},
    {".ln_2.", ".post_attention_layernorm."},
    {".mlp.c_fc_0.", ".mlp.gate_proj."},
    {".mlp.c_fc_1.", ".mlp.up_proj."},
    {".mlp.c_proj.", ".mlp.down_proj."},
};
constexpr std::pair<const char*, const char*> kKeys[] = {
    {"num_layers", "num_hidden_layers"},
    {"layer_norm_epsilon", "rms_norm_eps"},
    {"activation_function", "hidden_act"},
};

std::string LlamaName(std::string_view name) {
  std::string renamed(name);
  for (const auto& [own, llama] : kNames) {
    const size_t at = renamed.find(own);
    if (at != renamed.npos) renamed.replace(at, own.size(), llama);
  }
  return renamed;
}

}  // namespace

FamilyModel LoadExaone(const nlohmann::json& config, const Weights* weights,
                       Problems* problems) {
  nlohmann::json llama = config;
  for (const auto& [own, name] : kKeys) {
    const auto value = llama.find(own);
    if (value == llama.end()) continue;
    if (!llama.contains(name)) llama[name] = *value;
    llama.erase(own);
  }
  for (const auto& [name, usual] :
       {std::pair<const char*, nlohmann::json>("num_key_value_heads", 8),
        {"rms_norm_eps", 1e-5},
        {"intermediate_size", 14336},
        {"max_position_embeddings", 4096}}) {
    if (!llama.contains(name)) llama[name] = usual;
  }
  // Older folders have it beside rope_scaling.
  if (!llama.contains("rope_theta") && !llama.contains("rope_parameters")) {
    llama["rope_theta"] = 500000.0;
  }
  FamilyModel model;
  if (weights == nullptr) {
    model = LoadLlama(llama, nullptr, problems);
  } else {
    // Without an owner: the caller keeps the weights.
    const RenamedWeights renamed({std::shared_ptr<const Weights>(), weights},
                                 LlamaName);
    model = LoadLlama(llama, &renamed, problems);
  }
  model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 361}, {"pad_token_id", 0}};
  return model;
}

}  // namespace trivium
