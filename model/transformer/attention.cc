// For the rows x [rows, d_model] that enter, with W_q, W_k, W_v and W_o of the
// layer and for each head h of queries, which reads the keys and values of head
// g = h / (heads / kv_heads):
//   q = W_q x, k = W_k x, v = W_v x        the keys' x may be a source's states
//   weights_h = softmax(scale * q_h K_g^T)  over the keys that a query sees
//   y = W_o [weights_1 V, weights_2 V, ...]
// ("Attention Is All You Need", Vaswani et al. 2017). Rows of all sequences go
// through the products together; attention looks at one sequence at a time, and
// what a row gets depends on that sequence alone, however its rows are grouped.
#include "model/transformer/attention.h"

#include <algorithm>

#include "base/status.h"
#include "model/kernels/relative_attention.h"

namespace trivium {
namespace {

// Queries of one Attend call: enough to read each key once for several of
// them, few enough that their weights stay in the first cache.
constexpr int kQueriesAtOnce = 16;
// Tokens of the next call whose keys and values are fetched during one, so that
// they do not fill the second cache.
constexpr int kMostKeysAhead = 128;

}  // namespace

absl::Status AttentionSublayer::Run(const AttentionTask& task, Rows* rows,
                                    LinearScratch* scratch) {
  const Attention& weights = task.weights;
  const int width = weights.geometry.query_width();
  rows->Begin(weights.norms, &weights.projection);
  TRIVIUM_RETURN_IF_ERROR(Project(task, rows, scratch));
  rows->other.Resize(rows->rows(), width);
  for (size_t i = 0; i < task.groups.size(); ++i) {
    const AttentionGroup& group = task.groups[i];
    const float* out;
    size_t out_stride;
    if (task.relative != nullptr) {
      out_.Reserve(static_cast<size_t>(rows->rows()) * width);
      AttendRelatively(task, group);
      out = out_.data();
      out_stride = width;
    } else {
      Attend(task, i);
      out = query_.data();
      out_stride = stride_;
    }
    for (int row = group.first; row < group.first + group.rows; ++row) {
      rows->other.Set(row, out + row * out_stride);
    }
  }
  return weights.output.Forward(
      rows->other, rows->rows(), scratch, [&](int row, const auto& product) {
        rows->Add(row, product, weights.norms, task.reader);
      });
}

absl::Status AttentionSublayer::Project(const AttentionTask& task, Rows* rows,
                                        LinearScratch* scratch) {
  const AttentionGeometry& geometry = task.weights.geometry;
  const int width = geometry.query_width(), kv_width = geometry.kv_width();
  const Linear& projection = task.weights.projection;
  stride_ = task.relative != nullptr ? projection.out() : width;
  query_.Reserve(static_cast<size_t>(rows->rows()) * stride_);
  const bool store = task.relative == nullptr && !task.places.empty();
  return projection.Forward(
      rows->input, rows->rows(), scratch, [&](int row, const auto& product) {
        float* query = query_.data() + row * stride_;
        if (!store) {
          FinishRow(product, query);
          return;
        }
        const KvPlace place = task.places[row];
        if (row + 1 < rows->rows()) {
          const KvPlace next = task.places[row + 1];
          if (next.block != place.block) {
            FetchTile(task.tiles.shape, next.slot + 1, task.tiles[next.block]);
          }
        }
        FinishRow(product.Columns(0, width), query);
        float* key = scratch->row.data();
        FinishRow(product.Columns(width, 2 * kv_width), key);
        StoreKeyValue(task.tiles.shape, key, key + kv_width, place.slot,
                      task.tiles[place.block]);
      });
}

void AttentionSublayer::Attend(const AttentionTask& task, size_t index) {
  const AttentionGroup& group = task.groups[index];
  const AttentionGeometry& geometry = task.weights.geometry;
  tiles_.clear();
  for (int b = 0; b * kTileTokens < group.keys; ++b) {
    tiles_.push_back(task.tiles[group.blocks[b]]);
  }
  for (int first = 0; first < group.rows; first += kQueriesAtOnce) {
    float* query = query_.data() + (group.first + first) * stride_;
    AttentionCall call = {
        .shape = task.tiles.shape,
        .query_heads = geometry.heads,
        .tiles = tiles_.data(),
        .keys = group.keys,
        .queries = std::min(kQueriesAtOnce, group.rows - first),
        .position = group.position + first,
        .look_back = geometry.look_back,
        .look_ahead = geometry.look_ahead,
        .query = query,
        .query_stride = stride_,
        .scale = geometry.scale,
        .out = query,
        .out_stride = stride_};
    call.scratch = scratch_.Reserve(AttentionScratchSize(call));
    const size_t padded = PaddedKeys(group.keys);
    if (group.maps != nullptr) {
      call.weights = kept_.Reserve(geometry.heads * call.queries * padded);
    }
    if (first + call.queries == group.rows) ListNext(task, index + 1, &call);
    trivium::Attend(call);
    for (int head = 0; group.maps != nullptr && head < geometry.heads; ++head) {
      float* map = group.maps->Map(task.layer, head);
      if (map == nullptr) continue;
      for (int q = 0; q < call.queries; ++q) {
        std::copy_n(call.weights + (head * call.queries + q) * padded,
                    group.keys,
                    map + static_cast<size_t>(first + q) * group.maps->keys());
      }
    }
  }
}

void AttentionSublayer::ListNext(const AttentionTask& task, size_t index,
                                 AttentionCall* call) {
  if (index == task.groups.size()) return;
  const AttentionGroup& next = task.groups[index];
  const int look_back = task.weights.geometry.look_back;
  const int begin =
      look_back < next.position ? (next.position - look_back) / kTileTokens : 0;
  call->next_keys = std::min(next.keys - begin * kTileTokens, kMostKeysAhead);
  next_tiles_.clear();
  for (int b = 0; b * kTileTokens < call->next_keys; ++b) {
    next_tiles_.push_back(task.tiles[next.blocks[begin + b]]);
  }
  call->next_tiles = next_tiles_.data();
}

void AttentionSublayer::AttendRelatively(const AttentionTask& task,
                                         const AttentionGroup& group) {
  const AttentionGeometry& geometry = task.weights.geometry;
  const int size = geometry.head_size, width = geometry.query_width();
  const float* query = query_.data() + group.first * stride_;
  for (int head = 0; head < geometry.heads; ++head) {
    AttendRelative(
        {.head_size = size,
         .tokens = group.rows,
         .query = query + head * size,
         .key = query + width + head * size,
         .value = query + 2 * width + head * size,
         .stride = stride_,
         .scale = geometry.scale,
         .tables = task.relative->tables(task.layer, head),
         .out = out_.data() + static_cast<size_t>(group.first) * width +
                head * size,
         .out_stride = static_cast<size_t>(width),
         .scratch = scratch_.Reserve(RelativeScratchSize(size, group.rows)),
         .weights = group.maps != nullptr ? group.maps->Map(task.layer, head)
                                          : nullptr});
  }
}

}  // namespace trivium
