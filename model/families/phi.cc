#include "model/families/phi.h"

#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadPhi(const nlohmann::json& json, const Weights* weights,
                    Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config,
                      {.usual_activation = Activation::kGeluTanh,
                       .epsilon_key = "layer_norm_eps",
                       .epsilon = 1e-5},
                      &geometry));
  ReadLlamaRotary(config, {.partial = 0.5}, &geometry, &decoder);
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
      .parallel = true};
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  ReadLlamaTensors(
      tensors, has, std::vector<AttentionGeometry>(decoder.layers, geometry),
      [&](TensorReader*, int, const std::string& name,
          LayerDescription* layer) {
        ReadFeedForward(tensors, name + "mlp.fc1", name + "mlp.fc2",
                        /*bias=*/true, decoder, layer);
      },
      &decoder);
  ReadOutputProjection(config, /*tied_by_default=*/false, tensors, &description,
                       "lm_head", /*bias=*/true);
  return model;
}

}  // namespace trivium
