#include "model/families/starcoder2.h"

#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadStarcoder2(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  LlamaFamily family(json, weights, problems,
                     {.usual_activation = Activation::kGeluTanh,
                      .kv_heads = 2,
                      .epsilon_key = "norm_epsilon",
                      .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = EndDefaults(50256, family.decoder);
  family.ReadRotary(/*usual_theta=*/10000);
  const std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, family.geometry, family.decoder.layers);
  LlamaTensors has = {.norm_kind = NormTensors::Kind::kLayer,
                      .norm_bias = true};
  has.attention_bias = has.output_bias =
      config->Boolean("use_bias").value_or(true);
  return family.ReadModel(
      has, geometries, /*tied_by_default=*/true,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        ReadFeedForward(tensors, name + "mlp.c_fc", name + "mlp.c_proj",
                        has.attention_bias, family.decoder, layer);
      });
}

}  // namespace trivium
