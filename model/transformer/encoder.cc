#include "model/transformer/encoder.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace trivium {
namespace {

// Queries of one Attend call: enough to read each key once for several of
// them, few enough that their weights stay in the first cache.
constexpr int kQueryGroup = 16;

}  // namespace

Encoder::Encoder(const TransformerWeights& weights)
    : weights_(weights),
      stack_(*weights.encoder()),
      shape_(weights.encoder_kv_shape()),
      rows_(weights.arithmetic(), stack_.norm_placement, stack_.d_model),
      embedding_(stack_, weights.arithmetic()),
      heads_(weights.pooler(), weights.head()) {}

absl::Status Encoder::Run(std::span<SourceState* const> sources, int layers,
                          KvCache* cache, LinearScratch* scratch) {
  TRIVIUM_RETURN_IF_ERROR(Load(sources, scratch));
  const int begin = sources.front()->layers_done;
  const int all = static_cast<int>(stack_.layers.size());
  const int end = std::min(begin + layers, all);
  for (int layer = begin; layer < end; ++layer) {
    TRIVIUM_RETURN_IF_ERROR(SelfAttention(sources, layer, scratch));
    if (layer + 1 == all) KeepRead(sources);
    TRIVIUM_RETURN_IF_ERROR(rows_.FeedForward(
        stack_.layers[layer], stack_.FirstReader(layer + 1), scratch));
  }
  if (end == all) {
    rows_.Finish(stack_.final_norm);
    TRIVIUM_RETURN_IF_ERROR(CrossKeyValues(sources, cache, scratch));
    TRIVIUM_RETURN_IF_ERROR(heads_.Run(
        sources, [this](size_t s, int position) { return Row(s, position); },
        scratch));
  }
  for (size_t s = 0; s < sources.size(); ++s) {
    SourceState& source = *sources[s];
    source.layers_done = end;
    source.ready = end == all;
    const States states = source.ready ? source.options.states : States::kAll;
    size_t tokens = 0;
    if (states == States::kFirst) tokens = 1;
    if (states == States::kAll) tokens = source.tokens();
    if (tokens == 0) {
      source.states = {};
      continue;
    }
    const float* first = Row(s, 0);
    source.states.assign(first, first + tokens * stack_.d_model);
  }
  return absl::OkStatus();
}

// Fills rows_ with the sources' embeddings, or with where they had got to.
absl::Status Encoder::Load(std::span<SourceState* const> sources,
                           LinearScratch* scratch) {
  source_of_row_.clear();
  position_of_row_.clear();
  first_row_.clear();
  first_block_.clear();
  int blocks = 0;
  for (size_t s = 0; s < sources.size(); ++s) {
    const int tokens = sources[s]->tokens();
    first_row_.push_back(static_cast<int>(source_of_row_.size()));
    first_block_.push_back(blocks);
    blocks += PaddedKeys(tokens) / kTileTokens;
    for (int i = 0; i < tokens; ++i) {
      source_of_row_.push_back(static_cast<int>(s));
      position_of_row_.push_back(i);
    }
  }
  const int rows = static_cast<int>(source_of_row_.size());
  rows_.Resize(rows);
  query_.Reserve(static_cast<size_t>(rows) * stack_.d_model);
  tiles_.Reserve(KvTileBytes(shape_) * blocks);
  if (sources.front()->layers_done == 0) {
    return embedding_.Run(sources, &rows_, scratch);
  }
  for (int row = 0; row < rows; ++row) {
    const SourceState& source = *sources[source_of_row_[row]];
    std::copy_n(&source.states[static_cast<size_t>(position_of_row_[row]) *
                               stack_.d_model],
                stack_.d_model, rows_.x(row));
  }
  rows_.Embedded(std::nullopt,
                 stack_.FirstReader(sources.front()->layers_done));
  return absl::OkStatus();
}

absl::Status Encoder::SelfAttention(std::span<SourceState* const> sources,
                                    int layer_index, LinearScratch* scratch) {
  const Layer& layer = stack_.layers[layer_index];
  if (stack_.relative_attention.has_value()) {
    return relative_attention_.Run(*stack_.relative_attention, layer,
                                   layer_index,
                                   static_cast<int>(stack_.layers.size()),
                                   stack_.heads, sources, &rows_, scratch);
  }
  const int d_model = stack_.d_model;
  rows_.Begin(layer.self_norm, &layer.query_key_value);
  TRIVIUM_RETURN_IF_ERROR(layer.query_key_value.Forward(
      rows_.input, rows_.rows(), scratch, [&](int row, const auto& product) {
        FinishRow(product.Columns(0, d_model),
                  query_.data() + static_cast<size_t>(row) * d_model);
        float* key = scratch->row.data();
        FinishRow(product.Columns(d_model, 2 * d_model), key);
        const int position = position_of_row_[row];
        const int block =
            first_block_[source_of_row_[row]] + position / kTileTokens;
        StoreKeyValue(shape_, key, key + d_model, position % kTileTokens,
                      Tile(block));
      }));
  int row = 0;
  for (size_t s = 0; s < sources.size(); ++s) {
    Attend(sources[s], row, first_block_[s], layer_index);
    row += sources[s]->tokens();
  }
  rows_.other.Resize(rows_.rows(), d_model);
  for (row = 0; row < rows_.rows(); ++row) {
    rows_.other.Set(row, query_.data() + static_cast<size_t>(row) * d_model);
  }
  return layer.self_output.Forward(
      rows_.other, rows_.rows(), scratch, [&](int r, const auto& product) {
        rows_.Add(r, product, layer.self_norm, &layer.up);
      });
}

