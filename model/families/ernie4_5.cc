#include "model/families/ernie4_5.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "model/families/decoder_stack.h"
#include "model/families/experts.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadErnie45(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  LlamaFamily family(json, weights, problems,
                     {.head_size = 128, .kv_heads = 2, .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  family.ReadRotary(/*usual_theta=*/500000);
  LlamaTensors has = {.turns_adjacent = true};
  has.attention_bias = has.output_bias = has.feed_forward_bias =
      config->Boolean("use_bias").value_or(false);
  return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/true);
}

namespace {

struct ErnieExperts {
  ExpertCounts counts;
  int inner = 0;
  int shared = 0;  // number of shared experts, which run as one wide one
  int first = 0, last = 0, step = 1;  // of the layers with experts
};

ErnieExperts ReadErnieExperts(ConfigReader* config, int layers) {
  ErnieExperts experts;
  experts.counts = ReadExpertCounts(config, "moe_num_experts",
                                    {.all = 64, .chosen = 6}, "moe_k");
  const auto integer = [config](const char* key, int least, int most,
                                int usual) {
    return config->Integer(key, least, most).value_or(usual);
  };
  experts.inner = integer("moe_intermediate_size", 1, kMaxWidth, 1536);
  constexpr char kShared[] = "moe_num_shared_experts";
  experts.shared = integer(kShared, 0, kMaxExperts, 2);
  if (int64_t{experts.inner} * experts.shared > kMaxWidth) {
    config->Report(kShared, config->Find(kShared),
                   fmt::format("times moe_intermediate_size, {}, it must be at "
                               "most {}",
                               experts.inner, kMaxWidth));
  }
  experts.first = integer("moe_layer_start_index", 0, kMaxLayers, 1);
  experts.last = integer("moe_layer_end_index", -1, kMaxLayers, -1);
  if (experts.last == -1) experts.last = layers - 1;
  experts.step = integer("moe_layer_interval", 1, kMaxLayers, 1);
  return experts;
}

}  // namespace

FamilyModel LoadErnie45Moe(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  LlamaFamily family(json, weights, problems, {.kv_heads = 4, .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  family.ReadRotary(/*usual_theta=*/500000);
  // Experts that a router chooses have no biases in any case.
  const bool bias = config->Boolean("use_bias").value_or(false);
  LlamaTensors has = {.turns_adjacent = true};
  has.attention_bias = has.output_bias = has.head_bias = bias;
  const ErnieExperts experts = ReadErnieExperts(config, family.decoder.layers);
  const int d_model = family.decoder.d_model;
  return family.ReadModel(
      has, {family.geometry}, /*tied_by_default=*/true,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        const std::string block = name + "mlp.";
        if (i < experts.first || i > experts.last ||
            (i + 1) % experts.step != 0) {
          ReadGatedFeedForward(tensors, block, family.decoder.feed_forward,
                               bias, d_model, layer);
          return;
        }
        layer->experts =
            ReadUsualExperts(tensors, block, experts.counts, experts.inner,
                             d_model, &family.description.memory);
        const TensorView* const correction =
            tensors->Required(block + "moe_statics.e_score_correction_bias",
                              {1, experts.counts.all});
        if (correction != nullptr) {
          auto flat = std::make_shared<TensorView>(*correction);
          flat->shape = {experts.counts.all};
          layer->experts->correction = flat.get();
          family.description.memory.push_back(std::move(flat));
        }
        if (experts.shared == 0) return;
        layer->experts->shared =
            ReadGated(tensors, block + "shared_experts.",
                      experts.inner * experts.shared, bias, d_model);
      });
}

}  // namespace trivium
