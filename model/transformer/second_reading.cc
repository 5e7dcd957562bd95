// For each layer: self-attention over the rows read so far, cross-attention to
// the encoder's states, feed-forward. Self-attention has done with the tiles
// when cross-attention writes its keys and values over them.
#include "model/transformer/second_reading.h"

#include <utility>

#include "base/status.h"

namespace trivium {

absl::StatusOr<SecondStack> SecondStack::Create(
    const SecondReadingDescription& description, Stack stack,
    const Formats& formats, Packing* packing) {
  SecondStack second;
  second.stack = std::move(stack);
  second.start_id = description.start_id;
  if (second.stack.relative_attention &&
      second.stack.relative_attention->disentangled()) {
    return absl::InvalidArgumentError(
        "a second reading with disentangled attention is not supported");
  }
  for (const LayerDescription& layer : description.stack.layer) {
    if (!layer.cross_attention.has_value() || layer.recurrence.has_value()) {
      return absl::InvalidArgumentError(
          "a second reading needs attention to the encoder in every layer");
    }
    const LinearTensors parts[] = {layer.cross_attention->key,
                                   layer.cross_attention->value};
    TRIVIUM_ASSIGN_OR_RETURN(Linear linear,
                             packing->MakeLinear(formats, parts));
    second.cross_key_value.push_back(std::move(linear));
  }
  return second;
}

SecondReading::SecondReading(const SecondStack& weights, const Formats& formats)
    : weights_(weights),
      stack_(weights.stack),
      kv_type_(formats.encoder_kv),
      rows_(formats, stack_.d_model),
      embedding_(stack_, formats),
      attention_(formats),
      turns_(stack_.rotary) {}

absl::Status SecondReading::Run(std::span<SourceState* const> sources,
                                const FirstReading& first,
                                Workspace* workspace) {
  Arrange(sources);
  TRIVIUM_RETURN_IF_ERROR(Embed(sources, workspace));
  const int layers = static_cast<int>(stack_.layers.size());
  for (int layer = 0; layer < layers; ++layer) {
    TRIVIUM_RETURN_IF_ERROR(SelfAttention(layer, workspace));
    TRIVIUM_RETURN_IF_ERROR(CrossAttention(layer, first, workspace));
    TRIVIUM_RETURN_IF_ERROR(rows_.FeedForward(
        stack_.layers[layer], stack_.FirstReader(layer + 1), workspace));
  }
  rows_.Finish(stack_.final_norm, workspace);
  return absl::OkStatus();
}

void SecondReading::Arrange(std::span<SourceState* const> sources) {
  first_row_.assign(sources.size(), -1);
  first_block_.assign(sources.size(), -1);
  places_.clear();
  groups_.clear();
  int blocks = 0;
  for (size_t s = 0; s < sources.size(); ++s) {
    if (!sources[s]->options.logits) continue;
    const int tokens = sources[s]->tokens();
    first_row_[s] = static_cast<int>(places_.size());
    first_block_[s] = blocks;
    groups_.push_back({.first = first_row_[s], .rows = tokens, .keys = tokens});
    for (int i = 0; i < tokens; ++i) {
      places_.push_back({blocks + i / kTileTokens, i});
    }
    blocks += PaddedKeys(tokens) / kTileTokens;
  }
  while (static_cast<int>(blocks_.size()) < blocks) {
    blocks_.push_back(static_cast<int>(blocks_.size()));
  }
  for (AttentionGroup& group : groups_) {
    group.blocks = blocks_.data() + places_[group.first].block;
  }
}

absl::Status SecondReading::Embed(std::span<SourceState* const> sources,
                                  Workspace* workspace) {
  const int rows = static_cast<int>(places_.size());
  rows_.Resize(rows);
  turns_.Set(
      rows, [&](int row) { return places_[row].position; }, workspace);
  tokens_.clear();
  for (const SourceState* const source : sources) {
    if (!source->options.logits) continue;
    int32_t token = weights_.start_id;
    int place = 0;
    for (const int32_t next : source->input.ids) {
      tokens_.push_back({token, stack_.embeddings.Position(token, place++)});
      token = next;
    }
  }
  return embedding_.Run(tokens_, &rows_, workspace);
}

KvTiles SecondReading::Tiles(const AttentionGeometry& geometry) {
  KvTiles tiles;
  tiles.shape = {kv_type_, geometry.kv_heads, geometry.head_size};
  tiles.stride = KvTileBytes(tiles.shape);
  tiles.first = tiles_.Reserve(tiles.stride * (places_.back().block + 1));
  return tiles;
}

absl::Status SecondReading::SelfAttention(int index, Workspace* workspace) {
  const Layer& layer = stack_.layers[index];
  return attention_.Run(
      {.weights = layer.self_attention,
       .layer = index,
       .groups = groups_,
       .places = places_,
       .turns = &turns_,
       .tiles = Tiles(layer.self_attention.geometry),
       .relative =
           stack_.relative_attention ? &*stack_.relative_attention : nullptr,
       .reader = &layer.cross_attention->projection},
      &rows_, workspace);
}

absl::Status SecondReading::CrossAttention(int index, const FirstReading& first,
                                           Workspace* workspace) {
  const Layer& layer = stack_.layers[index];
  const AttentionGeometry& geometry = layer.cross_attention->geometry;
  const KvTiles tiles = Tiles(geometry);
  TRIVIUM_RETURN_IF_ERROR(weights_.cross_key_value[index].Forward(
      first.input, static_cast<int>(first.source_of_row.size()), workspace,
      [&](int row, const auto& product, float* y) {
        const int block = first_block_[first.source_of_row[row]];
        if (block < 0) return;
        const int position = first.position_of_row[row];
        FinishRow(product, y);
        StoreKeyValue(tiles.shape, y, y + geometry.kv_width(),
                      position % kTileTokens,
                      tiles[block + position / kTileTokens]);
      },
      [&](int row) {
        return first.position_of_row[row] % kSlotsTogether == 0;
      }));
  return attention_.Run({.weights = *layer.cross_attention,
                         .layer = index,
                         .groups = groups_,
                         .tiles = tiles,
                         .reader = layer.feed_forward_reader()},
                        &rows_, workspace);
}

}  // namespace trivium
