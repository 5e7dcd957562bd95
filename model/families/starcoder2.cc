#include "model/families/starcoder2.h"

#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadStarcoder2(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config,
                      {.usual_activation = Activation::kGeluTanh,
                       .kv_heads = 2,
                       .epsilon_key = "norm_epsilon",
                       .epsilon = 1e-5},
                      &geometry));
  model.generation_defaults = EndDefaults(50256, decoder);
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  const std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, geometry, decoder.layers);
  LlamaTensors has = {.norm_kind = NormTensors::Kind::kLayer,
                      .norm_bias = true};
  has.attention_bias = has.output_bias =
      config->Boolean("use_bias").value_or(true);
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  ReadLlamaTensors(
      tensors, has, geometries,
      [&](TensorReader*, int, const std::string& name,
          LayerDescription* layer) {
        ReadFeedForward(tensors, name + "mlp.c_fc", name + "mlp.c_proj",
                        has.attention_bias, decoder, layer);
      },
      &decoder);
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
