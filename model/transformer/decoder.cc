#include "model/transformer/decoder.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace trivium {
namespace {

// Queries of one Attend call, as in the encoder.
constexpr int kQueryGroup = 16;
// Tokens of the next call whose keys and values are fetched during one, so that
// they do not fill the second cache.
constexpr int kMostKeysAhead = 128;

}  // namespace

Decoder::Decoder(const TransformerWeights& weights)
    : weights_(weights),
      stack_(*weights.decoder()),
      rows_(weights.arithmetic(), stack_.norm_placement, stack_.d_model),
      last_(weights.arithmetic()),
      shortlist_rows_(weights.arithmetic(), stack_.d_model) {}

absl::Status Decoder::Run(std::span<const Item> items, KvCache* cache,
                          LinearScratch* scratch, PhaseTimer* timer,
                          StepResult* result) {
  Embed(items);
  timer->End(&PhaseSeconds::other);
  const int layers = static_cast<int>(stack_.layers.size());
  for (int layer = 0; layer < layers; ++layer) {
    TRIVIUM_RETURN_IF_ERROR(SelfAttention(items, layer, cache, scratch));
    timer->End(&PhaseSeconds::self_attention);
    if (stack_.layers[layer].cross_query.has_value()) {
      TRIVIUM_RETURN_IF_ERROR(CrossAttention(items, layer, *cache, scratch));
      timer->End(&PhaseSeconds::cross_attention);
    }
    TRIVIUM_RETURN_IF_ERROR(rows_.FeedForward(
        stack_.layers[layer], stack_.FirstReader(layer + 1), scratch));
    timer->End(&PhaseSeconds::feed_forward);
  }
  rows_.Finish(stack_.final_norm);
  for (const Item& item : items) {
    item.hypothesis->length += static_cast<int>(item.work->tokens.size());
  }
  result->decoder_rows += rows_.rows();
  TRIVIUM_RETURN_IF_ERROR(ProjectOut(items, scratch, result));
  timer->End(&PhaseSeconds::output_projection);
  return absl::OkStatus();
}

void Decoder::Embed(std::span<const Item> items) {
  row_.clear();
  last_row_.clear();
  for (size_t i = 0; i < items.size(); ++i) {
    const int tokens = static_cast<int>(items[i].work->tokens.size());
    for (int t = 0; t < tokens; ++t) {
      row_.push_back({static_cast<int>(i), items[i].hypothesis->length + t});
    }
    last_row_.push_back(static_cast<int>(row_.size()) - 1);
  }
  const int rows = static_cast<int>(row_.size());
  rows_.Resize(rows);
  query_.Reserve(static_cast<size_t>(rows) * stack_.d_model);
  self_maps_.resize(items.size());
  cross_maps_.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    self_maps_[i].clear();
    cross_maps_[i].clear();
  }
  for (int row = 0; row < rows; ++row) {
    const Item& item = items[row_[row].item];
    const int position = row_[row].position;
    stack_.embeddings.Lookup(
        item.work->tokens[position - item.hypothesis->length], position,
        rows_.x(row));
  }
  rows_.Embedded(stack_.embedding_norm, stack_.FirstReader(0));
}

// Masked self-attention: a token sees itself and what came before it.
absl::Status Decoder::SelfAttention(std::span<const Item> items,
                                    int layer_index, KvCache* cache,
                                    LinearScratch* scratch) {
  const Layer& layer = stack_.layers[layer_index];
  const int d_model = stack_.d_model;
  rows_.Begin(layer.self_norm, &layer.query_key_value);
  TRIVIUM_RETURN_IF_ERROR(layer.query_key_value.Forward(
      rows_.input, rows_.rows(), scratch, [&](int row, const auto& product) {
        const Place place = PlaceOf(items, row);
        if (row + 1 < rows_.rows()) {
          const Place next = PlaceOf(items, row + 1);
          if (next.block != place.block) {
            FetchTile(cache->shape(), next.slot + 1,
                      cache->Tile(next.block, layer_index));
          }
        }
        FinishRow(product.Columns(0, d_model),
                  query_.data() + static_cast<size_t>(row) * d_model);
        float* key = scratch->row.data();
        FinishRow(product.Columns(d_model, 2 * d_model), key);
        StoreKeyValue(cache->shape(), key, key + d_model, place.slot,
                      cache->Tile(place.block, layer_index));
      }));
  rows_.other.Resize(rows_.rows(), d_model);
  for (int row = 0; row < rows_.rows(); ++row) {
    const Item& item = items[row_[row].item];
    const Keys keys = SelfKeys(items, row);
    const AttentionSelection* selection = item.work->self_attention;
    Attend(*cache, layer_index, row, 1, keys, SelfKeys(items, row + 1),
           selection != nullptr);
    if (selection != nullptr) {
      KeepMaps(
          item, *selection, layer_index, row, map_.data(), 1, keys.count,
          item.hypothesis->length + static_cast<int>(item.work->tokens.size()),
          &self_maps_[row_[row].item]);
    }
    rows_.other.Set(row, query_.data() + static_cast<size_t>(row) * d_model);
  }
  return layer.self_output.Forward(
      rows_.other, rows_.rows(), scratch, [&](int row, const auto& product) {
        rows_.Add(
            row, product, layer.self_norm,
            layer.cross_query.has_value() ? &*layer.cross_query : &layer.up);
      });
}

