#include "model/families/bamba.h"

#include <string>

#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/mixers.h"

namespace trivium {

FamilyModel LoadBamba(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  LlamaFamily family(json, weights, problems, {.kv_heads = 8, .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  family.ReadRotary({.partial = 0.5});
  LlamaTensors has = {.norms = {.before_feed_forward = "pre_ff_layernorm"},
                      .final_norm = "final_layernorm"};
  has.attends.resize(family.decoder.layers);
  for (const int i :
       config->Integers("attn_layer_indices", 0, family.decoder.layers - 1)) {
    has.attends[i] = true;
  }
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  const bool bias = config->Boolean("mlp_bias").value_or(false);
  Mamba2Config mamba =
      ReadMamba2Config(config, ReadMamba2Width(config, family.decoder.d_model),
                       /*usual_heads=*/128,
                       /*usual_state=*/256);
  mamba.activation = family.decoder.activation;
  return family.ReadModel(
      has, {family.geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        if (!has.attends[i]) {
          layer->mixer =
              ReadMamba2(tensors, name + "mamba.", mamba, {},
                         family.decoder.d_model, &family.description.memory);
          ReadMamba2Norm(tensors, name + "mamba.", mamba, /*after_gate=*/true,
                         &*layer->mixer);
        }
        ReadGatedFeedForward(tensors, name + "feed_forward.",
                             family.decoder.feed_forward, bias,
                             family.decoder.d_model, layer);
      });
}

}  // namespace trivium
