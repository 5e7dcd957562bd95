#include "model/families/gemma4_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "model/families/decoder_stack.h"
#include "model/families/experts.h"
#include "model/families/layer_rotaries.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

constexpr char kPerLayer[] = "per_layer_config";

// Returns the index of a layer in a key of per_layer_config, or -1.
int LayerOfKey(const std::string& key, int layers) {
  int layer = -1;
  const char* const end = key.data() + key.size();
  const auto [at, error] = std::from_chars(key.data(), end, layer);
  return error == std::errc() && at == end && layer < layers ? layer : -1;
}

// Reads heads that differ by layer, as Transformers writes them since version
// 5.24.
void ReadPerLayer(ConfigReader* config, const nlohmann::json& given,
                  std::vector<AttentionGeometry>* geometries) {
  const int layers = static_cast<int>(geometries->size());
  bool known = given.is_object();
  for (const auto& [key, values] : given.items()) {
    const int layer = known ? LayerOfKey(key, layers) : -1;
    if (layer < 0 || !values.is_object()) {
      known = false;
      break;
    }
    for (const auto& [name, value] : values.items()) {
      known = known && (name == "head_dim" || name == "num_key_value_heads");
    }
    ConfigReader reader(
        {{fmt::format("config.json: {}, {}", kPerLayer, key), &values}},
        config->problems());
    AttentionGeometry& geometry = (*geometries)[layer];
    geometry.head_size =
        reader.Integer("head_dim", 1, kMaxWidth).value_or(geometry.head_size);
    geometry.kv_heads = reader.Integer("num_key_value_heads", 1, kMaxWidth)
                            .value_or(geometry.kv_heads);
  }
  if (known) return;
  config->Report(kPerLayer, config->Find(kPerLayer),
                 "give objects of head_dim and num_key_value_heads by the "
                 "numbers of layers");
}

// Reads the heads of layers that see everything.
void ReadFullHeads(ConfigReader* config, const nlohmann::json& json,
                   Gemma4Config* read) {
  if (json.contains(kPerLayer) && !json[kPerLayer].is_null()) {
    return ReadPerLayer(config, json[kPerLayer], &read->geometries);
  }
  const int size =
      config->Integer("global_head_dim", 1, kMaxWidth).value_or(512);
  const auto heads =
      config->Integer("num_global_key_value_heads", 1, kMaxWidth);
  for (size_t i = 0; i < read->slides.size(); ++i) {
    AttentionGeometry& geometry = read->geometries[i];
    if (read->slides[i]) continue;
    geometry.head_size = size;
    if (heads && read->key_is_value) geometry.kv_heads = *heads;
  }
}

// Checks heads, and that layers of a kind have the same size of heads, which
// their rotary positions depend on.
void CheckHeads(ConfigReader* config, const Gemma4Config& read) {
  for (size_t i = 0; i < read.slides.size(); ++i) {
    const AttentionGeometry& geometry = read.geometries[i];
    const size_t first =
        std::find(read.slides.begin(), read.slides.end(), read.slides[i]) -
        read.slides.begin();
    if (geometry.heads % geometry.kv_heads == 0 &&
        int64_t{geometry.heads} * geometry.head_size <= kMaxWidth &&
        geometry.head_size == read.geometries[first].head_size) {
      continue;
    }
    config->problems()->push_back(fmt::format(
        "config.json: layer {} has {} heads of queries and {} of keys, of {} "
        "dimensions; the heads of keys must divide those of queries, "
        "dimensions must be the same in all layers of the same type, and all "
        "heads have at most {}",
        i, geometry.heads, geometry.kv_heads, geometry.head_size, kMaxWidth));
    return;
  }
}

// Makes the last layers read the keys and values of the last earlier layer of
// their type.
void ReadSharing(ConfigReader* config, Gemma4Config* read) {
  constexpr char kKey[] = "num_kv_shared_layers";
  const int layers = static_cast<int>(read->slides.size());
  const int sharers = config->Integer(kKey, 0, kMaxLayers).value_or(0);
  const int first = layers - sharers;
  for (int i = std::max(first, 0); i < layers; ++i) {
    int source = first - 1;
    while (source >= 0 && read->slides[source] != read->slides[i]) --source;
    if (source < 0 ||
        read->geometries[source].kv_heads != read->geometries[i].kv_heads) {
      config->Report(kKey, config->Find(kKey),
                     fmt::format("layer {} has no earlier layer of its type "
                                 "whose keys and values it could read",
                                 i));
      return;
    }
    read->geometries[i].reads = source;
  }
}

