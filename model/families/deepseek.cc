#include "model/families/deepseek.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/grouped_experts.h"
#include "model/families/latent_stack.h"
#include "model/families/llama_stack.h"

namespace trivium {
namespace {

// A family's defaults.
struct Defaults {
  LatentDefaults latent = {};
  GroupedExperts experts;
  double epsilon = 1e-6;
  int bos = 0, eos = 1;
  bool dense_by_type = false;  // mlp_layer_types says which layers are dense
};

// Reads mlp_layer_types; empty if config.json has none.
std::vector<bool> ReadDenseLayers(ConfigReader* config, int layers) {
  constexpr char kKey[] = "mlp_layer_types";
  const ConfigReader::Layer types = config->Find(kKey);
  if (types.json == nullptr) return {};
  std::vector<bool> dense;
  bool known = types.json->is_array() &&
               types.json->size() == static_cast<size_t>(layers);
  for (size_t i = 0; known && i < types.json->size(); ++i) {
    const nlohmann::json& type = (*types.json)[i];
    known = type == "dense" || type == "sparse";
    dense.push_back(type == "dense");
  }
  if (known) return dense;
  config->Report(
      kKey, types,
      fmt::format("give \"dense\" or \"sparse\" for each of {} layers",
                  layers));
  return {};
}

FamilyModel Load(FamilyReader* family, const nlohmann::json& json,
                 const Defaults& usual) {
  ConfigReader* const config = family->config();
  FamilyModel model;
  model.generation_defaults = {{"bos_token_id", usual.bos},
                               {"eos_token_id", usual.eos}};
  TransformerDescription& description = model.description;
  StackDescription& decoder = description.decoder.emplace(
      ReadDecoderConfig(config, {.even_heads = false}));
  decoder.positions = PositionEncoding::kNone;
  decoder.activation = ReadActivation(config, "hidden_act", Activation::kSwish);
  decoder.norm_epsilon = static_cast<float>(
      config->Real("rms_norm_eps", 0, 1).value_or(usual.epsilon));
  const LatentConfig latent =
      ReadLatentConfig(config, json, usual.latent, &decoder);
  GroupedExperts experts = ReadGroupedExperts(config, usual.experts);
  if (usual.dense_by_type) {
    experts.dense = ReadDenseLayers(config, decoder.layers);
  }
  LlamaTensors has;
  has.read_attention = [&](TensorReader* tensors, int,
                           const std::string& name) {
    return ReadLatentAttention(tensors, name, latent, decoder.d_model,
                               &description.memory);
  };
  ReadGroupedModel(family, has, {latent.geometry}, experts, &description);
  return model;
}

}  // namespace

FamilyModel LoadDeepSeekV2(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  constexpr char kMethod[] = "topk_method";
  const std::string method = config->Text(kMethod).value_or("greedy");
  if (method != "greedy" && method != "group_limited_greedy") {
    config->Report(kMethod, config->Find(kMethod),
                   "this family chooses \"greedy\" or "
                   "\"group_limited_greedy\"");
  }
  return Load(
      &family, json,
      {.experts = {.counts = {.all = 64, .chosen = 6},
                   .inner = 1407,
                   .shared = 2,
                   .normalized = false,
                   .scores = ExpertsDescription::Scores::kSoftmax,
                   .corrected = false,
                   .groups_by_two = false,
                   .shared_bias = config->Boolean("mlp_bias").value_or(false),
                   .reads_groups = method != "greedy",
                   .reads_normalized = false},
       .bos = 1,
       .eos = 2});
}

FamilyModel LoadDeepSeekV3(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  return Load(&family, json,
              {.experts = {.counts = {.all = 256, .chosen = 8},
                           .inner = 2048,
                           .dense_first = 3,
                           .groups = 8,
                           .chosen_groups = 4,
                           .factor = 2.5f}});
}

FamilyModel LoadGlm4MoeLite(const nlohmann::json& json, const Weights* weights,
                            Problems* problems) {
  FamilyReader family(json, weights, problems);
  return Load(&family, json,
              {.latent = {.query_rank = 768, .plain = 192, .value = 256},
               .experts = {.counts = {.all = 64, .chosen = 4},
                           .inner = 1536,
                           .dense_first = 1,
                           .factor = 1.8f,
                           .reads_first = false},
               .epsilon = 1e-5,
               .dense_by_type = true});
}

FamilyModel LoadMistral4(const nlohmann::json& given, const Weights* weights,
                         Problems* problems) {
  nlohmann::json json = given;
  nlohmann::json& rotary = json["rope_parameters"];
  if (rotary.is_null()) {
    rotary = {{"type", "yarn"},
              {"rope_theta", 10000.0},
              {"factor", 128.0},
              {"original_max_position_embeddings", 8192},
              {"mscale_all_dim", 1.0},
              {"mscale", 1.0},
              {"llama_4_scaling_beta", 0.1}};
  }
  // It says what qk_rope_head_dim says.
  if (rotary.is_object()) rotary.erase("partial_rotary_factor");
  FamilyReader family(json, weights, problems);
  return Load(&family, json,
              {.latent = {.rank = 256,
                          .query_rank = 1024,
                          .plain = 64,
                          .rotary = {.keys = {"llama_4_scaling_beta",
                                              "max_position_embeddings"}}},
               .experts = {.counts = {.all = 128, .chosen = 4},
                           .inner = 2048,
                           .scores = ExpertsDescription::Scores::kSoftmax,
                           .corrected = false},
               .bos = 1,
               .eos = 2});
}

}  // namespace trivium
