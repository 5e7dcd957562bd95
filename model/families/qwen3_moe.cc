#include "model/families/qwen3_moe.h"

#include <algorithm>
#include <string>
#include <vector>

#include "model/families/derived_tensors.h"
#include "model/families/experts.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// Qwen 2's windows are in every other layer of the first ones.
std::vector<bool> ReadQwen2Windows(ConfigReader* config, int window,
                                   int layers) {
  const int first =
      config->Integer("max_window_layers", 0, kMaxPositions).value_or(28);
  std::vector<bool> slides(layers);
  for (int i = 0; i < layers; ++i) {
    slides[i] = window > 0 && i % 2 == 0 && i < first;
  }
  return ReadLayerTypes(config, slides);
}

enum class Kind { kQwen2, kQwen3, kQwen3Vl };

FamilyModel LoadQwenMoe(const nlohmann::json& json, const Weights* weights,
                        Kind kind, Problems* problems) {
  const bool qwen3 = kind != Kind::kQwen2, vl = kind == Kind::kQwen3Vl;
  LlamaFamily family(json, weights, problems,
                     {.kv_heads = qwen3 && !vl ? 4 : 16});
  ConfigReader* const config = family.config();
  RotaryDefaults rotary;
  if (vl) {
    rotary = {.theta = 5e5, .keys = {"mrope_section", "mrope_interleaved"}};
  }
  family.ReadRotary(rotary);
  const int window = vl ? 0 : ReadSwitchedWindow(config, /*usual=*/4096);
  const std::vector<AttentionGeometry> geometries = SlidingGeometries(
      config, family.geometry, window,
      qwen3 ? std::vector<bool>(family.decoder.layers, window > 0)
            : ReadQwen2Windows(config, window, family.decoder.layers));
  const ExpertCounts counts = ReadExpertCounts(
      config, ExpertCountKey(config, "num_experts"),
      qwen3 && !vl ? ExpertCounts{128, 8} : ExpertCounts{60, 4});
  const auto width = [config](const char* key, int usual) {
    return config->Integer(key, 1, kMaxWidth).value_or(usual);
  };
  const int inner = width("moe_intermediate_size", qwen3 && !vl ? 768 : 1408);
  const int shared = qwen3 ? 0 : width("shared_expert_intermediate_size", 5632);
  const bool over_all =
      !config->Boolean("norm_topk_prob").value_or(false) && !vl;
  // Every step-th layer has experts, except those that are listed.
  const int step =
      config->Integer("decoder_sparse_step", 1, kMaxLayers).value_or(1);
  const std::vector<int> dense =
      config->Integers("mlp_only_layers", 0, kMaxLayers);
  LlamaTensors has;
  if (qwen3) {
    has.head_norms = true;
    has.attention_bias = has.output_bias =
        config->Boolean("attention_bias").value_or(false);
  } else {
    has.attention_bias = config->Boolean("qkv_bias").value_or(true);
  }
  return family.ReadModel(
      has, geometries, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        const bool named =
            std::find(dense.begin(), dense.end(), i) != dense.end();
        if (named || (i + 1) % step != 0) {
          ReadGatedFeedForward(tensors, name + "mlp.",
                               family.decoder.feed_forward,
                               /*bias=*/false, family.decoder.d_model, layer);
          return;
        }
        layer->experts = ReadUsualExperts(tensors, name + "mlp.", counts, inner,
                                          family.decoder.d_model,
                                          &family.description.memory);
        layer->experts->over_all = over_all;
        if (qwen3) return;
        layer->experts->shared =
            ReadGated(tensors, name + "mlp.shared_expert.", shared,
                      /*bias=*/false, family.decoder.d_model);
        layer->experts->shared_gate =
            tensors->Required(name + "mlp.shared_expert_gate.weight",
                              {1, family.decoder.d_model});
      });
}

}  // namespace

FamilyModel LoadQwen2Moe(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  return LoadQwenMoe(json, weights, Kind::kQwen2, problems);
}

FamilyModel LoadQwen3Moe(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  return LoadQwenMoe(json, weights, Kind::kQwen3, problems);
}

FamilyModel LoadQwen3VlMoeText(const nlohmann::json& json,
                               const Weights* weights, Problems* problems) {
  return LoadQwenMoe(json, weights, Kind::kQwen3Vl, problems);
}

}  // namespace trivium