void ReadRotaries(ConfigReader* config, const Gemma4Config& read,
                  StackDescription* stack) {
  constexpr char kKey[] = "rope_parameters";
  nlohmann::json sets = {
      {"full_attention",
       {{"rope_type", "proportional"},
        {"partial_rotary_factor", 0.25},
        {"rope_theta", 1e6}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}}};
  const ConfigReader::Layer given = config->Find(kKey);
  if (given.json != nullptr) {
    for (auto& [name, set] : sets.items()) {
      const bool slides = name == "sliding_attention";
      const bool used = std::find(read.slides.begin(), read.slides.end(),
                                  slides) != read.slides.end();
      if (!given.json->is_object() ||
          (used &&
           (!given.json->contains(name) || !(*given.json)[name].is_object()))) {
        return config->Report(
            kKey, given, "give objects full_attention and sliding_attention");
      }
      if (used) set = (*given.json)[name];
    }
  }
  for (const LayerKind kind : {kFullLayer, kSlidingLayer}) {
    const char* const name =
        kind == kFullLayer ? "full_attention" : "sliding_attention";
    int head_size = 2;  // if there are no such layers
    for (size_t i = 0; i < read.slides.size(); ++i) {
      if (read.slides[i] == (kind == kSlidingLayer)) {
        head_size = read.geometries[i].head_size;
      }
    }
    stack->rotary.push_back(ReadRotarySet(
        sets[name], fmt::format("{}, {}", kKey, name),
        {.head_size = head_size, .max_positions = stack->max_positions},
        config->problems()));
  }
}

void ReadExperts(ConfigReader* config, Gemma4Config* read) {
  if (!config->Boolean("enable_moe_block").value_or(false)) return;
  const ExpertCounts counts =
      ReadExpertCounts(config, "num_experts", {}, "top_k_experts");
  read->experts = counts.all;
  read->chosen = counts.chosen;
  read->expert_inner =
      config->RequiredInteger("moe_intermediate_size", 1, kMaxWidth);
}

}  // namespace

Gemma4Config ReadGemma4Config(ConfigReader* config, const nlohmann::json& json,
                              StackDescription* stack) {
  Gemma4Config read;
  AttentionGeometry geometry;
  *stack = ReadLlamaConfig(config,
                           {.activation = "hidden_activation",
                            .usual_activation = Activation::kGeluTanh,
                            .head_size = 256,
                            .kv_heads = 4,
                            .both_ways = true},
                           &geometry);
  RefuseOtherHeads(config);
  RequireBoolean(config, "is_causal", true);
  geometry.scale = 1;
  stack->embedding_scale = std::sqrt(static_cast<float>(stack->d_model));
  // "vision" is about pictures.
  constexpr char kBothWays[] = "use_bidirectional_attention";
  const ConfigReader::Layer both_ways = config->Find(kBothWays);
  if (both_ways.json != nullptr && *both_ways.json != "vision") {
    config->Report(kBothWays, both_ways,
                   "this server runs this family as a decoder; leave the key "
                   "out, or give \"vision\"");
  }
  const int window =
      config->Integer("sliding_window", 1, kMaxPositions).value_or(512);
  read.slides = ReadLayerTypes(config, EachNthIsFull(6, stack->layers));
  read.slides.back() = false;  // as Transformers has it
  read.geometries = SlidingGeometries(config, geometry, window, read.slides);
  for (int i = 0; i < stack->layers; ++i) {
    read.geometries[i].rotary = read.slides[i] ? kSlidingLayer : kFullLayer;
  }
  read.bias = config->Boolean("attention_bias").value_or(false);
  read.key_is_value = config->Boolean("attention_k_eq_v").value_or(false);
  ReadFullHeads(config, json, &read);
  CheckHeads(config, read);
  ReadSharing(config, &read);
  ReadRotaries(config, read, stack);
  read.wide_sharers = config->Boolean("use_double_wide_mlp").value_or(false);
  // Zero and null mean that there are none.
  constexpr char kWidth[] = "hidden_size_per_layer_input";
  read.token_width =
      config->Integer(kWidth, 0, kMaxWidth / std::max(stack->layers, 1))
          .value_or(json.contains(kWidth) ? 0 : 256);
  constexpr char kTokens[] = "vocab_size_per_layer_input";
  read.token_vocabulary =
      config->Integer(kTokens, 1, kMaxVocabulary).value_or(262144);
  if (read.token_width > 0 && read.token_vocabulary < stack->vocabulary) {
    config->Report(
        kTokens, config->Find(kTokens),
        fmt::format("it must be at least vocab_size, {}", stack->vocabulary));
  }
  ReadExperts(config, &read);
  read.logit_soft_cap = static_cast<float>(
      config->Real("final_logit_softcapping", 1e-3, 1e9).value_or(0));
  return read;
}

}  // namespace trivium
