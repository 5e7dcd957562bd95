#include "model/families/olmoe.h"

#include <string>

#include "model/families/decoder_stack.h"
#include "model/families/experts.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadOlmoe(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  LlamaFamily family(json, weights, problems, {.epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"eos_token_id", 50279},
                                      {"pad_token_id", 1}};
  family.ReadRotary(/*usual_theta=*/10000);
  family.geometry.clip = ReadClip(config);
  const ExpertCounts counts = ReadExpertCounts(
      config, ExpertCountKey(config, "num_experts"), {.all = 64, .chosen = 8});
  const bool over_all = !config->Boolean("norm_topk_prob").value_or(false);
  LlamaTensors has = {.head_norms = true, .wide_head_norms = true};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  return family.ReadModel(
      has, {family.geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        layer->experts = ReadUsualExperts(
            tensors, name + "mlp.", counts, family.decoder.feed_forward,
            family.decoder.d_model, &family.description.memory);
        layer->experts->over_all = over_all;
      });
}

}  // namespace trivium
