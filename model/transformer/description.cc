// Visits every tensor of a description. Each struct that holds tensors is
// unpacked by a structured binding that names all its members, so that a new
// member does not compile until it is visited here, too.
#include "model/transformer/description.h"

#include <cmath>
#include <set>

namespace trivium {
namespace {

using Visit = absl::FunctionRef<void(const TensorView&)>;

struct Visitor {
  Visit visit;

  void ForEach(const TensorView* tensor) const {
    if (tensor != nullptr) visit(*tensor);
  }

  void ForEach(const LinearTensors& tensors) const {
    const auto& [weight, bias] = tensors;
    for (const TensorView* tensor : {weight, bias}) ForEach(tensor);
  }

  void ForEach(const NormTensors& tensors) const {
    const auto& [weight, bias, kind, one_plus_weight, epsilon] = tensors;
    for (const TensorView* tensor : {weight, bias}) ForEach(tensor);
  }

  void ForEach(const SublayerNorms& norms) const {
    const auto& [before, of_output, after, factor, of_sum] = norms;
    ForEach(before);
    ForEach(of_output);
    ForEach(after);
    ForEach(of_sum);
  }

  template <typename Tensors>
  void ForEach(const std::optional<Tensors>& tensors) const {
    if (tensors.has_value()) ForEach(*tensors);
  }

  void ForEach(const AttentionDescription& description) const {
    const auto& [geometry, query, key, value, output, query_norm, key_norm,
                 norms_after_rotary, sinks, value_norm, latent, gate, near,
                 blocks, global] = description;
    for (const auto* linear : {&query, &key, &value, &output}) {
      ForEach(*linear);
    }
    ForEach(query_norm);
    ForEach(key_norm);
    ForEach(sinks);
    ForEach(value_norm);
    ForEach(latent);
    ForEach(gate);
    ForEach(near);
    if (blocks.has_value()) ForEach(blocks->norm);
    ForEach(global);
  }

  void ForEach(const GlobalAttentionDescription& description) const {
    const auto& [query, key, value] = description;
    for (const auto* linear : {&query, &key, &value}) ForEach(*linear);
  }

  void ForEach(const NearHeadsDescription& description) const {
    const auto& [width, depthwise, span, weights, value] = description;
    ForEach(depthwise);
    for (const auto* linear : {&span, &weights, &value}) ForEach(*linear);
  }

  void ForEach(const LatentDescription& description) const {
    const auto& [rank, turned, plain, value, query_down, query_norm, norm,
                 norm_epsilon, key_up, value_up] = description;
    ForEach(query_down);
    ForEach(query_norm);
    ForEach(norm);
    for (const auto* heads : {&key_up, &value_up}) {
      for (const LinearTensors& linear : *heads) ForEach(linear);
    }
  }

  void ForEach(const RecurrenceDescription& description) const {
    const auto& [input, forget] = description;
    for (const auto* linear : {&input, &forget}) ForEach(*linear);
  }

  void ForEach(const ExpertsDescription& description) const {
    const auto& [router, chosen, over_all, scores, nearness, correction, groups,
                 chosen_groups, groups_by_two, factor, scales, experts, bias,
                 shared, shared_gate, beside] = description;
    ForEach(router);
    for (const TensorView* tensor : {correction, scales, bias, shared_gate}) {
      ForEach(tensor);
    }
    for (const ExpertTensors& expert : experts) ForEach(expert);
    ForEach(shared);
    ForEach(beside);
  }

  void ForEach(const ExpertTensors& description) const {
    const auto& [gate, up, down] = description;
    for (const auto* linear : {&gate, &up, &down}) ForEach(*linear);
  }

  void ForEach(const BesideNorms& description) const {
    const auto& [router, of_input, of_experts, of_shared] = description;
    for (const auto* norm : {&router, &of_input, &of_experts, &of_shared}) {
      ForEach(*norm);
    }
  }

  void ForEach(const MixerDescription& description) const {
    const auto& [kind, gate, channels, channel_gate, rate, share, selection,
                 selection_epsilon, rate_width, output, width, convolution,
                 convolution_bias, activation, heads, key_heads, key_size,
                 value_size, decay, rate_bias, skip, least_rate, most_rate,
                 norm, norm_size, norm_after_gate] = description;
    ForEach(gate);
    for (const LinearTensors& part : channels) ForEach(part);
    for (const auto* linear : {&channel_gate, &rate, &share, &selection}) {
      ForEach(*linear);
    }
    ForEach(output);
    for (const TensorView* tensor :
         {convolution, convolution_bias, decay, rate_bias, skip}) {
      ForEach(tensor);
    }
    ForEach(norm);
  }

