#include "model/families/bamba.h"

#include <string>

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/mixers.h"

namespace trivium {

FamilyModel LoadBamba(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config, {.kv_heads = 8, .epsilon = 1e-5}, &geometry));
  ReadLlamaRotary(config, {.partial = 0.5}, &geometry, &decoder);
  LlamaTensors has = {.norms = {.before_feed_forward = "pre_ff_layernorm"},
                      .final_norm = "final_layernorm"};
  has.attends.resize(decoder.layers);
  for (const int i :
       config->Integers("attn_layer_indices", 0, decoder.layers - 1)) {
    has.attends[i] = true;
  }
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  const bool bias = config->Boolean("mlp_bias").value_or(false);
  Mamba2Config mamba = ReadMamba2Config(
      config, ReadMamba2Width(config, decoder.d_model), /*usual_heads=*/128,
      /*usual_state=*/256);
  mamba.activation = decoder.activation;
  ReadLlamaModel(
      &family, has, {geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        if (!has.attends[i]) {
          layer->mixer = ReadMamba2(tensors, name + "mamba.", mamba, {},
                                    decoder.d_model, &description.memory);
          ReadMamba2Norm(tensors, name + "mamba.", mamba, /*after_gate=*/true,
                         &*layer->mixer);
        }
        ReadGatedFeedForward(tensors, name + "feed_forward.",
                             decoder.feed_forward, bias, decoder.d_model,
                             layer);
      },
      &description);
  return model;
}

}  // namespace trivium
