#include "model/families/phi.h"

#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadPhi(const nlohmann::json& json, const Weights* weights,
                    Problems* problems) {
  LlamaFamily family(json, weights, problems,
                     {.usual_activation = Activation::kGeluTanh,
                      .epsilon_key = "layer_norm_eps",
                      .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  family.ReadRotary({.partial = 0.5});
  const LlamaTensors has = {
      .attention_bias = true,
      .output_bias = true,
      .head_norms = config->Boolean("qk_layernorm").value_or(false),
      .query_norm = "q_layernorm",
      .key_norm = "k_layernorm",
      .norm_kind = NormTensors::Kind::kLayer,
      .norm_bias = true,
      .final_norm = "final_layernorm",
      .output = "dense",
      .parallel = true,
      .head_bias = true};
  return family.ReadModel(
      has, {family.geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        ReadFeedForward(tensors, name + "mlp.fc1", name + "mlp.fc2",
                        /*bias=*/true, family.decoder, layer);
      });
}

}  // namespace trivium
