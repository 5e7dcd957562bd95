#include "model/families/qwen3_moe.h"

#include <algorithm>
#include <vector>

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/mixtral.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadQwen3Moe(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config, {.kv_heads = 4}, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  const int window = ReadSwitchedWindow(config, /*usual=*/4096);
  const std::vector<AttentionGeometry> geometries = SlidingGeometries(
      config, geometry, window, std::vector<bool>(decoder.layers, window > 0));
  // Transformers writes num_local_experts since version 5.
  const char* const all_key = config->Find("num_experts").json != nullptr
                                  ? "num_experts"
                                  : "num_local_experts";
  const ExpertCounts counts =
      ReadExpertCounts(config, all_key, {.all = 128, .chosen = 8});
  const int inner =
      config->Integer("moe_intermediate_size", 1, kMaxWidth).value_or(768);
  const bool over_all = !config->Boolean("norm_topk_prob").value_or(false);
  // Every step-th layer has experts, except those that are listed.
  const int step =
      config->Integer("decoder_sparse_step", 1, kMaxLayers).value_or(1);
  const std::vector<int> dense =
      config->Integers("mlp_only_layers", 0, kMaxLayers);
  LlamaTensors has = {.head_norms = true};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  ReadLlamaModel(
      &family, has, geometries, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        const bool named =
            std::find(dense.begin(), dense.end(), i) != dense.end();
        if (named || (i + 1) % step != 0) {
          ReadGatedFeedForward(tensors, name + "mlp.", decoder.feed_forward,
                               /*bias=*/false, decoder.d_model, layer);
          return;
        }
        layer->experts = ReadExperts(tensors,
                                     {.router = name + "mlp.gate",
                                      .experts = name + "mlp.experts.",
                                      .gate = "gate_proj",
                                      .up = "up_proj",
                                      .down = "down_proj"},
                                     counts, inner, decoder.d_model);
        layer->experts->over_all = over_all;
      },
      &description);
  return model;
}

}  // namespace trivium
