#include "model/families/qwen3_5.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/families/experts.h"
#include "model/families/joined_linear.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/mixers.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// The sizes of a layer with the gated delta rule.
struct DeltaConfig {
  int heads = 0;  // of values
  int key_heads = 0;
  int key_size = 0;
  int value_size = 0;
  int width = 0;  // of the convolution

  int keys() const { return key_heads * key_size; }
  int values() const { return heads * value_size; }
};

DeltaConfig ReadDeltaConfig(ConfigReader* config) {
  DeltaConfig delta;
  const auto integer = [&](const char* key, int usual) {
    return config->Integer(key, 1, kMaxWidth).value_or(usual);
  };
  constexpr char kKeyHeads[] = "linear_num_key_heads";
  delta.heads = integer("linear_num_value_heads", 32);
  delta.key_heads = integer(kKeyHeads, 16);
  delta.key_size = integer("linear_key_head_dim", 128);
  delta.value_size = integer("linear_value_head_dim", 128);
  delta.width =
      config->Integer("linear_conv_kernel_dim", 2, MixerDescription::kMostWidth)
          .value_or(4);
  if (delta.heads % delta.key_heads != 0) {
    config->Report(
        kKeyHeads, config->Find(kKeyHeads),
        fmt::format("it must divide linear_num_value_heads, {}", delta.heads));
  }
  if (2 * int64_t{delta.key_heads} * delta.key_size +
          int64_t{delta.heads} * delta.value_size >
      kMaxWidth) {
    config->Report("linear_key_head_dim", config->Find("linear_key_head_dim"),
                   fmt::format("the queries, keys and values of all heads must "
                               "be at most {} wide together",
                               kMaxWidth));
  }
  return delta;
}

// Reads the mixer `name`, which ends with a dot. `joined`: its products are two
// (Qwen3-Next), with the parts of each key head together.
MixerDescription ReadDelta(TensorReader* tensors, const std::string& name,
                           const DeltaConfig& delta, bool joined, int d_model,
                           TensorMemory* memory) {
  MixerDescription mixer;
  mixer.kind = MixerDescription::Kind::kGatedDelta;
  const int keys = delta.keys(), values = delta.values();
  const int channels = 2 * keys + values;
  // A GGUF file has the parts of the first of the two apart.
  if (joined && !tensors->Has(name + "in_proj_qkv.weight")) {
    const int shared = delta.heads / delta.key_heads;
    const int64_t wide[] = {delta.key_size, delta.key_size,
                            shared * delta.value_size,
                            shared * delta.value_size};
    const auto parts =
        ReadJoinedLinear(tensors, name + "in_proj_qkvz", wide, delta.key_heads,
                         d_model, /*bias=*/false, memory);
    mixer.channels = {parts[0], parts[1], parts[2]};
    mixer.gate = parts[3];
  } else {
    const auto linear = [&](const char* part, int out) {
      return tensors->Linear(name + part, out, d_model, /*bias=*/false);
    };
    mixer.channels = {linear("in_proj_qkv", channels)};
    mixer.gate = linear("in_proj_z", values);
  }
  if (joined) {
    const int shared = delta.heads / delta.key_heads;
    const int64_t narrow[] = {shared, shared};
    const auto rates =
        ReadJoinedLinear(tensors, name + "in_proj_ba", narrow, delta.key_heads,
                         d_model, /*bias=*/false, memory);
    mixer.share = rates[0];
    mixer.rate = rates[1];
  } else {
    const auto linear = [&](const char* part, int out) {
      return tensors->Linear(name + part, out, d_model, /*bias=*/false);
    };
    mixer.share = linear("in_proj_b", delta.heads);
    mixer.rate = linear("in_proj_a", delta.heads);
  }
  mixer.output =
      tensors->Linear(name + "out_proj", d_model, values, /*bias=*/false);
  mixer.width = delta.width;
  mixer.convolution =
      tensors->Required(name + "conv1d.weight", {channels, 1, delta.width});
  mixer.heads = delta.heads;
  mixer.key_heads = delta.key_heads;
  mixer.key_size = delta.key_size;
  mixer.value_size = delta.value_size;
  mixer.decay = tensors->Required(name + "A_log", {delta.heads});
  mixer.rate_bias = tensors->Required(name + "dt_bias", {delta.heads});
  mixer.norm = {
      .weight = tensors->Required(name + "norm.weight", {delta.value_size}),
      .kind = NormTensors::Kind::kRms};
  mixer.norm_size = delta.value_size;
  return mixer;
}

// The experts of Qwen3-Next.
struct NextExperts {
  ExpertCounts counts;
  int inner = 0, shared_inner = 0;
  bool over_all = false;
  std::vector<bool> layers;  // which have them
};

