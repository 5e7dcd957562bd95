#include "model/families/falcon_h1.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/mixers.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

float ReadFactor(ConfigReader* config, const char* key) {
  return static_cast<float>(config->Real(key, -1e9, 1e9).value_or(1));
}

std::vector<float> ReadFactors(ConfigReader* config, const char* key,
                               size_t count) {
  const std::vector<float> usual(count, 1.0f);
  const ConfigReader::Layer list = config->Find(key);
  if (list.json == nullptr) return usual;
  std::vector<float> factors;
  bool known = list.json->is_array() && list.json->size() == count;
  if (known) {
    for (const auto& value : *list.json) {
      known = known && value.is_number();
      factors.push_back(value.is_number() ? value.get<float>() : 1);
    }
  }
  if (known) return factors;
  config->Report(key, list, fmt::format("give {} numbers", count));
  return usual;
}

// The factors of attention: of its input, its keys and its output.
struct AttentionFactors {
  float input = 1, key = 1, output = 1;
};

// Puts the factors into the tensors, where they cost nothing.
void ScaleAttention(const AttentionFactors& factors,
                    AttentionDescription* attention, TensorMemory* memory) {
  const auto scale = [memory](float weight, float bias, LinearTensors* linear) {
    *linear = ScaledLinear(*linear, weight, bias, memory);
  };
  scale(factors.input, 1, &attention->query);
  scale(factors.input * factors.key, factors.key, &attention->key);
  scale(factors.input, 1, &attention->value);
  scale(factors.output, factors.output, &attention->output);
}

}  // namespace

FamilyModel LoadFalconH1(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  LlamaFamily family(json, weights, problems, {.kv_heads = 8, .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  TensorMemory* const memory = &family.description.memory;
  family.ReadRotary(/*usual_theta=*/10000);
  family.decoder.embedding_scale = ReadFactor(config, "embedding_multiplier");
  family.description.logit_factor = ReadFactor(config, "lm_head_multiplier");
  const AttentionFactors attention = {
      .input = ReadFactor(config, "attention_in_multiplier"),
      .key = ReadFactor(config, "key_multiplier"),
      .output = ReadFactor(config, "attention_out_multiplier")};
  Mamba2Factors factors = {.input = ReadFactor(config, "ssm_in_multiplier"),
                           .output = ReadFactor(config, "ssm_out_multiplier")};
  const std::vector<float> parts =
      ReadFactors(config, "ssm_multipliers", factors.projection.size());
  std::copy(parts.begin(), parts.end(), factors.projection.begin());
  const std::vector<float> feed_forward =
      ReadFactors(config, "mlp_multipliers", 2);

  constexpr char kWidth[] = "mamba_d_ssm";
  const int width = json.contains(kWidth) && json[kWidth].is_null()
                        ? ReadMamba2Width(config, family.decoder.d_model)
                        : config->Integer(kWidth, 1, kMaxWidth).value_or(1024);
  Mamba2Config mamba =
      ReadMamba2Config(config, width, /*usual_heads=*/128, /*usual_state=*/256);
  mamba.activation = family.decoder.activation;
  mamba.output_bias = config->Boolean("projectors_bias").value_or(false);
  const bool has_norm = config->Boolean("mamba_rms_norm").value_or(false);
  const bool norm_first =
      config->Boolean("mamba_norm_before_gate").value_or(true);
  LlamaTensors has = {.norms = {.before_feed_forward = "pre_ff_layernorm"},
                      .final_norm = "final_layernorm"};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  const bool bias = config->Boolean("mlp_bias").value_or(false);
  return family.ReadModel(
      has, {family.geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        ScaleAttention(attention, &layer->self_attention, memory);
        layer->mixer = ReadMamba2(tensors, name + "mamba.", mamba, factors,
                                  family.decoder.d_model, memory);
        if (has_norm) {
          ReadMamba2Norm(tensors, name + "mamba.", mamba, !norm_first,
                         &*layer->mixer);
        }
        ReadGatedFeedForward(tensors, name + "feed_forward.",
                             family.decoder.feed_forward, bias,
                             family.decoder.d_model, layer);
        layer->gate = ScaledLinear(*layer->gate, feed_forward[0],
                                   feed_forward[0], memory);
        layer->down =
            ScaledLinear(layer->down, feed_forward[1], feed_forward[1], memory);
      });
}

}  // namespace trivium
