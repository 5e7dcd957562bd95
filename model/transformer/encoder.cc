// Order of a run: Load fills the rows with embeddings or with the states that
// the last run left; then for each layer self-attention and feed-forward. What
// always holds:
// - All rows of a source are consecutive and ascending by position. first_row_,
//   source_of_row_ and position_of_row_ map between sources and rows.
// - Keys and values of self-attention live in tiles_, which the next layer
//   overwrites; each source has blocks of its own there, numbered from 0.
// - After the last attention most rows may be unread: a classifier needs only
//   the first token's. KeepRead drops them before the last feed-forward, so
//   rows are no longer one per token; Row() then searches.
// - Hidden states are stored before the layer that reads them, and the final
//   ones after the final norm.
// - A row's result depends on its source alone, whichever sources share a run.
#include "model/transformer/encoder.h"

#include <algorithm>
#include <vector>

#include "base/finite.h"
#include "base/status.h"

namespace trivium {
namespace {

// Returns how many of a source's first tokens are global.
int CountGlobal(const std::optional<GlobalTokens>& tokens,
                std::span<const int32_t> ids) {
  if (!tokens.has_value()) return 0;
  if (!tokens->end_id.has_value()) return 1;
  const auto end = std::find(ids.begin(), ids.end(), *tokens->end_id);
  return end == ids.end() ? 0 : static_cast<int>(end - ids.begin());
}

}  // namespace

Encoder::Encoder(const Transformer& weights)
    : weights_(weights),
      stack_(*weights.encoder()),
      rows_(weights.formats(), stack_.d_model),
      near_(weights.formats()),
      embedding_(stack_, weights.formats()),
      attention_(weights.formats()),
      heads_(weights.pooler(), weights.head()),
      turns_(stack_.rotary) {
  const auto& bottleneck = stack_.layers[0].bottleneck;
  if (bottleneck.has_value()) {
    inner_.emplace(weights.formats(), bottleneck->width);
  }
  if (const SecondStack* const second = weights.second_stack()) {
    second_reading_.emplace(*second, weights.formats());
  }
}

absl::Status Encoder::Run(std::span<SourceState* const> sources, int layers,
                          KvCache* cache, Workspace* workspace) {
  TRIVIUM_RETURN_IF_ERROR(Load(sources, workspace));
  const int begin = sources.front()->layers_done;
  const int all = static_cast<int>(stack_.layers.size());
  const int end = std::min(begin + layers, all);
  if (begin == 0) KeepHidden(sources, 0);
  for (int layer = begin; layer < end; ++layer) {
    TRIVIUM_RETURN_IF_ERROR(RunLayer(layer, sources, workspace));
    if (layer + 1 < all) KeepHidden(sources, layer + 1);
  }
  if (end == all) {
    rows_.Finish(stack_.final_norm, workspace);
    KeepHidden(sources, all);
    for (int row = 0; row < rows_.rows(); ++row) {
      SourceState& source = *sources[source_of_row_[row]];
      if (!source.options.cross_attention) continue;
      source.finite &=
          AllFinite({rows_.x(row), static_cast<size_t>(stack_.d_model)});
    }
    TRIVIUM_RETURN_IF_ERROR(CrossKeyValues(sources, cache, workspace));
    TRIVIUM_RETURN_IF_ERROR(RunHeads(sources, workspace));
  }
  for (size_t s = 0; s < sources.size(); ++s) {
    SourceState& source = *sources[s];
    source.layers_done = end;
    source.ready = end == all;
    const States states = source.ready ? source.options.states : States::kAll;
    if (states == States::kNone) {
      source.states = {};
      continue;
    }
    const bool one = states != States::kAll;
    const float* first =
        Row(s, states == States::kLast ? source.tokens() - 1 : 0);
    source.states.assign(
        first, first + static_cast<size_t>(one ? 1 : source.tokens()) *
                           stack_.d_model);
  }
  return absl::OkStatus();
}

// Fills rows_ with the sources' embeddings, or with the states of their last
// finished layer.
absl::Status Encoder::Load(std::span<SourceState* const> sources,
                           Workspace* workspace) {
  Arrange(sources);
  const int rows = static_cast<int>(source_of_row_.size());
  rows_.Resize(rows);
  turns_.Set(
      rows, [&](int row) { return places_[row].position; }, workspace);
  if (sources.front()->layers_done == 0) {
    tokens_.clear();
    for (const SourceState* source : sources) {
      const auto& [ids, types, route, unattended] = source->input;
      stack_.embeddings.Positions(ids, &positions_);
      for (size_t i = 0; i < ids.size(); ++i) {
        tokens_.push_back(
            {ids[i], positions_[i], types.empty() ? 0 : types[i]});
      }
    }
    TRIVIUM_RETURN_IF_ERROR(embedding_.Run(tokens_, &rows_, workspace));
    for (const AttentionGroup& group : groups_) {
      if (group.trace == nullptr) continue;
      TraceEmbeddings(stack_,
                      std::span(tokens_).subspan(group.first, group.rows),
                      rows_.x(group.first), 0, group.trace);
    }
    return absl::OkStatus();
  }
  for (int row = 0; row < rows; ++row) {
    const SourceState& source = *sources[source_of_row_[row]];
    std::copy_n(&source.states[static_cast<size_t>(position_of_row_[row]) *
                               stack_.d_model],
                stack_.d_model, rows_.x(row));
  }
  rows_.Embedded(std::nullopt, workspace);
  return absl::OkStatus();
}

// Creates a row for each token, and for each source a group whose keys and
// values have their own blocks.
void Encoder::Arrange(std::span<SourceState* const> sources) {
  source_of_row_.clear();
  position_of_row_.clear();
  first_row_.clear();
  groups_.clear();
  places_.clear();
  maps_.clear();
  int blocks = 0;
  for (size_t s = 0; s < sources.size(); ++s) {
    SourceState& source = *sources[s];
    const int tokens = source.tokens();
    const int first = static_cast<int>(source_of_row_.size());
    first_row_.push_back(first);
    groups_.push_back({.first = first,
                       .rows = tokens,
                       .keys = tokens - source.input.unattended});
    groups_.back().global =
        std::min(CountGlobal(stack_.global_tokens, source.input.ids),
                 groups_.back().keys);
    if (source.options.attention) {
      maps_.emplace_back(source.options.selection,
                         static_cast<int>(stack_.layers.size()), stack_.heads,
                         tokens, tokens, &source.attention);
      groups_.back().maps = &maps_.back();
    }
    if (source.options.traced_head.has_value()) {
      groups_.back().trace = &source.trace;
    }
    for (int i = 0; i < tokens; ++i) {
      source_of_row_.push_back(static_cast<int>(s));
      position_of_row_.push_back(i);
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

absl::Status Encoder::RunLayer(int index, std::span<SourceState* const> sources,
                               Workspace* workspace) {
  const Layer& layer = stack_.layers[index];
  const bool last = index + 1 == static_cast<int>(stack_.layers.size());
  const Linear* const next = stack_.FirstReader(index + 1);
  if (layer.convolution.has_value()) {
    GatherNear(*layer.convolution, workspace);
    TRIVIUM_RETURN_IF_ERROR(SelfAttention(index, &rows_, workspace));
    TRIVIUM_RETURN_IF_ERROR(
        rows_.FeedForward(layer, /*reader=*/nullptr, workspace));
    TRIVIUM_RETURN_IF_ERROR(
        AddConvolution(*layer.convolution, next, workspace));
    if (last) KeepRead(sources);
    return absl::OkStatus();
  }
  if (!layer.bottleneck.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(SelfAttention(index, &rows_, workspace));
    if (last) KeepRead(sources);
    return rows_.FeedForward(layer, next, workspace);
  }
  const size_t kv_width = layer.self_attention.geometry.kv_width();
  TRIVIUM_RETURN_IF_ERROR(rows_.EnterBottleneck(
      layer, &*inner_, values_.Reserve(kv_width * rows_.rows()), workspace));
  TRIVIUM_RETURN_IF_ERROR(SelfAttention(index, &*inner_, workspace));
  if (last) KeepRead(sources);
  TRIVIUM_RETURN_IF_ERROR(
      inner_->FeedForward(layer, &layer.bottleneck->output, workspace));
  return rows_.LeaveBottleneck(layer, &*inner_, next, workspace);
}

absl::Status Encoder::SelfAttention(int index, Rows* rows,
                                    Workspace* workspace) {
  const Layer& layer = stack_.layers[index];
  const AttentionGeometry& geometry = layer.self_attention.geometry;
  AttentionTask task = {.weights = layer.self_attention,
                        .layer = index,
                        .groups = groups_,
                        .places = places_,
                        .turns = &turns_,
                        .relative = stack_.relative_attention
                                        ? &*stack_.relative_attention
                                        : nullptr,
                        .reader = layer.feed_forward_reader(),
                        .values = values_.data()};
  if (task.in_tiles()) {
    task.tiles.shape = geometry.kv_shape(weights_.formats().encoder_kv);
    task.tiles.stride = KvTileBytes(task.tiles.shape);
    task.tiles.first =
        tiles_.Reserve(task.tiles.stride * (places_.back().block + 1));
  }
  return attention_.Run(task, rows, workspace);
}

void Encoder::GatherNear(const Convolution& convolution, Workspace* workspace) {
  const int width = convolution.width, d_model = stack_.d_model;
  near_.Resize(rows_.rows(), d_model * width);
  workspace->team().Run(
      rows_.rows(), Workspace::kLeastRows, [&](int begin, int end, int thread) {
        float* const near = workspace->thread(thread).row.Reserve(near_.k());
        for (int row = begin; row < end; ++row) {
          std::fill_n(near, near_.k(), 0.0f);
          const AttentionGroup& source = groups_[source_of_row_[row]];
          for (int k = 0; k < width; ++k) {
            const int from = row - width / 2 + k;
            if (from < source.first || from >= source.first + source.rows) {
              continue;
            }
            const float* const x = rows_.x(from);
            for (int i = 0; i < d_model; ++i) near[i * width + k] = x[i];
          }
          near_.Set(row, near);
        }
      });
}

absl::Status Encoder::AddConvolution(const Convolution& convolution,
                                     const Linear* reader,
                                     Workspace* workspace) {
  return convolution.product.Forward(
      near_, rows_.rows(), workspace,
      [&](int row, const auto& product, float* y) {
        ActivateRow(product, convolution.activation, y);
        rows_.Add(row, {.f32 = y, .n = stack_.d_model}, convolution.norms,
                  reader, y);
      });
}

void Encoder::KeepRead(std::span<SourceState* const> sources) {
  kept_.clear();
  for (int row = 0; row < rows_.rows(); ++row) {
    const int s = source_of_row_[row];
    const int position = position_of_row_[row];
    if (position == 0) first_row_[s] = static_cast<int>(kept_.size());
    const bool last = position + 1 == sources[s]->tokens();
    const SourceOptions& options = sources[s]->options;
    const bool all_hidden =
        !options.hidden_layers.empty() &&
        options.hidden_layers.back() == static_cast<int>(stack_.layers.size());
    const bool again = second_reading_.has_value() && options.logits;
    const bool read = options.cross_attention || again ||
                      options.states == States::kAll || all_hidden ||
                      (options.states == States::kFirst && position == 0) ||
                      (options.states == States::kLast && last) ||
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
  if (inner_.has_value()) inner_->Keep(kept_);
}

void Encoder::KeepHidden(std::span<SourceState* const> sources, int layer) {
  for (size_t s = 0; s < sources.size(); ++s) {
    SourceState& source = *sources[s];
    const std::vector<int>& wanted = source.options.hidden_layers;
    if (!std::binary_search(wanted.begin(), wanted.end(), layer)) continue;
    const float* first = Row(s, 0);
    source.hidden.insert(
        source.hidden.end(), first,
        first + static_cast<size_t>(source.tokens()) * stack_.d_model);
  }
}

float* Encoder::Row(size_t s, int position) {
  const auto first = position_of_row_.begin() + first_row_[s];
  const auto end = s + 1 < first_row_.size()
                       ? position_of_row_.begin() + first_row_[s + 1]
                       : position_of_row_.end();
  return rows_.x(static_cast<int>(std::lower_bound(first, end, position) -
                                  position_of_row_.begin()));
}

absl::Status Encoder::RunHeads(std::span<SourceState* const> sources,
                               Workspace* workspace) {
  const bool again =
      second_reading_.has_value() &&
      std::any_of(sources.begin(), sources.end(),
                  [](const SourceState* s) { return s->options.logits; });
  if (!again) {
    return heads_.Run(
        sources, [this](size_t s, int position) { return Row(s, position); },
        workspace);
  }
  TRIVIUM_RETURN_IF_ERROR(second_reading_->Run(
      sources,
      {.input = rows_.input,
       .source_of_row = std::span(source_of_row_).first(rows_.rows()),
       .position_of_row = std::span(position_of_row_).first(rows_.rows())},
      workspace));
  return heads_.Run(
      sources,
      [this](size_t s, int position) {
        return second_reading_->Row(s, position);
      },
      workspace);
}

// Computes the cross keys and values of all decoder layers, once per source.
// Where decoders join these keys with their own, the slots that the last block
// does not use get zeros, see joined_keys.cc.
absl::Status Encoder::CrossKeyValues(std::span<SourceState* const> sources,
                                     KvCache* cache, Workspace* workspace) {
  if (!weights_.cross_key_value().has_value()) return absl::OkStatus();
  const bool wanted = std::any_of(
      sources.begin(), sources.end(),
      [](const SourceState* s) { return s->options.cross_attention; });
  if (!wanted) return absl::OkStatus();
  const int layers = static_cast<int>(weights_.decoder()->layers.size());
  const KvShape shape = cache->Tiles(0).shape;
  const int width = shape.heads * shape.head_size;
  TRIVIUM_RETURN_IF_ERROR(weights_.cross_key_value()->Forward(
      rows_.input, rows_.rows(), workspace,
      [&](int row, const auto& product, float* y) {
        const SourceState& source = *sources[source_of_row_[row]];
        if (!source.options.cross_attention) return;
        const int position = position_of_row_[row];
        FinishRow(product, y);
        for (int layer = 0; layer < layers; ++layer) {
          const std::vector<int>& blocks =
              source.cross_tables[cache->layout().group(layer)].blocks;
          const Attention& reader =
              weights_.decoder()->layers[layer].self_attention;
          float* key = y + 2 * layer * width;
          if (reader.merged && reader.key_norm.has_value()) {
            reader.key_norm->ApplyToHeads(width, key);
          }
          StoreKeyValue(shape, key, key + width, position % kTileTokens,
                        cache->Tiles(layer)[blocks[position / kTileTokens]]);
        }
      },
      [this](int row) { return position_of_row_[row] % kSlotsTogether == 0; }));
  if (!weights_.decoder()->layers[0].self_attention.merged) {
    return absl::OkStatus();
  }
  const std::vector<float> zeros(2 * width);
  for (const SourceState* source : sources) {
    if (!source->options.cross_attention) continue;
    for (int layer = 0; layer < layers; ++layer) {
      const int block =
          source->cross_tables[cache->layout().group(layer)].blocks.back();
      for (int i = source->tokens(); i % kTileTokens != 0; ++i) {
        StoreKeyValue(shape, zeros.data(), zeros.data() + width,
                      i % kTileTokens, cache->Tiles(layer)[block]);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace trivium