  void ForEach(const LayerDescription& tensors) const {
    const auto& [self_attention, recurrence, mixer, position_key,
                 position_query, position_bias, self_attention_norms,
                 cross_attention, cross_attention_norms, gate, up, down,
                 experts, feed_forward_norms, parallel, token_input, factor,
                 earlier_feed_forwards, bottleneck, convolution,
                 feeds_forward_only] = tensors;
    ForEach(self_attention);
    ForEach(recurrence);
    ForEach(mixer);
    ForEach(position_key);
    ForEach(position_query);
    ForEach(position_bias);
    ForEach(self_attention_norms);
    ForEach(cross_attention);
    ForEach(cross_attention_norms);
    ForEach(gate);
    ForEach(up);
    ForEach(down);
    ForEach(experts);
    ForEach(feed_forward_norms);
    ForEach(token_input);
    for (const auto& feed_forward : earlier_feed_forwards) {
      ForEach(feed_forward);
    }
    ForEach(bottleneck);
    ForEach(convolution);
  }

  void ForEach(const ConvolutionDescription& description) const {
    const auto& [width, product, activation, norm] = description;
    ForEach(product);
    ForEach(norm);
  }

  void ForEach(const FeedForwardTensors& tensors) const {
    const auto& [up, down, norms] = tensors;
    ForEach(up);
    ForEach(down);
    ForEach(norms);
  }

  void ForEach(const BottleneckDescription& description) const {
    const auto& [width, input, input_norm, attention, attention_norm, output,
                 output_norm] = description;
    ForEach(input);
    ForEach(input_norm);
    ForEach(attention);
    ForEach(attention_norm);
    ForEach(output);
    ForEach(output_norm);
  }

  void ForEach(const TokenInputTensors& tensors) const {
    const auto& [gate, output, norm] = tensors;
    ForEach(gate);
    ForEach(output);
    ForEach(norm);
  }

  void ForEach(const TokenInputsDescription& description) const {
    const auto& [width, tokens, in_place, scale, projection, norm,
                 norm_epsilon] = description;
    ForEach(tokens);
    ForEach(projection);
    ForEach(norm);
  }

  void ForEach(const EmbeddingTensors& tensors) const {
    const auto& [tokens, positions, types, projection, projects_tokens,
                 trigrams] = tensors;
    for (const TensorView* tensor : {tokens, positions, types}) {
      ForEach(tensor);
    }
    ForEach(projection);
  }

  void ForEach(const RelativeAttentionDescription& description) const {
    const auto& [buckets, span, max_distance, embeddings, norm, bias, slopes,
                 bf16_scale, block_bias] = description;
    ForEach(block_bias);
    ForEach(embeddings);
    ForEach(norm);
    ForEach(bias);
  }

  void ForEach(const StackDescription& description) const {
    const auto& [layers, d_model, heads, feed_forward, vocabulary,
                 max_positions, activation, gate_clip, norm_epsilon, positions,
                 position_offset, position_padding_id, type_vocabulary,
                 embedding_scale, relative_attention, rotary, global_tokens,
                 embeddings, embedding_norm, positions_after_norm, token_inputs,
                 layer, final_norm] = description;
    ForEach(relative_attention);
    ForEach(embeddings);
    ForEach(embedding_norm);
    ForEach(token_inputs);
    for (const LayerDescription& tensors : layer) ForEach(tensors);
    ForEach(final_norm);
  }

  void ForEach(const PoolerDescription& description) const {
    const auto& [dense, activation] = description;
    ForEach(dense);
  }

  void ForEach(const HeadDescription& description) const {
    const auto& [kind, input, dense, activation, norm, output, padding_id,
                 end_id, sparse] = description;
    ForEach(dense);
    ForEach(norm);
    ForEach(output);
  }
};

}  // namespace

AttentionGeometry AttentionGeometry::Even(int d_model, int heads) {
  const int size = d_model / heads;
  return {.heads = heads,
          .kv_heads = heads,
          .head_size = size,
          .scale = 1.0f / std::sqrt(static_cast<float>(size))};
}

void ForEachTensor(const TransformerDescription& description, Visit visit) {
  const auto& [encoder, decoder, second_reading, output_projection,
               output_narrowing, logit_factor, logit_soft_cap, shortlist,
               pooler, head, memory] = description;
  const Visitor visitor = {visit};
  visitor.ForEach(encoder);
  visitor.ForEach(decoder);
  if (second_reading.has_value()) visitor.ForEach(second_reading->stack);
  visitor.ForEach(output_projection);
  visitor.ForEach(output_narrowing);
  visitor.ForEach(pooler);
  visitor.ForEach(head);
}

int64_t CountParameters(const TransformerDescription& description) {
  std::set<const TensorView*> seen;
  int64_t count = 0;
  ForEachTensor(description, [&](const TensorView& tensor) {
    if (seen.insert(&tensor).second) count += tensor.elements();
  });
  return count;
}

}  // namespace trivium
