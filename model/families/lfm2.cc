#include "model/families/lfm2.h"

#include <algorithm>
#include <string>
#include <vector>

#include "model/families/experts.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"
#include "model/families/llama_stack.h"
#include "model/families/mixers.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// Returns the width of the feed-forward that config.json means by `size`, the
// value of `key`.
int AdjustedWidth(ConfigReader* config, const char* key, int size) {
  if (!config->Boolean("block_auto_adjust_ff_dim").value_or(true)) return size;
  size = 2 * size / 3;
  const double factor =
      config->Real("block_ffn_dim_multiplier", 1e-3, 1e3).value_or(1);
  size = static_cast<int>(std::min<double>(factor * size, kMaxWidth));
  const int multiple =
      config->Integer("block_multiple_of", 1, kMaxWidth).value_or(256);
  if (size == 0) {
    config->Report(key, config->Find(key),
                   "with block_auto_adjust_ff_dim, two thirds of it times "
                   "block_ffn_dim_multiplier must be at least 1");
  }
  return (size + multiple - 1) / multiple * multiple;
}

MixerDescription ReadConvolution(TensorReader* tensors, const std::string& name,
                                 int width, bool bias, int d_model,
                                 TensorMemory* memory) {
  MixerDescription mixer;
  const int64_t rows[] = {d_model, d_model, d_model};
  const std::vector<LinearTensors> parts = ReadJoinedLinear(
      tensors, name + "in_proj", rows, /*groups=*/1, d_model, bias, memory);
  mixer.channel_gate = parts[0];
  mixer.gate = parts[1];
  mixer.channels = {parts[2]};
  mixer.output = tensors->Linear(name + "out_proj", d_model, d_model, bias);
  mixer.width = width;
  mixer.convolution =
      tensors->Required(name + "conv.weight", {d_model, 1, width});
  if (bias) {
    mixer.convolution_bias = tensors->Required(name + "conv.bias", {d_model});
  }
  return mixer;
}

// The experts of the larger models.
struct Lfm2Experts {
  ExpertCounts counts;  // all 0: there are none
  int inner = 0;
  int dense_first = 0;  // layers without experts
  float factor = 1;
  bool over_all = false;
  bool corrected = true;
};

Lfm2Experts ReadLfm2Experts(ConfigReader* config) {
  Lfm2Experts experts;
  experts.counts = ReadExpertCounts(
      config, ExpertCountKey(config, "num_experts"), {.all = 32, .chosen = 4});
  experts.inner =
      config->Integer("moe_intermediate_size", 1, kMaxWidth).value_or(1792);
  experts.dense_first =
      config->Integer("num_dense_layers", 0, kMaxLayers).value_or(2);
  experts.factor = static_cast<float>(
      config->Real("routed_scaling_factor", -1e6, 1e6).value_or(1));
  experts.over_all = !config->Boolean("norm_topk_prob").value_or(true);
  experts.corrected = config->Boolean("use_expert_bias").value_or(true);
  return experts;
}

void ReadLfm2FeedForward(TensorReader* tensors, const std::string& block, int i,
                         const Lfm2Experts& experts,
                         const StackDescription& stack,
                         LayerDescription* layer) {
  const int d_model = stack.d_model, inner = stack.feed_forward;
  if (experts.counts.all == 0 || i < experts.dense_first) {
    layer->gate = tensors->Linear(block + "w1", inner, d_model, false);
    layer->up = tensors->Linear(block + "w3", inner, d_model, false);
    layer->down = tensors->Linear(block + "w2", d_model, inner, false);
    return;
  }
  layer->experts = ReadExperts(tensors,
                               {.router = block + "gate",
                                .experts = block + "experts.",
                                .gate = "w1",
                                .up = "w3",
                                .down = "w2"},
                               experts.counts, experts.inner, d_model);
  layer->experts->scores = ExpertsDescription::Scores::kSigmoid;
  layer->experts->over_all = experts.over_all;
  layer->experts->factor = experts.factor;
  if (!experts.corrected) return;
  layer->experts->correction =
      tensors->Required(block + "expert_bias", {experts.counts.all});
}

FamilyModel LoadLfm2Like(const nlohmann::json& json, const Weights* weights,
                         bool has_experts, Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  const char* const width_key = config->Find("block_ff_dim").json != nullptr
                                    ? "block_ff_dim"
                                    : "intermediate_size";
  // The activation is always SiLU.
  StackDescription& decoder =
      description.decoder.emplace(ReadLlamaConfig(config,
                                                  {.activation = "",
                                                   .kv_heads = 8,
                                                   .feed_forward = width_key,
                                                   .epsilon_key = "norm_eps",
                                                   .epsilon = 1e-5},
                                                  &geometry));
  Lfm2Experts experts;
  if (has_experts) {
    experts = ReadLfm2Experts(config);
  } else {
    decoder.feed_forward =
        AdjustedWidth(config, width_key, decoder.feed_forward);
  }
  ReadLlamaRotary(config, /*usual_theta=*/1e6, &geometry, &decoder);
  std::vector<bool> usual(decoder.layers, true);
  const ConfigReader::Layer indices = config->Find("full_attn_idxs");
  if (indices.json != nullptr) {
    usual.assign(decoder.layers, false);
    for (const int i :
         config->Integers("full_attn_idxs", 0, decoder.layers - 1)) {
      usual[i] = true;
    }
  }
  LlamaTensors has = {.head_norms = true,
                      .query_norm = "q_layernorm",
                      .key_norm = "k_layernorm",
                      .norms = {.before_attention = "operator_norm",
                                .before_feed_forward = "ffn_norm"},
                      .final_norm = "embedding_norm",
                      .output = "out_proj"};
  has.attends =
      ReadAttendingLayers(config, {"conv"}, {"full_attention"}, usual);
  const int width =
      config->Integer("conv_L_cache", 2, MixerDescription::kMostWidth)
          .value_or(3);
  const bool bias = config->Boolean("conv_bias").value_or(false);
  const bool tied = config->Boolean("tie_embedding").value_or(true);
  ReadLlamaModel(
      &family, has, {geometry}, tied,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        if (!has.attends[i]) {
          layer->mixer = ReadConvolution(tensors, name + "conv.", width, bias,
                                         decoder.d_model, &description.memory);
        }
        ReadLfm2FeedForward(tensors, name + "feed_forward.", i, experts,
                            decoder, layer);
      },
      &description);
  return model;
}

}  // namespace

FamilyModel LoadLfm2(const nlohmann::json& json, const Weights* weights,
                     Problems* problems) {
  return LoadLfm2Like(json, weights, /*has_experts=*/false, problems);
}

FamilyModel LoadLfm2Moe(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  return LoadLfm2Like(json, weights, /*has_experts=*/true, problems);
}

}  // namespace trivium
