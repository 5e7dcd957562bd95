#include "model/families/nemotron_h.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/grouped_experts.h"
#include "model/families/llama_stack.h"
#include "model/families/mixers.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

enum class Block { kMamba, kAttention, kDense, kExperts, kUnknown };

Block BlockOf(std::string_view type) {
  constexpr std::pair<std::string_view, Block> kTypes[] = {
      {"M", Block::kMamba},
      {"linear_attention", Block::kMamba},
      {"mamba", Block::kMamba},
      {"*", Block::kAttention},
      {"attention", Block::kAttention},
      {"full_attention", Block::kAttention},
      {"-", Block::kDense},
      {"mlp", Block::kDense},
      {"E", Block::kExperts},
      {"moe", Block::kExperts}};
  for (const auto& [name, block] : kTypes) {
    if (name == type) return block;
  }
  return Block::kUnknown;
}

bool FeedsForward(Block block) {
  return block == Block::kDense || block == Block::kExperts;
}

// Reads the blocks: a list of types or, in older folders, a letter for each.
std::vector<Block> ReadBlocks(ConfigReader* config) {
  std::vector<Block> blocks;
  const char* key = "layers_block_type";
  for (const char* other : {"layer_types", "hybrid_override_pattern"}) {
    if (config->Find(key).json == nullptr) key = other;
  }
  const ConfigReader::Layer list = config->Find(key);
  if (list.json != nullptr && list.json->is_string()) {
    for (const char letter : list.json->get_ref<const std::string&>()) {
      blocks.push_back(BlockOf(std::string_view(&letter, 1)));
    }
  } else if (list.json != nullptr && list.json->is_array()) {
    for (const auto& type : *list.json) {
      blocks.push_back(type.is_string()
                           ? BlockOf(type.get_ref<const std::string&>())
                           : Block::kUnknown);
    }
  }
  const bool known =
      std::find(blocks.begin(), blocks.end(), Block::kUnknown) == blocks.end();
  // Something must keep what was read.
  const bool keeps = !std::all_of(blocks.begin(), blocks.end(), FeedsForward);
  if (known && keeps && blocks.size() <= size_t{kMaxLayers}) return blocks;
  config->Report(key, list,
                 "give a list of \"linear_attention\", \"full_attention\", "
                 "\"mlp\" and \"moe\", with at least one of the first two");
  return {};
}

// Reads Mamba's sizes. This family has keys of its own for them.
Mamba2Config ReadMamba(ConfigReader* config) {
  const bool old = config->Find("mamba_n_groups").json != nullptr;
  Mamba2Config mamba =
      ReadOwnMamba2Config(config,
                          {.heads = "mamba_num_heads",
                           .head = "mamba_head_dim",
                           .groups = old ? "mamba_n_groups" : "n_groups",
                           .state = "ssm_state_size"},
                          {.heads = 128,
                           .groups = 8,
                           .key_size = 128,
                           .value_size = 64,
                           .width = 4});
  mamba.least_rate =
      static_cast<float>(config->Real("time_step_min", 0, 1e6).value_or(0.001));
  mamba.most_rate = std::numeric_limits<float>::infinity();
  mamba.activation =
      ReadActivation(config, "mamba_hidden_act", Activation::kSwish);
  return mamba;
}

AttentionDescription ReadAttention(TensorReader* tensors,
                                   const std::string& name,
                                   const AttentionGeometry& geometry,
                                   int d_model) {
  const int width = geometry.query_width(), kv_width = geometry.kv_width();
  return {.geometry = geometry,
          .query = tensors->Linear(name + "q_proj", width, d_model, false),
          .key = tensors->Linear(name + "k_proj", kv_width, d_model, false),
          .value = tensors->Linear(name + "v_proj", kv_width, d_model, false),
          .output = tensors->Linear(name + "o_proj", d_model, width, false)};
}

ExpertTensors ReadUpAndDown(TensorReader* tensors, const std::string& name,
                            int inner, bool bias, int d_model) {
  return {.gate = {},
          .up = tensors->Linear(name + "up_proj", inner, d_model, bias),
          .down = tensors->Linear(name + "down_proj", d_model, inner, bias)};
}