// Attention to the encoder's states. Neighbouring rows of one source, its
// hypotheses, share the reading of its keys and values.
absl::Status Decoder::CrossAttention(std::span<const Item> items,
                                     int layer_index, const KvCache& cache,
                                     LinearScratch* scratch) {
  const Layer& layer = stack_.layers[layer_index];
  const int d_model = stack_.d_model;
  rows_.Begin(layer.cross_norm, &*layer.cross_query);
  TRIVIUM_RETURN_IF_ERROR(layer.cross_query->Forward(
      rows_.input, rows_.rows(), scratch, [&](int row, const auto& product) {
        FinishRow(product, query_.data() + static_cast<size_t>(row) * d_model);
      }));
  rows_.other.Resize(rows_.rows(), d_model);
  for (int first = 0, count; first < rows_.rows(); first += count) {
    const SourceState* source = items[row_[first].item].source;
    bool keep = false;
    for (count = 0; count < kQueryGroup && first + count < rows_.rows();
         ++count) {
      const Item& item = items[row_[first + count].item];
      if (item.source != source) break;
      keep |= item.work->cross_attention != nullptr;
    }
    const int keys = source->tokens();
    Attend(cache, layer_index, first, count, CrossKeys(items, first),
           CrossKeys(items, first + count), keep);
    for (int i = 0; keep && i < count; ++i) {
      const Item& item = items[row_[first + i].item];
      if (item.work->cross_attention == nullptr) continue;
      KeepMaps(item, *item.work->cross_attention, layer_index, first + i,
               map_.data() + static_cast<size_t>(i) * PaddedKeys(keys), count,
               keys, keys, &cross_maps_[row_[first + i].item]);
    }
    for (int row = first; row < first + count; ++row) {
      rows_.other.Set(row, query_.data() + static_cast<size_t>(row) * d_model);
    }
  }
  return layer.cross_output->Forward(
      rows_.other, rows_.rows(), scratch, [&](int row, const auto& product) {
        rows_.Add(row, product, layer.cross_norm, &layer.up);
      });
}

Decoder::Place Decoder::PlaceOf(std::span<const Item> items, int row) const {
  const int position = row_[row].position;
  const HypothesisState& hypothesis = *items[row_[row].item].hypothesis;
  return {hypothesis.blocks[position / kTileTokens], position % kTileTokens};
}

Decoder::Keys Decoder::SelfKeys(std::span<const Item> items, int row) const {
  if (row == rows_.rows()) return {};
  return {&items[row_[row].item].hypothesis->blocks, row_[row].position + 1};
}

Decoder::Keys Decoder::CrossKeys(std::span<const Item> items, int row) const {
  if (row == rows_.rows()) return {};
  const SourceState& source = *items[row_[row].item].source;
  return {&source.cross_blocks, source.tokens()};
}

