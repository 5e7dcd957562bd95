#include "model/families/bart_experts.h"

#include <fmt/format.h>

#include "model/families/sizes.h"

namespace trivium {

BartExperts ReadBartExperts(ConfigReader* config, int layers) {
  BartExperts experts;
  constexpr char kCount[] = "num_experts";
  experts.counts = {
      .all = config->Integer(kCount, 2, kMaxExperts).value_or(128),
      .chosen = 2};
  if (layers > kMaxAllExperts / experts.counts.all) {
    config->Report(kCount, config->Find(kCount),
                   fmt::format("times the layers of both sides, {}, it must be "
                               "at most {}",
                               layers, kMaxAllExperts));
  }
  const auto step = [config](const char* key) {
    return config->Integer(key, 0, kMaxLayers).value_or(4);
  };
  experts.encoder_step = step("encoder_sparse_step");
  experts.decoder_step = step("decoder_sparse_step");
  experts.factor = static_cast<float>(
      1 - config->Real("moe_token_dropout", 0, 1).value_or(0.2));
  experts.router_bias = config->Boolean("router_bias").value_or(false);
  constexpr char kCapacity[] = "moe_eval_capacity_token_fraction";
  if (config->Real(kCapacity, -1e9, 1e9).value_or(1) != 1) {
    config->Report(kCapacity, config->Find(kCapacity),
                   "this server gives each token its two experts; give 1");
  }
  constexpr char kPolicy[] = "second_expert_policy";
  if (config->Text(kPolicy).value_or("all") != "all") {
    config->Report(kPolicy, config->Find(kPolicy),
                   "this server gives each token its two experts; give "
                   "\"all\"");
  }
  return experts;
}

ExpertsDescription ReadBartExpertTensors(TensorReader* tensors,
                                         const std::string& block,
                                         const BartExperts& experts,
                                         const StackDescription& stack) {
  ExpertsDescription description =
      ReadExperts(tensors,
                  {.router = block + "router.classifier",
                   .experts = block + "experts.expert_",
                   .gate = "",
                   .up = "fc1",
                   .down = "fc2",
                   .router_bias = experts.router_bias,
                   .expert_biases = true},
                  experts.counts, stack.feed_forward, stack.d_model);
  description.factor = experts.factor;
  return description;
}

}  // namespace trivium
