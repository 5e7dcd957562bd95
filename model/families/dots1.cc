#include "model/families/dots1.h"

#include <string>
#include <vector>

#include "model/families/family_reader.h"
#include "model/families/grouped_experts.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadDots1(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  StackDescription& decoder =
      description.decoder.emplace(ReadLlamaConfig(config, {}, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  const int window =
      config->Integer("sliding_window", 1, kMaxPositions).value_or(4096);
  const int first =
      config->Integer("max_window_layers", 0, kMaxPositions).value_or(62);
  std::vector<bool> slides(decoder.layers);
  for (int i = 0; i < decoder.layers; ++i) slides[i] = i >= first;
  const std::vector<AttentionGeometry> geometries = SlidingGeometries(
      config, geometry, window, ReadLayerTypes(config, slides));
  const GroupedExperts experts = ReadGroupedExperts(
      config, {.inner = 1408, .shared = 0, .normalized = false});
  LlamaTensors has = {.head_norms = true};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  ReadLlamaModel(
      &family, has, geometries, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        ReadGroupedFeedForward(tensors, experts, i, name, decoder,
                               &description.memory, layer);
      },
      &description);
  return model;
}

}  // namespace trivium