void Decoder::Attend(const KvCache& cache, int layer, int first, int count,
                     Keys keys, Keys next, bool keep) {
  const auto list = [&](Keys of, std::vector<const char*>* tiles) {
    tiles->clear();
    for (int b = 0; b * kTileTokens < of.count; ++b) {
      tiles->push_back(cache.Tile((*of.blocks)[b], layer));
    }
  };
  list(keys, &tiles_);
  next.count = std::min(next.count, kMostKeysAhead);
  list(next, &next_tiles_);
  const KvShape& shape = cache.shape();
  float* query = query_.data() + static_cast<size_t>(first) * stack_.d_model;
  trivium::Attend(
      {.shape = shape,
       .tiles = tiles_.data(),
       .keys = keys.count,
       .queries = count,
       .query = query,
       .query_stride = static_cast<size_t>(stack_.d_model),
       .scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size)),
       .out = query,
       .out_stride = static_cast<size_t>(stack_.d_model),
       .weights = map_.Reserve(WeightsSize(shape, count, keys.count, keep)),
       .keep_weights = keep,
       .next_tiles = next_tiles_.data(),
       .next_keys = next.count});
}

void Decoder::KeepMaps(const Item& item, const AttentionSelection& selection,
                       int layer, int row, const float* weights, int queries,
                       int seen, int keys, std::vector<float>* out) {
  const SelectedMaps maps(selection, static_cast<int>(stack_.layers.size()),
                          stack_.heads);
  const size_t tokens = item.work->tokens.size();
  const size_t token = row_[row].position - item.hypothesis->length;
  if (out->empty()) out->assign(maps.count() * tokens * keys, 0.0f);
  const size_t head_stride = static_cast<size_t>(queries) * PaddedKeys(seen);
  for (int head = 0; head < stack_.heads; ++head) {
    const int map = maps.Find(layer, head);
    if (map < 0) continue;
    std::copy_n(weights + head * head_stride, seen,
                out->begin() + (map * tokens + token) * keys);
  }
}

// Logits of each item's last row, block by block; candidates are chosen while
// a block's logits are in the cache. Rows whose source has a shortlist are
// multiplied with its tokens' columns only.
absl::Status Decoder::ProjectOut(std::span<const Item> items,
                                 LinearScratch* scratch, StepResult* result) {
  const int count = static_cast<int>(items.size());
  if (static_cast<int>(candidates_.size()) < count) candidates_.resize(count);
  last_.Resize(count, stack_.d_model);
  all_rows_.assign(count, nullptr);
  int wanting_all = 0;
  for (const Item& item : items) wanting_all += item.work->query.all;
  all_logits_.Reserve(static_cast<size_t>(wanting_all) * stack_.vocabulary);
  wanting_all = 0;
  projected_.clear();
  shortlist_rows_.Clear();
  result->rows.resize(count);
  for (int i = 0; i < count; ++i) {
    const LogitsQuery& query = items[i].work->query;
    if (query.all) {
      all_rows_[i] = all_logits_.data() +
                     static_cast<size_t>(wanting_all++) * stack_.vocabulary;
    }
    result->rows[i].self_attention = self_maps_[i];
    result->rows[i].cross_attention = cross_maps_[i];
    const float* x = rows_.x(last_row_[i]);
    if (items[i].source != nullptr && !items[i].source->allowed.all()) {
      shortlist_rows_.Add({&items[i].source->allowed, x, &query, all_rows_[i],
                           &result->rows[i].logits});
      continue;
    }
    last_.Set(static_cast<int>(projected_.size()), x);
    projected_.push_back(i);
    candidates_[i].Start(query.top_k, query.watched);
  }
  if (weights_.shortlist() != nullptr) {
    shortlist_rows_.Run(*weights_.shortlist());
  }
  int first = 0;
  for (const Linear& block : weights_.output_blocks()) {
    TRIVIUM_RETURN_IF_ERROR(block.Forward(
        last_, static_cast<int>(projected_.size()), scratch,
        [&](int row, const auto& product) {
          const int i = projected_[row];
          float* all = all_rows_[i] == nullptr ? nullptr : all_rows_[i] + first;
          candidates_[i].Add(first, product, scratch->row.data(), all);
        }));
    first += block.out();
  }
  for (const int i : projected_) {
    candidates_[i].Finish();
    StepResult::Row& row = result->rows[i];
    row.logits.best = candidates_[i].best();
    row.logits.rest_log_sum_exp = candidates_[i].rest_log_sum_exp();
    row.logits.watched = candidates_[i].watched();
    row.logits.all =
        all_rows_[i] == nullptr
            ? std::span<const float>()
            : std::span<const float>(all_rows_[i],
                                     static_cast<size_t>(stack_.vocabulary));
  }
  return absl::OkStatus();
}

}  // namespace trivium
