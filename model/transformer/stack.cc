#include "model/transformer/stack.h"

#include <algorithm>
#include <iterator>

#include "base/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Returns the index of the first layer that equals layers[i].
size_t FirstEqual(const std::vector<LayerDescription>& layers, size_t i) {
  return std::find(layers.begin(), layers.begin() + i, layers[i]) -
         layers.begin();
}

// Cross-attention and disentangled attention use queries and keys as the
// products give them, so other steps are refused.
absl::Status CheckPlain(const AttentionDescription& attention) {
  if (attention.geometry.rotary == AttentionGeometry::kNoRotary &&
      !attention.query_norm.has_value() && !attention.key_norm.has_value() &&
      attention.sinks == nullptr && !attention.value_norm.has_value() &&
      !attention.latent.has_value() && !attention.gate.has_value() &&
      !attention.near.has_value() && !attention.blocks.has_value() &&
      !attention.global.has_value() && attention.geometry.clip == 0 &&
      attention.geometry.reads < 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "rotary positions, norms of queries and keys, sinks, latents, gates, "
      "heads of near tokens, keys of blocks, limits and global tokens are not "
      "supported in cross-attention or together with disentangled attention");
}

absl::Status CheckHeads(const StackDescription& stack,
                        const AttentionGeometry& geometry) {
  if (geometry.heads == stack.heads && geometry.kv_heads > 0 &&
      geometry.heads % geometry.kv_heads == 0 && geometry.head_size > 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "a layer has {} heads of queries and {} of keys and values, each of {} "
      "dimensions; every layer of this model must have {} heads of queries, a "
      "multiple of its heads of keys",
      geometry.heads, geometry.kv_heads, geometry.head_size, stack.heads));
}

absl::Status CheckLatent(const AttentionDescription& attention) {
  if (!attention.latent.has_value()) return absl::OkStatus();
  const AttentionGeometry& geometry = attention.geometry;
  const LatentDescription& latent = *attention.latent;
  if (geometry.kv_heads == 1 && geometry.values_are_keys &&
      geometry.head_size == latent.turned + latent.rank && geometry.reads < 0 &&
      geometry.look_ahead == 0 &&
      geometry.rotary != AttentionGeometry::kNoRotary &&
      attention.sinks == nullptr && !attention.gate.has_value() &&
      geometry.clip == 0 && std::ssize(latent.key_up) == geometry.heads &&
      std::ssize(latent.value_up) == geometry.heads) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "latent attention has one head of keys, which are the values, rotary "
      "positions, and no sinks, gates or limits, and sees no later token");
}

absl::Status CheckNear(const LayerDescription& layer) {
  const AttentionDescription& attention = layer.self_attention;
  if (!attention.near.has_value()) return absl::OkStatus();
  if (attention.geometry.look_ahead != 0 && !attention.gate.has_value() &&
      !attention.latent.has_value() && attention.near->width % 2 == 1 &&
      attention.value.weight != nullptr && !layer.parallel &&
      attention.geometry.rotary == AttentionGeometry::kNoRotary &&
      !attention.query_norm.has_value() &&
      !layer.self_attention_norms.before.has_value()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "heads of near tokens read an odd number of them, in encoders, without "
      "rotary positions, a gate, or norms of queries or before attention");
}

absl::Status CheckBlocks(const StackDescription& stack,
                         const LayerDescription& layer) {
  const AttentionDescription& attention = layer.self_attention;
  if (!attention.blocks.has_value()) return absl::OkStatus();
  const AttentionGeometry& geometry = attention.geometry;
  if (stack.relative_attention.has_value() &&
      stack.relative_attention->block_bias != nullptr &&
      stack.relative_attention->bias != nullptr && attention.blocks->size > 0 &&
      geometry.look_ahead != 0 &&
      geometry.rotary == AttentionGeometry::kNoRotary &&
      attention.sinks == nullptr && !attention.key_norm.has_value() &&
      !attention.value_norm.has_value() && !attention.latent.has_value() &&
      attention.value.weight != nullptr && !layer.bottleneck.has_value()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "keys of blocks are supported in encoders whose relative attention is a "
      "bias, without rotary positions, sinks and norms of keys");
}

