// Matrices are stored in the format of the weights; int8 adds a scale and an
// offset per output. Vectors that are added are f32. Token tables are f32, or
// bf16 if the weights are stored in less than f32. A token table that is also
// an output's weight is stored twice.
#include "model/transformer/memory_plan.h"

#include <set>
#include <vector>

#include "model/transformer/grouped_linear.h"
#include "model/transformer/kv_cache.h"
#include "model/transformer/mixer.h"
#include "model/transformer/transformer.h"

namespace trivium {
namespace {

int64_t MatrixBytes(const TensorView& weight, WeightType type) {
  switch (type) {
    case WeightType::kF32:
      return 4 * weight.elements();
    case WeightType::kBf16:
      return 2 * weight.elements();
    case WeightType::kInt8:
      return weight.elements() + 2 * 4 * weight.shape.front();
    case WeightType::kGroups:
    case WeightType::kInt4:
      return GroupedBytes(weight, type);
  }
  return 0;
}

// Plans a decoder's states, keys and values.
void PlanKeyValues(const TransformerDescription& description, KvType type,
                   MemoryPlan* plan) {
  const StackDescription& decoder = *description.decoder;
  std::vector<KvLayout::Layer> layers;
  std::vector<StateShape> states;
  for (const LayerDescription& layer : decoder.layer) {
    layers.push_back(KvLayout::LayerOf(layer.self_attention.geometry,
                                       layer.attends(), type));
    states.push_back(StateShapeOf(layer, decoder.d_model));
  }
  const KvLayout layout(layers);
  const auto block_bytes =
      static_cast<int64_t>(KvCache::BlockBytes(layout, states));
  const int state_blocks =
      StateLayout(states, static_cast<size_t>(block_bytes)).blocks();
  const EngineLimits limits = {.block_tokens = kTileTokens,
                               .state_blocks = state_blocks,
                               .windows = layout.windows()};
  int64_t blocks = limits.HypothesisBlocks(decoder.max_positions);
  if (description.encoder.has_value()) {
    blocks += limits.SourceBlocks(description.encoder->max_positions);
  }
  plan->kv_bytes_per_token = block_bytes * layout.groups() / kTileTokens;
  plan->state_bytes = block_bytes * state_blocks;
  plan->longest_kv_bytes = block_bytes * blocks;
}

// The bytes of a token table that is not shared with the output projection.
int64_t TableBytes(const TensorView& tokens, const Formats& formats) {
  if (formats.weights == WeightType::kF32) return 4 * tokens.elements();
  if (InGroups(formats.weights) && tokens.packed == nullptr &&
      BlockElements(tokens.dtype) > 1) {
    return tokens.elements() / BlockElements(tokens.dtype) *
           DTypeSize(tokens.dtype);
  }
  return 2 * tokens.elements();
}

}  // namespace

MemoryPlan PlanMemory(const TransformerDescription& description,
                      const Formats& wanted) {
  const Formats formats = Transformer::FormatsOf(description, wanted);
  MemoryPlan plan;
  std::set<const TensorView*> seen;
  const auto add = [&](const TensorView* tensor, int64_t bytes) {
    if (tensor != nullptr && seen.insert(tensor).second) {
      plan.weight_bytes += bytes;
    }
  };
  std::vector<const StackDescription*> stacks;
  if (description.encoder) stacks.push_back(&*description.encoder);
  if (description.decoder) stacks.push_back(&*description.decoder);
  if (description.second_reading) {
    stacks.push_back(&description.second_reading->stack);
  }
  for (const StackDescription* const stack : stacks) {
    const auto& [tokens, positions, types, projection, projects_tokens,
                 trigrams] = stack->embeddings;
    add(tokens, Transformer::SharesTokens(description, formats) &&
                        tokens == description.output_projection.weight
                    ? 0
                    : TableBytes(*tokens, formats));
    // Tables of tokens have one type, whatever they are for.
    if (const auto& inputs = stack->token_inputs; inputs.has_value()) {
      add(inputs->tokens, inputs->in_place != nullptr
                              ? 0
                              : TableBytes(*inputs->tokens, formats));
    }
    for (const TensorView* table : {positions, types}) {
      if (table != nullptr) add(table, 4 * table->elements());
    }
  }
  const auto add_output = [&](const LinearTensors& output) {
    if (output.weight == nullptr || !seen.contains(output.weight)) return;
    plan.weight_bytes +=
        MatrixBytes(*output.weight, OutputFormats(formats).weights);
  };
  add_output(description.output_projection);
  if (description.head.has_value()) add_output(description.head->output);
  // A selective scan has two large products; all else that it reads is f32.
  for (const StackDescription* const stack : stacks) {
    for (const LayerDescription& layer : stack->layer) {
      if (!layer.mixer.has_value() || !layer.mixer->selection) continue;
      for (const TensorView* tensor :
           {layer.mixer->selection->weight, layer.mixer->rate->weight,
            layer.mixer->decay}) {
        if (tensor != nullptr) add(tensor, 4 * tensor->elements());
      }
    }
  }
  ForEachTensor(description, [&](const TensorView& tensor) {
    const bool matrix = tensor.shape.size() == 2 && tensor.shape.front() > 1;
    add(&tensor,
        matrix ? MatrixBytes(tensor, formats.weights) : 4 * tensor.elements());
  });
  if (description.decoder.has_value()) {
    PlanKeyValues(description, formats.decoder_kv, &plan);
  }
  return plan;
}

}  // namespace trivium
