#include "model/families/nanochat.h"

#include <string>

#include "model/families/decoder_stack.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadNanoChat(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  LlamaFamily family(json, weights, problems,
                     {.usual_activation = Activation::kSquaredRelu});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {
      {"bos_token_id", 0}, {"eos_token_id", 1}, {"pad_token_id", 1}};
  family.ReadRotary(/*usual_theta=*/10000);
  for (float& frequency : family.decoder.rotary[0].frequencies) {
    frequency = -frequency;
  }
  // A null means no cap, a missing key means the usual one.
  constexpr char kCap[] = "final_logit_softcapping";
  family.description.logit_soft_cap = static_cast<float>(
      config->Real(kCap, 1e-3, 1e9).value_or(json.contains(kCap) ? 0 : 15));
  LlamaTensors has = {
      .head_norms = true, .norms_after_rotary = true, .bare_norms = true};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  family.decoder.embedding_norm =
      BareNorm(family.decoder.d_model, NormTensors::Kind::kRms,
               &family.description.memory);
  return family.ReadModel(
      has, {family.geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        ReadFeedForward(tensors, name + "mlp.fc1", name + "mlp.fc2",
                        /*bias=*/false, family.decoder, layer);
      });
}

}  // namespace trivium
