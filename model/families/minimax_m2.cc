#include "model/families/minimax_m2.h"

#include <algorithm>
#include <string>

#include "model/families/decoder_stack.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/mixtral.h"

namespace trivium {

FamilyModel LoadMiniMaxM2(const nlohmann::json& json, const Weights* weights,
                          Problems* problems) {
  LlamaFamily family(json, weights, problems,
                     {.head_size = 128, .kv_heads = 8});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 200034},
                                      {"eos_token_id", 200020}};
  // Published folders count the dimensions that turn.
  const int size = family.geometry.head_size;
  const int turned =
      config->Integer("rotary_dim", 2, std::max(size, 2)).value_or(size);
  const double part = std::min(1.0, static_cast<double>(turned) / size);
  family.ReadRotary({.theta = 5e6, .partial = part});
  RequireBoolean(config, "use_qk_norm", true);
  const ExpertCounts counts =
      ReadExpertCounts(config, "num_local_experts", {.all = 256, .chosen = 8});
  return family.ReadModel(
      {.head_norms = true, .wide_head_norms = true}, {family.geometry},
      /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        layer->experts =
            ReadMixtralExperts(tensors, name, counts, family.decoder);
        layer->experts->scores = ExpertsDescription::Scores::kSigmoid;
        layer->experts->correction = tensors->Required(
            name + "block_sparse_moe.e_score_correction_bias", {counts.all});
      });
}

}  // namespace trivium
