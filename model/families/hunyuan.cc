#include "model/families/hunyuan.h"

#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadHunyuanDense(const nlohmann::json& json, const Weights* weights,
                             Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config, {.epsilon = 1e-5}, &geometry));
  ReadLlamaRotary(config, {.keys = {"alpha"}}, &geometry, &decoder);
  RequireBoolean(config, "use_qk_norm", true);
  RequireBoolean(config, "use_cla", false);
  RequireBoolean(config, "mlp_bias", false);
  LlamaTensors has = {.head_norms = true,
                      .query_norm = "query_layernorm",
                      .key_norm = "key_layernorm"};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  ReadLlamaTensors(tensors, has,
                   std::vector<AttentionGeometry>(decoder.layers, geometry),
                   &decoder);
  for (LayerDescription& layer : decoder.layer) {
    layer.self_attention.norms_after_rotary = true;
  }
  ReadOutputProjection(config, /*tied_by_default=*/false, tensors,
                       &description);
  return model;
}

}  // namespace trivium