absl::Status CheckGlobal(const StackDescription& stack,
                         const LayerDescription& layer) {
  const AttentionDescription& attention = layer.self_attention;
  if (attention.global.has_value() == stack.global_tokens.has_value() &&
      (!attention.global.has_value() ||
       (attention.geometry.look_ahead != 0 &&
        attention.geometry.rotary == AttentionGeometry::kNoRotary &&
        !stack.relative_attention.has_value() && attention.sinks == nullptr &&
        !attention.query_norm.has_value() && !attention.key_norm.has_value() &&
        !attention.value_norm.has_value() && !attention.latent.has_value() &&
        attention.value.weight != nullptr && !layer.bottleneck.has_value()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "global tokens are supported in all layers of an encoder, without "
      "relative attention, rotary positions, sinks and norms of queries, keys "
      "and values");
}

absl::Status CheckMerged(const StackDescription& stack,
                         const LayerDescription& layer) {
  const AttentionDescription& attention = layer.self_attention;
  if (layer.merges() == stack.layer.front().merges() &&
      (!layer.merges() ||
       (!stack.relative_attention.has_value() &&
        !layer.recurrence.has_value() && !attention.latent.has_value() &&
        !attention.value_norm.has_value() &&
        attention.value.weight != nullptr && attention.geometry.reads < 0))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "self-attention that sees the source, too, has keys and values of its "
      "own in all layers, without relative attention and norms of values");
}

absl::Status CheckBottleneck(const StackDescription& stack,
                             const LayerDescription& layer) {
  const auto& bottleneck = layer.bottleneck;
  const auto& first = stack.layer.front().bottleneck;
  if (bottleneck.has_value() == first.has_value() &&
      (!bottleneck.has_value() ||
       (bottleneck->width == first->width && !layer.parallel &&
        !layer.experts.has_value() && !layer.self_attention.near.has_value() &&
        !layer.self_attention.latent.has_value() &&
        !layer.self_attention.gate.has_value() &&
        layer.self_attention.geometry.look_ahead != 0 &&
        !stack.relative_attention.has_value() &&
        layer.self_attention_norms.after.has_value() &&
        layer.feed_forward_norms.after.has_value()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "layers with a narrower stream are all of one width, in encoders, with "
      "norms after their sublayers, without experts and relative attention");
}

absl::Status CheckConvolution(const LayerDescription& layer) {
  if (!layer.convolution.has_value() ||
      (layer.convolution->width % 2 == 1 &&
       layer.self_attention.geometry.look_ahead != 0 && !layer.parallel &&
       !layer.bottleneck.has_value() &&
       layer.feed_forward_norms.after.has_value())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a convolution beside a layer reads an odd number of tokens, in "
      "encoders, "
      "with a norm after the feed-forward");
}

absl::Status CheckEmbeddings(const StackDescription& stack) {
  const EmbeddingTensors& embeddings = stack.embeddings;
  if (!embeddings.projects_tokens && !embeddings.trigrams) {
    return absl::OkStatus();
  }
  if (embeddings.projects_tokens && embeddings.projection.has_value() &&
      !stack.positions_after_norm && !stack.token_inputs.has_value() &&
      stack.positions == PositionEncoding::kLearned &&
      (!embeddings.trigrams ||
       (!stack.position_padding_id.has_value() && !stack.layer.empty() &&
        stack.layer[0].self_attention.geometry.look_ahead != 0))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "tokens that are projected alone have learned positions, and their "
      "neighbours are read in encoders only");
}

absl::Status CheckTokenInput(const StackDescription& stack,
                             const LayerDescription& layer) {
  if (!layer.token_input.has_value() || stack.token_inputs.has_value()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a layer reads inputs by token, but the stack has none");
}

}  // namespace

absl::StatusOr<Stack> Stack::Create(const StackDescription& description,
                                    std::shared_ptr<const TokenTable> tokens,
                                    const Formats& formats, Packing* packing) {
  TRIVIUM_RETURN_IF_ERROR(CheckEmbeddings(description));
  Stack stack;
  stack.embeddings = Embeddings(description, std::move(tokens));
  const float epsilon = description.norm_epsilon;
  if (description.embedding_norm.has_value()) {
    stack.embedding_norm = Norm::Create(*description.embedding_norm, epsilon);
  }
  stack.positions_after_norm = description.positions_after_norm;
  stack.projects_tokens = description.embeddings.projects_tokens;
  stack.trigrams = description.embeddings.trigrams;
  if (description.final_norm.has_value()) {
    stack.final_norm = Norm::Create(*description.final_norm, epsilon);
  }
  stack.rotary = description.rotary;
  stack.global_tokens = description.global_tokens;
  stack.d_model = description.d_model;
  stack.heads = description.heads;
  stack.vocabulary = description.vocabulary;
  stack.type_vocabulary = description.type_vocabulary;
  stack.max_positions = description.max_positions;
  if (description.embeddings.projection.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        stack.embedding_projection,
        packing->MakeLinear(formats,
                            std::span(&*description.embeddings.projection, 1)));
  }
  if (description.token_inputs.has_value()) {
    const TokenInputsDescription& inputs = *description.token_inputs;
    TokenInputs& packed = stack.token_inputs.emplace();
    packed.width = inputs.width;
    packed.scale = inputs.scale;
    packed.in_place = inputs.in_place;
    if (inputs.in_place != nullptr) {
      packed.tokens = std::make_shared<TokenTable>(*inputs.tokens);
    } else {
      TRIVIUM_ASSIGN_OR_RETURN(
          packed.tokens, packing->MakeTable(*inputs.tokens, formats.weights));
    }
    packed.norm = Norm::Create(inputs.norm, inputs.norm_epsilon);
    TRIVIUM_ASSIGN_OR_RETURN(
        packed.projection,
        packing->MakeLinear(formats, std::span(&inputs.projection, 1)));
  }
  if (description.relative_attention.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(stack.relative_attention,
                             RelativeAttention::Create(description));
  }
  const std::vector<LayerDescription>& layers = description.layer;
  for (size_t i = 0; i < layers.size(); ++i) {
    const size_t first = FirstEqual(layers, i);
    TRIVIUM_RETURN_IF_ERROR(
        CheckHeads(description, layers[i].self_attention.geometry));
    TRIVIUM_RETURN_IF_ERROR(CheckTokenInput(description, layers[i]));
    TRIVIUM_RETURN_IF_ERROR(CheckLatent(layers[i].self_attention));
    TRIVIUM_RETURN_IF_ERROR(CheckNear(layers[i]));
    TRIVIUM_RETURN_IF_ERROR(CheckBottleneck(description, layers[i]));
    TRIVIUM_RETURN_IF_ERROR(CheckConvolution(layers[i]));
    TRIVIUM_RETURN_IF_ERROR(CheckBlocks(description, layers[i]));
    TRIVIUM_RETURN_IF_ERROR(CheckGlobal(description, layers[i]));
    TRIVIUM_RETURN_IF_ERROR(CheckMerged(description, layers[i]));
    if (stack.relative_attention.has_value() &&
        stack.relative_attention->disentangled()) {
      TRIVIUM_RETURN_IF_ERROR(CheckPlain(layers[i].self_attention));
    }
    if (layers[i].cross_attention.has_value()) {
      TRIVIUM_RETURN_IF_ERROR(CheckPlain(*layers[i].cross_attention));
      TRIVIUM_RETURN_IF_ERROR(
          CheckHeads(description, layers[i].cross_attention->geometry));
    }
    if (first < i) {
      stack.layers.Repeat(first);
      continue;
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        Layer layer, Layer::Create(layers[i], description, formats, packing));
    stack.layers.Add(std::move(layer));
  }
  return stack;
}

absl::Status Stack::Smooth(const StackDescription& description,
                           const Formats& formats, const InputMaxima& maxima) {
  const std::vector<LayerDescription>& tensors = description.layer;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (FirstEqual(tensors, i) < i) continue;
    TRIVIUM_RETURN_IF_ERROR(layers[i].Smooth(tensors[i], formats, maxima));
  }
  return absl::OkStatus();
}

}  // namespace trivium