// `all`: every layer has experts, else config.json says which, if any.
NextExperts ReadNextExperts(ConfigReader* config, const ExpertCounts& usual,
                            bool all, int layers) {
  NextExperts experts;
  const std::string all_key = ExpertCountKey(config, "num_experts");
  const auto width = [&](const char* key) {
    return config->Integer(key, 1, kMaxWidth).value_or(512);
  };
  experts.inner = width("moe_intermediate_size");
  experts.shared_inner = width("shared_expert_intermediate_size");
  experts.over_all = !config->Boolean("norm_topk_prob").value_or(true);
  experts.layers.assign(layers, all);
  const ConfigReader::Layer count = config->Find(all_key);
  if (!all && count.json != nullptr && *count.json == 0) return experts;
  experts.counts = ReadExpertCounts(config, all_key, usual);
  if (all) return experts;
  const int step =
      config->Integer("decoder_sparse_step", 1, kMaxLayers).value_or(1);
  const std::vector<int> dense =
      config->Integers("mlp_only_layers", 0, kMaxLayers);
  for (int i = 0; i < layers; ++i) {
    const bool named = std::find(dense.begin(), dense.end(), i) != dense.end();
    experts.layers[i] = !named && (i + 1) % step == 0;
  }
  return experts;
}

ExpertsDescription ReadNextExperts(TensorReader* tensors,
                                   const std::string& name,
                                   const NextExperts& experts, int d_model,
                                   TensorMemory* memory) {
  ExpertsDescription description = ReadUsualExperts(
      tensors, name, experts.counts, experts.inner, d_model, memory);
  description.over_all = experts.over_all;
  description.shared = ReadGated(tensors, name + "shared_expert.",
                                 experts.shared_inner, /*bias=*/false, d_model);
  description.shared_gate =
      tensors->Required(name + "shared_expert_gate.weight", {1, d_model});
  return description;
}

// Differences between the members.
struct HybridQwen {
  bool joined = false;       // see ReadDelta
  bool experts = false;      // config.json says in which layers
  bool all_experts = false;  // every layer has experts
  int kv_heads = 4;          // if config.json has none
  ExpertCounts counts = {};
};

FamilyModel LoadHybridQwen(const HybridQwen& options,
                           const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  LlamaFamily family(
      json, weights, problems,
      {.head_size = 256,
       .kv_heads = options.kv_heads,
       .feed_forward = options.all_experts ? "moe_intermediate_size"
                                           : "intermediate_size"});
  ConfigReader* const config = family.config();
  // A text's tokens have the same position in all three sections.
  family.ReadRotary(
      {.partial = 0.25, .keys = {"mrope_section", "mrope_interleaved"}});
  const int step =
      config->Integer("full_attention_interval", 1, kMaxLayers).value_or(4);
  std::vector<bool> usual(family.decoder.layers);
  for (int i = 0; i < family.decoder.layers; ++i)
    usual[i] = (i + 1) % step == 0;
  LlamaTensors has = {
      .head_norms = true,
      .gated_output = true,
      .one_plus_weight = true,
      // Folders of the text model alone may keep the names of those with eyes.
      .prefix = PrefixOf(weights, {"model.language_model.", "model."})};
  has.attends = ReadAttendingLayers(config, {"linear_attention"},
                                    {"full_attention"}, usual);
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  const DeltaConfig delta = ReadDeltaConfig(config);
  NextExperts experts;
  experts.layers.resize(family.decoder.layers);
  if (options.experts || options.all_experts) {
    experts = ReadNextExperts(config, options.counts, options.all_experts,
                              family.decoder.layers);
  }
  return family.ReadModel(
      has, {family.geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        if (!has.attends[i]) {
          layer->mixer =
              ReadDelta(tensors, name + "linear_attn.", delta, options.joined,
                        family.decoder.d_model, &family.description.memory);
          layer->mixer->activation = family.decoder.activation;
        }
        if (experts.layers[i]) {
          layer->experts = ReadNextExperts(tensors, name + "mlp.", experts,
                                           family.decoder.d_model,
                                           &family.description.memory);
        } else {
          ReadGatedFeedForward(tensors, name + "mlp.",
                               family.decoder.feed_forward,
                               /*bias=*/false, family.decoder.d_model, layer);
        }
      });
}

}  // namespace

FamilyModel LoadQwen35Text(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  return LoadHybridQwen({}, json, weights, problems);
}

FamilyModel LoadQwen3Next(const nlohmann::json& json, const Weights* weights,
                          Problems* problems) {
  return LoadHybridQwen({.joined = true,
                         .experts = true,
                         .kv_heads = 2,
                         .counts = {.all = 512, .chosen = 10}},
                        json, weights, problems);
}

FamilyModel LoadQwen35MoeText(const nlohmann::json& json,
                              const Weights* weights, Problems* problems) {
  return LoadHybridQwen(
      {.all_experts = true, .kv_heads = 2, .counts = {.all = 256, .chosen = 8}},
      json, weights, problems);
}

}  // namespace trivium
