#include "model/families/phimoe.h"

#include <string>
#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/mixtral.h"

namespace trivium {
namespace {

// The sparse mixer takes two experts.
ExpertCounts ReadCounts(ConfigReader* config) {
  const ExpertCounts counts =
      ReadExpertCounts(config, "num_local_experts", {.all = 16, .chosen = 2});
  constexpr char kChosen[] = "num_experts_per_tok";
  if (counts.chosen != 2) {
    config->Report(kChosen, config->Find(kChosen),
                   "this family has two experts a token; give 2");
  }
  return counts;
}

}  // namespace

FamilyModel LoadPhiMoe(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  LlamaFamily family(json, weights, problems, {.kv_heads = 8, .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  family.ReadRotary({.theta = 1e6, .keys = {"short_mscale", "long_mscale"}});
  const std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, family.geometry, family.decoder.layers);
  const ExpertCounts counts = ReadCounts(config);
  const double noise =
      config->Real("router_jitter_noise", 0, 1e6).value_or(0.01);
  LlamaTensors has = {.norm_kind = NormTensors::Kind::kLayer,
                      .norm_bias = true};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  has.head_bias = config->Boolean("lm_head_bias").value_or(false);
  return family.ReadModel(
      has, geometries, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        layer->experts =
            ReadMixtralExperts(tensors, name, counts, family.decoder);
        layer->experts->scores = ExpertsDescription::Scores::kSparseMixer;
        layer->experts->nearness = static_cast<float>(2 * noise);
      });
}

}  // namespace trivium