ExpertsDescription ReadNemotronExperts(TensorReader* tensors,
                                       const std::string& name,
                                       const GroupedExperts& experts,
                                       int shared_inner, bool bias,
                                       int d_model) {
  ExpertsDescription read;
  const int all = experts.counts.all;
  read.router = {tensors->Required(name + "gate.weight", {all, d_model})};
  read.correction =
      tensors->Required(name + "gate.e_score_correction_bias", {all});
  read.chosen = experts.counts.chosen;
  read.over_all = !experts.normalized;
  read.scores = ExpertsDescription::Scores::kSigmoid;
  read.groups = experts.groups;
  read.chosen_groups = experts.chosen_groups;
  read.groups_by_two = true;
  read.factor = experts.factor;
  for (int e = 0; e < all; ++e) {
    read.experts.push_back(
        ReadUpAndDown(tensors, fmt::format("{}experts.{}.", name, e),
                      experts.inner, /*bias=*/false, d_model));
  }
  read.shared = ReadUpAndDown(tensors, name + "shared_experts.", shared_inner,
                              bias, d_model);
  return read;
}

}  // namespace

FamilyModel LoadNemotronH(const nlohmann::json& json, const Weights* weights,
                          Problems* problems) {
  // The number of blocks is that of their types.
  nlohmann::json with_layers = json;
  if (!with_layers.contains("num_hidden_layers")) {
    with_layers["num_hidden_layers"] = 1;
  }
  FamilyReader family(with_layers, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config,
                      {.activation = "mlp_hidden_act",
                       .usual_activation = Activation::kSquaredRelu,
                       .head_size = 128,
                       .kv_heads = 8,
                       .epsilon_key = "layer_norm_epsilon",
                       .epsilon = 1e-5},
                      &geometry));
  const std::vector<Block> blocks = ReadBlocks(config);
  const Mamba2Config mamba = ReadMamba(config);
  GroupedExperts experts;
  int shared_inner = 0;
  if (std::find(blocks.begin(), blocks.end(), Block::kExperts) !=
      blocks.end()) {
    experts = ReadGroupedExperts(
        config, {.counts = {.all = 8, .chosen = 2}, .inner = 7688});
    shared_inner =
        config->Integer("moe_shared_expert_intermediate_size", 1, kMaxWidth)
            .value_or(7688);
  }
  constexpr char kLatent[] = "moe_latent_size";
  if (const auto latent = config->Find(kLatent); latent.json != nullptr) {
    config->Report(kLatent, latent,
                   "this server runs experts without a latent; only null is "
                   "supported");
  }
  if (const auto window = config->Find("sliding_window");
      window.json != nullptr) {
    config->Report("sliding_window", window, "only null is supported");
  }
  const bool bias = config->Boolean("mlp_bias").value_or(false);
  TensorReader* const tensors =
      family.OpenTensors(PrefixOf(weights, {"model.", "backbone."}));
  if (tensors == nullptr) return model;

  const int d_model = decoder.d_model;
  decoder.embeddings.tokens =
      tensors->Required("embeddings.weight", {decoder.vocabulary, d_model});
  decoder.layers = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::string name = fmt::format("layers.{}.", i);
    const NormTensors norm = {
        .weight = tensors->Required(name + "norm.weight", {d_model}),
        .kind = NormTensors::Kind::kRms};
    const std::string block = name + "mixer.";
    if (!FeedsForward(blocks[i])) {
      LayerDescription& layer = decoder.layer.emplace_back();
      ++decoder.layers;
      layer.self_attention_norms.before = norm;
      layer.self_attention.geometry = geometry;
      if (blocks[i] == Block::kAttention) {
        layer.self_attention = ReadAttention(tensors, block, geometry, d_model);
        continue;
      }
      layer.mixer =
          ReadMamba2(tensors, block, mamba, {}, d_model, &description.memory);
      ReadMamba2Norm(tensors, block, mamba, /*after_gate=*/true, &*layer.mixer);
      continue;
    }
    // A feed-forward belongs to the attention or mixer before it, if it is the
    // first one there.
    if (decoder.layer.empty() || decoder.layer.back().feeds_forward()) {
      decoder.layer.emplace_back().feeds_forward_only = true;
      decoder.layer.back().self_attention.geometry = geometry;
      ++decoder.layers;
    }
    LayerDescription& layer = decoder.layer.back();
    layer.feed_forward_norms.before = norm;
    if (blocks[i] == Block::kExperts) {
      layer.experts = ReadNemotronExperts(tensors, block, experts, shared_inner,
                                          bias, d_model);
      continue;
    }
    const ExpertTensors dense =
        ReadUpAndDown(tensors, block, decoder.feed_forward, bias, d_model);
    layer.up = dense.up;
    layer.down = dense.down;
  }
  decoder.final_norm = {.weight = tensors->Required("norm_f.weight", {d_model}),
                        .kind = NormTensors::Kind::kRms};
  ReadOutputProjection(config, /*tied_by_default=*/false, tensors,
                       &description);
  return model;
}

}  // namespace trivium
