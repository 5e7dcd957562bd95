#include "model/families/hunyuan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "model/families/decoder_stack.h"
#include "model/families/experts.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// Published folders give these numbers for each layer.
constexpr const char* kNumbers[] = {
    "num_experts", "moe_topk", "moe_intermediate_size", "num_shared_expert"};

// Replaces lists of the same number by the number; reports other lists.
nlohmann::json WithNumbersOfAllLayers(const nlohmann::json& json,
                                      Problems* problems) {
  nlohmann::json changed = json;
  for (const char* key : kNumbers) {
    const auto value = changed.find(key);
    if (value == changed.end() || !value->is_array() || value->empty()) {
      continue;
    }
    const nlohmann::json first = value->front();
    if (std::any_of(value->begin(), value->end(),
                    [&](const auto& number) { return number != first; })) {
      ConfigReader reader({{"config.json", &json}}, problems);
      reader.Report(key, reader.Find(key), "it must be the same in all layers");
    }
    *value = first;
  }
  return changed;
}

struct HunyuanExperts {
  ExpertCounts counts;
  int inner = 0;
  int shared = 0;  // width of the shared feed-forward
};
HunyuanExperts ReadHunyuanExperts(ConfigReader* config, int feed_forward) {
  HunyuanExperts read;
  read.counts = ReadExpertCounts(config, ExpertCountKey(config, "num_experts"),
                                 {.all = 1, .chosen = 1}, "moe_topk");
  read.inner = config->Integer("moe_intermediate_size", 1, kMaxWidth)
                   .value_or(feed_forward);
  constexpr char kShared[] = "num_shared_expert";
  const int count = config->Integer(kShared, 1, kMaxExperts).value_or(1);
  if (int64_t{count} * feed_forward > kMaxWidth) {
    config->Report(kShared, config->Find(kShared),
                   fmt::format("times intermediate_size, {}, it must be at "
                               "most {}",
                               feed_forward, kMaxWidth));
    return read;
  }
  read.shared = count * feed_forward;
  return read;
}

FamilyModel LoadHunyuan(const nlohmann::json& json, const Weights* weights,
                        bool experts, Problems* problems) {
  const nlohmann::json numbers = WithNumbersOfAllLayers(json, problems);
  LlamaFamily family(numbers, weights, problems, {.epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  family.ReadRotary({.keys = {"alpha"}});
  RequireBoolean(config, "use_qk_norm", true);
  RequireBoolean(config, "use_cla", false);
  RequireBoolean(config, "mlp_bias", false);
  RequireBoolean(config, "use_mixed_mlp_moe", experts);
  LlamaTensors has = {.head_norms = true,
                      .norms_after_rotary = true,
                      .query_norm = "query_layernorm",
                      .key_norm = "key_layernorm"};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  if (!experts) {
    return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/false);
  }
  const HunyuanExperts of_layers =
      ReadHunyuanExperts(config, family.decoder.feed_forward);
  return family.ReadModel(
      has, {family.geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        layer->experts = ReadExperts(
            tensors,
            {.router = name + "mlp.gate.wg", .experts = name + "mlp.experts."},
            of_layers.counts, of_layers.inner, family.decoder.d_model);
        layer->experts->shared =
            ReadGated(tensors, name + "mlp.shared_mlp.", of_layers.shared,
                      /*bias=*/false, family.decoder.d_model);
      });
}

}  // namespace

FamilyModel LoadHunyuanDense(const nlohmann::json& json, const Weights* weights,
                             Problems* problems) {
  return LoadHunyuan(json, weights, /*experts=*/false, problems);
}

FamilyModel LoadHunyuanMoe(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  return LoadHunyuan(json, weights, /*experts=*/true, problems);
}

}  // namespace trivium
