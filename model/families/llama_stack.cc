#include "model/families/llama_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/joined_linear.h"
#include "model/families/rotary_config.h"
#include "model/families/sizes.h"

namespace trivium {

StackDescription ReadLlamaConfig(ConfigReader* config, const LlamaKeys& keys,
                                 AttentionGeometry* geometry) {
  const DecoderKeys decoder_keys = {.feed_forward = keys.feed_forward,
                                    .even_heads = false,
                                    .any_head = keys.any_head,
                                    .both_ways = keys.both_ways};
  StackDescription stack = ReadDecoderConfig(config, decoder_keys);
  stack.positions = PositionEncoding::kNone;
  stack.activation =
      ReadActivation(config, keys.activation, keys.usual_activation);
  stack.norm_epsilon = static_cast<float>(
      config->Real(keys.epsilon_key, 0, 1).value_or(keys.epsilon));
  const int usual_size =
      keys.head_size > 0 ? keys.head_size : stack.d_model / stack.heads;
  const std::optional<int> size = config->Integer("head_dim", 1, kMaxWidth);
  if (!size.has_value() && keys.head_size == 0 &&
      stack.d_model % stack.heads != 0) {
    config->Report(decoder_keys.heads, config->Find(decoder_keys.heads),
                   fmt::format("without head_dim it must divide {}, {}",
                               decoder_keys.d_model, stack.d_model));
  }
  geometry->heads = stack.heads;
  geometry->head_size = size.value_or(std::max(usual_size, 1));
  constexpr char kKvHeads[] = "num_key_value_heads";
  geometry->kv_heads =
      config->Integer(kKvHeads, 1, kMaxWidth)
          .value_or(keys.kv_heads > 0 ? keys.kv_heads : stack.heads);
  if (stack.heads % geometry->kv_heads != 0) {
    config->Report(
        kKvHeads, config->Find(kKvHeads),
        fmt::format("it must divide {}, {}", decoder_keys.heads, stack.heads));
  }
  if (int64_t{stack.heads} * geometry->head_size > kMaxWidth) {
    config->Report("head_dim", config->Find("head_dim"),
                   fmt::format("times {}, {}, it must be at most {}",
                               decoder_keys.heads, stack.heads, kMaxWidth));
  }
  geometry->scale = 1 / std::sqrt(static_cast<float>(geometry->head_size));
  geometry->look_ahead = 0;
  return stack;
}

bool ReadBothWays(ConfigReader* config) {
  const bool named =
      config->Boolean("use_bidirectional_attention").value_or(false);
  return !config->Boolean("is_causal").value_or(true) || named;
}

void ReadLlamaRotary(ConfigReader* config, double usual_theta,
                     AttentionGeometry* geometry, StackDescription* stack) {
  ReadLlamaRotary(config, RotaryDefaults{.theta = usual_theta}, geometry,
                  stack);
}

void ReadLlamaRotary(ConfigReader* config, RotaryDefaults defaults,
                     AttentionGeometry* geometry, StackDescription* stack) {
  defaults.head_size = geometry->head_size;
  defaults.max_positions = stack->max_positions;
  stack->rotary = {ReadRotary(config, defaults)};
  geometry->rotary = 0;
}

std::vector<bool> EachNthIsFull(int n, int layers) {
  std::vector<bool> slides(layers);
  for (int i = 0; i < layers; ++i) slides[i] = (i + 1) % n != 0;
  return slides;
}

std::vector<bool> ReadLayerTypes(ConfigReader* config,
                                 std::vector<bool> usual) {
  constexpr char kKey[] = "layer_types";
  const ConfigReader::Layer types = config->Find(kKey);
  if (types.json == nullptr) return usual;
  std::vector<bool> slides;
  bool known = types.json->is_array() && types.json->size() == usual.size();
  if (known) {
    for (const auto& type : *types.json) {
      known =
          known && (type == "sliding_attention" || type == "full_attention");
      slides.push_back(type == "sliding_attention");
    }
  }
  if (known) return slides;
  config->Report(kKey, types,
                 fmt::format("give \"full_attention\" or \"sliding_attention\" "
                             "for each of {} layers",
                             usual.size()));
  return usual;
}

std::vector<AttentionGeometry> SlidingGeometries(
    ConfigReader* config, const AttentionGeometry& geometry, int window,
    const std::vector<bool>& slides) {
  std::vector<AttentionGeometry> geometries(slides.size(), geometry);
  for (size_t i = 0; i < slides.size(); ++i) {
    if (!slides[i]) continue;
    if (window == 0) {
      config->problems()->push_back(fmt::format(
          "config.json: layer_types makes layer {} see a window, but there is "
          "none; give sliding_window, or \"full_attention\" for that layer",
          i));
      break;
    }
    geometries[i].look_back = window - 1;
  }
  return geometries;
}

std::vector<AttentionGeometry> SlidingGeometries(
    ConfigReader* config, const AttentionGeometry& geometry, int layers) {
  const int window =
      config->Integer("sliding_window", 1, kMaxPositions).value_or(0);
  return SlidingGeometries(config, geometry, window,
                           std::vector<bool>(layers, window > 0));
}

int ReadSwitchedWindow(ConfigReader* config, int usual) {
  const bool used = config->Boolean("use_sliding_window").value_or(false);
  // Transformers writes 0 if it is not used.
  const int window =
      config->Integer("sliding_window", used ? 1 : 0, kMaxPositions)
          .value_or(usual);
  return used ? window : 0;
}

namespace {

NormTensors ReadNorm(TensorReader* tensors, const std::string& name, int size,
                     const LlamaTensors& has) {
  if (has.bare_norms) {
    return has.ones[size == has.ones[0].weight->elements() ? 0 : 1];
  }
  return {.weight = tensors->Required(name + ".weight", {size}),
          .bias = has.norm_bias ? tensors->Required(name + ".bias", {size})
                                : nullptr,
          .kind = has.norm_kind,
          .one_plus_weight = has.one_plus_weight};
}

// Reads the norm of `heads` heads that have factors of their own: a matrix, or
// `name`.norms.N of each (StableLM). Dimensions that rotary positions turn are
// put into the order of the heads' rows.
NormTensors ReadOwnHeadNorm(TensorReader* tensors, const std::string& name,
                            int heads, int size, int pairs,
                            const LlamaTensors& has) {
  NormTensors norm = {.kind = has.norm_kind};
  std::vector<const TensorView*> rows;
  if (tensors->Has(name + ".weight")) {
    norm.weight = tensors->Required(name + ".weight", {heads, size});
  } else if (tensors->Has(name + ".norms.0.weight")) {
    for (int head = 0; head < heads; ++head) {
      rows.push_back(tensors->Required(
          fmt::format("{}.norms.{}.weight", name, head), {size}));
      if (rows.back() == nullptr) return norm;
    }
    norm.weight = StackedRows(rows, has.memory);
  } else {
    tensors->Required(name + ".weight", {heads, size});
  }
  if (has.turns_adjacent && norm.weight != nullptr) {
    norm.weight = RowsOfPairsToHalves(*norm.weight, pairs, has.memory);
  }
  return norm;
}

AttentionDescription ReadLlamaAttention(TensorReader* tensors,
                                        const std::string& name,
                                        const LlamaTensors& has,
                                        const AttentionGeometry& geometry,
                                        const StackDescription& stack) {
  const int d_model = stack.d_model;
  const int width = geometry.query_width(), kv_width = geometry.kv_width();
  AttentionDescription attention;
  if (has.joined_attention) {
    attention = ReadJoinedAttention(
        tensors, {.joined = name + "qkv_proj", .output = name + has.output},
        geometry, d_model, has.memory);
  } else {
    const bool bias = has.attention_bias;
    std::vector<LinearTensors> queries;
    if (has.gated_output) {
      const int64_t rows[] = {geometry.head_size, geometry.head_size};
      queries = ReadJoinedLinear(tensors, name + "q_proj", rows, geometry.heads,
                                 d_model, bias, has.memory);
    } else {
      queries = {tensors->Linear(name + "q_proj", width, d_model, bias)};
    }
    attention = {
        .geometry = geometry,
        .query = queries[0],
        .key = tensors->Linear(name + "k_proj", kv_width, d_model, bias),
        .value = tensors->Linear(name + "v_proj", kv_width, d_model, bias),
        .output = tensors->Linear(name + has.output, d_model, width,
                                  has.output_bias)};
    if (has.gated_output) attention.gate = queries[1];
  }
  attention.norms_after_rotary = has.norms_after_rotary;
  if (has.turns_adjacent) TurnHalves(stack, &attention, has.memory);
  if (has.own_head_norms) {
    const int pairs =
        geometry.rotary == AttentionGeometry::kNoRotary
            ? 0
            : static_cast<int>(
                  stack.rotary[geometry.rotary].frequencies.size());
    const auto norm = [&](const std::string& part, int heads) {
      return ReadOwnHeadNorm(tensors, name + part, heads, geometry.head_size,
                             pairs, has);
    };
    attention.query_norm = norm(has.query_norm, geometry.heads);
    attention.key_norm = norm(has.key_norm, geometry.kv_heads);
  } else if (has.head_norms) {
    const int size = geometry.head_size;
    attention.query_norm = ReadNorm(tensors, name + has.query_norm,
                                    has.wide_head_norms ? width : size, has);
    attention.key_norm = ReadNorm(tensors, name + has.key_norm,
                                  has.wide_head_norms ? kv_width : size, has);
  }
  return attention;
}

// Reads the attention and norms of layer `name`, the `i`th, which ends with a
// dot. One that does not attend has only the geometry of attention.
LayerDescription ReadLlamaLayer(TensorReader* tensors, int i,
                                const std::string& name,
                                const LlamaTensors& has,
                                const AttentionGeometry& geometry,
                                const StackDescription& stack) {
  const auto norm = [&](const std::string& part) -> std::optional<NormTensors> {
    if (part.empty()) return std::nullopt;
    return ReadNorm(tensors, name + part, stack.d_model, has);
  };
  LayerDescription layer;
  layer.self_attention.geometry = geometry;
  if (has.attends.empty() || has.attends[i]) {
    layer.self_attention =
        has.read_attention ? has.read_attention(tensors, i, name + "self_attn.")
                           : ReadLlamaAttention(tensors, name + "self_attn.",
                                                has, geometry, stack);
  }
  layer.self_attention_norms.before = norm(has.norms.before_attention);
  layer.self_attention_norms.of_output = norm(has.norms.of_attention);
  layer.self_attention_norms.factor = has.residual_factor;
  layer.feed_forward_norms.before = has.parallel
                                        ? layer.self_attention_norms.before
                                        : norm(has.norms.before_feed_forward);
  layer.feed_forward_norms.of_output = norm(has.norms.of_feed_forward);
  layer.feed_forward_norms.factor = has.residual_factor;
  layer.parallel = has.parallel;
  return layer;
}

// Reads the feed-forward of layer `name`, whose gate and up may be one product,
// or which has no gate.
void ReadUsualFeedForward(TensorReader* tensors, const std::string& name,
                          const LlamaTensors& has,
                          const StackDescription& stack, TensorMemory* memory,
                          LayerDescription* layer) {
  const std::string block = name + "mlp.";
  const int inner = stack.feed_forward, d_model = stack.d_model;
  if (!has.gated) {
    ReadFeedForward(tensors, block + "up_proj", block + "down_proj",
                    has.feed_forward_bias, stack, layer);
    return;
  }
  if (!has.joined_feed_forward) {
    ReadGatedFeedForward(tensors, block, inner, has.feed_forward_bias, d_model,
                         layer);
    return;
  }
  const int64_t rows[] = {inner, inner};
  const auto parts =
      ReadJoinedLinear(tensors, block + "gate_up_proj", rows, /*groups=*/1,
                       d_model, /*bias=*/false, memory);
  layer->gate = parts[0];
  layer->up = parts[1];
  layer->down =
      tensors->Linear(block + "down_proj", d_model, inner, /*bias=*/false);
}

// Returns the only stack of a model.
StackDescription* StackOf(TransformerDescription* description) {
  return description->encoder ? &*description->encoder : &*description->decoder;
}

}  // namespace

ExpertTensors ReadGated(TensorReader* tensors, const std::string& block,
                        int inner, bool bias, int d_model) {
  return {tensors->Linear(block + "gate_proj", inner, d_model, bias),
          tensors->Linear(block + "up_proj", inner, d_model, bias),
          tensors->Linear(block + "down_proj", d_model, inner, bias)};
}

void ReadGatedFeedForward(TensorReader* tensors, const std::string& block,
                          int inner, bool bias, int d_model,
                          LayerDescription* layer) {
  const ExpertTensors read = ReadGated(tensors, block, inner, bias, d_model);
  layer->gate = read.gate;
  layer->up = read.up;
  layer->down = read.down;
}

void ReadLlamaTensors(TensorReader* tensors, const LlamaTensors& has,
                      const std::vector<AttentionGeometry>& geometries,
                      StackDescription* stack) {
  ReadLlamaTensors(
      tensors, has, geometries,
      [&](TensorReader*, int, const std::string& name,
          LayerDescription* layer) {
        ReadUsualFeedForward(tensors, name, has, *stack, has.memory, layer);
      },
      stack);
}

void ReadLlamaTensors(TensorReader* tensors, const LlamaTensors& has,
                      const std::vector<AttentionGeometry>& geometries,
                      LlamaLayerReader read_rest, StackDescription* stack) {
  const int d_model = stack->d_model;
  if (stack->embeddings.tokens == nullptr) {
    stack->embeddings.tokens =
        tensors->Required("embed_tokens.weight", {stack->vocabulary, d_model});
  }
  for (int i = 0; i < stack->layers; ++i) {
    const std::string name = fmt::format("layers.{}.", i);
    if (!HasLayer(tensors, name, i, DecoderKeys().layers, *stack)) return;
    LayerDescription layer =
        ReadLlamaLayer(tensors, i, name, has, geometries[i], *stack);
    read_rest(tensors, i, name, &layer);
    stack->layer.push_back(std::move(layer));
  }
  stack->final_norm = ReadNorm(tensors, has.final_norm, d_model, has);
}

void ReadLlamaModel(FamilyReader* family, LlamaTensors has,
                    std::vector<AttentionGeometry> geometries,
                    bool tied_by_default, LlamaLayerReader read_rest,
                    TransformerDescription* description) {
  TensorReader* const tensors = family->OpenTensors(has.prefix);
  if (tensors == nullptr) return;
  StackDescription* const stack = StackOf(description);
  if (geometries.size() == 1) geometries.resize(stack->layers, geometries[0]);
  has.memory = &description->memory;
  if (has.bare_norms) {
    has.ones = {BareNorm(stack->d_model, has.norm_kind, has.memory),
                BareNorm(geometries[0].head_size, has.norm_kind, has.memory)};
  }
  ReadLlamaTensors(tensors, has, geometries, read_rest, stack);
  ReadOutputProjection(family->config(), tied_by_default, tensors, description,
                       "lm_head", has.head_bias);
}

void ReadLlamaModel(FamilyReader* family, const LlamaTensors& has,
                    std::vector<AttentionGeometry> geometries,
                    bool tied_by_default, TransformerDescription* description) {
  ReadLlamaModel(
      family, has, std::move(geometries), tied_by_default,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        ReadUsualFeedForward(tensors, name, has, *StackOf(description),
                             &description->memory, layer);
      },
      description);
}

}  // namespace trivium