void Encoder::KeepRead(std::span<SourceState* const> sources) {
  kept_.clear();
  for (int row = 0; row < rows_.rows(); ++row) {
    const int s = source_of_row_[row];
    const int position = position_of_row_[row];
    if (position == 0) first_row_[s] = static_cast<int>(kept_.size());
    const SourceOptions& options = sources[s]->options;
    const bool read = options.cross_attention ||
                      options.states == States::kAll ||
                      (options.states == States::kFirst && position == 0) ||
                      heads_.Reads(*sources[s], position);
    if (read) kept_.push_back(row);
  }
  for (size_t i = 0; i < kept_.size(); ++i) {
    source_of_row_[i] = source_of_row_[kept_[i]];
    position_of_row_[i] = position_of_row_[kept_[i]];
  }
  source_of_row_.resize(kept_.size());
  position_of_row_.resize(kept_.size());
  rows_.Keep(kept_);
}

float* Encoder::Row(size_t s, int position) {
  const auto first = position_of_row_.begin() + first_row_[s];
  const auto end = s + 1 < first_row_.size()
                       ? position_of_row_.begin() + first_row_[s + 1]
                       : position_of_row_.end();
  return rows_.x(static_cast<int>(std::lower_bound(first, end, position) -
                                  position_of_row_.begin()));
}

// Bidirectional attention inside one source; the output replaces the queries.
void Encoder::Attend(SourceState* source, int first_row, int first_block,
                     int layer) {
  const int tokens = source->tokens();
  const int padded = PaddedKeys(tokens);
  tile_list_.clear();
  for (int b = 0; b * kTileTokens < tokens; ++b) {
    tile_list_.push_back(Tile(first_block + b));
  }
  const bool keep = source->options.attention;
  for (int first = 0; first < tokens; first += kQueryGroup) {
    const int queries = std::min(kQueryGroup, tokens - first);
    float* query =
        query_.data() + static_cast<size_t>(first_row + first) * stack_.d_model;
    float* weights = map_.Reserve(WeightsSize(shape_, queries, tokens, keep));
    trivium::Attend(
        {.shape = shape_,
         .tiles = tile_list_.data(),
         .keys = tokens,
         .queries = queries,
         .query = query,
         .query_stride = static_cast<size_t>(stack_.d_model),
         .scale = 1.0f / std::sqrt(static_cast<float>(shape_.head_size)),
         .out = query,
         .out_stride = static_cast<size_t>(stack_.d_model),
         .weights = weights,
         .keep_weights = keep});
    if (keep) KeepMaps(source, layer, first, queries, weights, padded);
  }
}

// Copies the selected heads' weights [heads, queries, padded] of queries
// [first, first + queries) into the source's maps.
void Encoder::KeepMaps(SourceState* source, int layer, int first, int queries,
                       const float* weights, int padded) {
  const int tokens = source->tokens();
  const SelectedMaps maps(source->options.selection,
                          static_cast<int>(stack_.layers.size()), stack_.heads);
  if (source->attention.empty()) {
    source->attention.resize(static_cast<size_t>(maps.count()) * tokens *
                             tokens);
  }
  for (int head = 0; head < stack_.heads; ++head) {
    const int map = maps.Find(layer, head);
    if (map < 0) continue;
    for (int q = 0; q < queries; ++q) {
      std::copy_n(
          weights + (static_cast<size_t>(head) * queries + q) * padded, tokens,
          &source->attention[(static_cast<size_t>(map) * tokens + first + q) *
                             tokens]);
    }
  }
}

// Keys and values of all decoder layers, once a source.
absl::Status Encoder::CrossKeyValues(std::span<SourceState* const> sources,
                                     KvCache* cache, LinearScratch* scratch) {
  if (!weights_.cross_key_value().has_value()) return absl::OkStatus();
  const bool wanted = std::any_of(
      sources.begin(), sources.end(),
      [](const SourceState* s) { return s->options.cross_attention; });
  if (!wanted) return absl::OkStatus();
  const int layers = static_cast<int>(weights_.decoder()->layers.size());
  const int d_model = weights_.decoder()->d_model;
  return weights_.cross_key_value()->Forward(
      rows_.input, rows_.rows(), scratch, [&](int row, const auto& product) {
        const SourceState& source = *sources[source_of_row_[row]];
        if (!source.options.cross_attention) return;
        const int position = position_of_row_[row];
        const int block = source.cross_blocks[position / kTileTokens];
        float* y = scratch->row.data();
        FinishRow(product, y);
        for (int layer = 0; layer < layers; ++layer) {
          const float* key = y + 2 * layer * d_model;
          StoreKeyValue(cache->shape(), key, key + d_model,
                        position % kTileTokens, cache->Tile(block, layer));
        }
      });
}

}  // namespace trivium
