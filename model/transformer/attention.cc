// The input rows are x [rows, d_model]; W_q, W_k, W_v and W_o are the layer's
// weights. Each query head h reads the keys and values of head g = h / (heads /
// kv_heads):
//
//   q = W_q x, k = W_k x, v = W_v x     x of k and v may be a source's states
//   q_h = R_i norm(q_h)                 with rotary position R of query i and
//   k_g = R_j norm(k_g)                 of key j; norm only if the layer has
//                                       it, and in some before R; some
//                                       layers limit q, k and v
//   weights_h = softmax(scale * q_h K_g^T)   over the keys that a query sees,
//                                       and the head's sink, which has no value
//                                       (keys may be those of two sequences,
//                                       or global tokens and those near)
//   y = W_o [weights_1 V, weights_2 V, ...]
//
// ("Attention Is All You Need", Vaswani et al. 2017). The products process the
// rows of all sequences together; attention reads one sequence at a time. A
// row's result depends on its sequence alone, however rows are grouped.
#include "model/transformer/attention.h"

#include <algorithm>
#include <optional>

#include "base/status.h"
#include "model/kernels/relative_attention.h"

namespace trivium {
namespace {

// Queries per Attend call: enough to share the reading of each key, few enough
// that their weights stay in the first-level cache.
constexpr int kQueriesAtOnce = 16;
// Tokens of the next call that are prefetched during the current one; more
// would fill the second-level cache.
constexpr int kMostKeysAhead = 128;
// With at least this many pieces per thread, threads process whole pieces; with
// fewer, they split the heads of each piece.
constexpr int kManyPieces = 4;
// Bytes of keys and values that a core's share of the last-level cache holds.
constexpr size_t kCachedBytes = 4 << 20;
// Key multiplications that justify another thread.
constexpr double kLeastProducts = 16 << 10;

// Limits x [n] to `most` on either side of 0, if that is above 0.
void Clip(float most, int n, float* x) {
  if (most <= 0) return;
  for (int i = 0; i < n; ++i) x[i] = std::clamp(x[i], -most, most);
}

}  // namespace

absl::Status AttentionSublayer::Run(const AttentionTask& task, Rows* rows,
                                    Workspace* workspace) {
  const Attention& weights = task.weights;
  tap_.Begin(task, rows);
  rows->Begin(weights.norms, &weights.projection, workspace);
  if (weights.parallel) rows->KeepLayerInput();
  if (weights.latent.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(RunLatent(task, rows, workspace));
  } else {
    TRIVIUM_RETURN_IF_ERROR(Project(task, rows, workspace));
    // Attention writes its output over the queries.
    if (tap_.active()) tap_.CopyQueries(query_.data(), stride_);
    if (weights.near.has_value()) {
      TRIVIUM_RETURN_IF_ERROR(
          near_.Run(task, query_.data(), stride_, rows, workspace));
    }
    if (weights.blocks.has_value()) {
      TRIVIUM_RETURN_IF_ERROR(blocks_.Run(task, rows, workspace));
    }
    rows->other.Resize(rows->rows(), weights.output->in());
    AttendAll(task, rows, workspace);
    if (tap_.active()) {
      tap_.CopySums(query_.data(), stride_,
                    weights.gated              ? gates_.data()
                    : weights.near.has_value() ? near_.joined(0)
                                               : nullptr);
    }
  }
  TRIVIUM_RETURN_IF_ERROR(weights.output->Forward(
      rows->other, rows->rows(), workspace,
      [&](int row, const auto& product, float* y) {
        if (tap_.active()) tap_.CopyOutput(row, product);
        rows->Add(row, product, weights.norms, task.reader, y);
      }));
  tap_.End(rows);
  return absl::OkStatus();
}

absl::Status AttentionSublayer::RunLatent(const AttentionTask& task, Rows* rows,
                                          Workspace* workspace) {
  stride_ = task.weights.geometry.query_width();
  query_.Reserve(static_cast<size_t>(rows->rows()) * stride_);
  TRIVIUM_RETURN_IF_ERROR(
      latent_.Project(task, rows, query_.data(), stride_, workspace));
  AttendAll(task, rows, workspace);
  return latent_.Output(task, query_.data(), stride_, rows, workspace);
}

absl::Status AttentionSublayer::Project(const AttentionTask& task, Rows* rows,
                                        Workspace* workspace) {
  const AttentionGeometry& geometry = task.weights.geometry;
  const int width = geometry.query_width(), kv_width = geometry.kv_width();
  const Linear& projection = task.weights.projection;
  stride_ = task.in_tiles() ? width : projection.out();
  query_.Reserve(static_cast<size_t>(rows->rows()) * stride_);
  const bool store =
      task.in_tiles() && !task.places.empty() && geometry.reads < 0;
  float* const gates =
      task.weights.gated
          ? gates_.Reserve(static_cast<size_t>(rows->rows()) * width)
          : nullptr;
  if (task.weights.near.has_value()) near_.Resize(task, rows->rows());
  if (task.weights.global) global_.Resize(task);
  return projection.Forward(
      rows->input, rows->rows(), workspace,
      [&](int row, const auto& product, float* key) {
        float* query = query_.data() + row * stride_;
        if (!store) {
          FinishRow(product, query);
          if (geometry.reads >= 0) PlaceQuery(task, row, query);
          return;
        }
        const KvPlace place = task.places[row];
        if (row + 1 < rows->rows()) {
          const KvPlace next = task.places[row + 1];
          if (next.block != place.block) {
            FetchTile(task.tiles.shape, next.slot() + 1,
                      task.tiles[next.block]);
          }
        }
        FinishRow(product.Columns(0, width), query);
        float* const value = key + kv_width;
        int read = width + kv_width;  // columns
        if (task.weights.values_from_key_product) {
          FinishRow(product.Columns(width, kv_width), key);
          std::copy_n(key, kv_width, value);
        } else if (task.weights.values_given) {
          FinishRow(product.Columns(width, kv_width), key);
          std::copy_n(task.values + static_cast<size_t>(row) * kv_width,
                      kv_width, value);
        } else {
          FinishRow(product.Columns(width, 2 * kv_width), key);
          read += kv_width;
        }
        if (task.weights.gated) {
          FinishRow(product.Columns(read, width),
                    gates + static_cast<size_t>(row) * width);
          read += width;
        }
        if (task.weights.near.has_value()) {
          FinishRow(product.Columns(read, width), near_.value(row));
          read += width;
        }
        if (task.weights.value_norm.has_value())
          task.weights.value_norm->ApplyToHeads(kv_width, value);
        Clip(geometry.clip, kv_width, value);
        PlaceQuery(task, row, query);
        const auto normalize = [&] {
          if (task.weights.key_norm.has_value())
            task.weights.key_norm->ApplyToHeads(kv_width, key);
        };
        if (!task.weights.norms_after_rotary) normalize();
        Clip(geometry.clip, kv_width, key);
        task.turns->Apply(geometry, row, geometry.kv_heads, key);
        if (task.weights.norms_after_rotary) normalize();
        StoreKeyValue(task.tiles.shape, key, value, place.slot(),
                      task.tiles[place.block]);
        if (!task.weights.global || global_.tokens(row) == 0) return;
        if (place.position < global_.tokens(row)) {
          FinishRow(product.Columns(read, width), query);
        }
        FinishRow(product.Columns(read + width, 2 * kv_width), key);
        StoreKeyValue(task.tiles.shape, key, value, place.slot(),
                      global_.tile(place.block));
      },
      [&](int row) {
        return !store || task.places[row].slot() % kSlotsTogether == 0 ||
               task.places[row].block != task.places[row - 1].block;
      });
}

void AttentionSublayer::PlaceQuery(const AttentionTask& task, int row,
                                   float* query) {
  const Attention& weights = task.weights;
  const AttentionGeometry& geometry = weights.geometry;
  const auto normalize = [&] {
    if (weights.query_norm.has_value())
      weights.query_norm->ApplyToHeads(geometry.query_width(), query);
  };
  if (!weights.norms_after_rotary) normalize();
  Clip(geometry.clip, geometry.query_width(), query);
  task.turns->Apply(geometry, row, geometry.heads, query);
  if (weights.norms_after_rotary) normalize();
  task.turns->Grow(geometry, task.places[row].position, query);
}

void AttentionSublayer::ListPieces(const AttentionTask& task) {
  pieces_.clear();
  for (size_t i = 0; i < task.groups.size(); ++i) {
    const auto add = [&](int begin, int end) {
      const int most = task.in_tiles() ? kQueriesAtOnce : end - begin;
      for (int first = begin; first < end; first += most) {
        pieces_.push_back({i, first, std::min(most, end - first)});
      }
    };
    // Queries of global tokens read other keys than the rest.
    add(0, task.groups[i].global);
    add(task.groups[i].global, task.groups[i].rows);
  }
}

int AttentionSublayer::HeadParts(const AttentionTask& task) {
  const AttentionGeometry& geometry = task.weights.geometry;
  const size_t window = static_cast<size_t>(geometry.look_back) +
                        geometry.look_ahead + kQueriesAtOnce;
  size_t keys = 0;
  for (const AttentionGroup& group : task.groups) {
    if (group.rows <= kQueriesAtOnce) continue;
    keys = std::max(keys, std::min<size_t>(window, group.keys));
  }
  const size_t bytes = keys / kTileTokens * KvTileBytes(task.tiles.shape);
  return static_cast<int>(bytes / kCachedBytes) + 1;
}

void AttentionSublayer::AttendAll(const AttentionTask& task, Rows* rows,
                                  Workspace* workspace) {
  const AttentionGeometry& geometry = task.weights.geometry;
  const int width = geometry.query_width();
  const int threads = workspace->threads();
  scratch_.resize(threads);
  float* out = query_.data();
  size_t out_stride = stride_;
  if (!task.in_tiles()) {
    out = out_.Reserve(static_cast<size_t>(rows->rows()) * width);
    out_stride = width;
  }
  const auto set = [&](int begin, int end) {
    if (task.weights.latent.has_value()) return;
    for (int row = begin; row < end; ++row) {
      const float* attended = out + row * out_stride;
      if (task.weights.gated) {
        float* const gate = gates_.data() + static_cast<size_t>(row) * width;
        GateRow({.f32 = gate, .n = width}, {.f32 = attended, .n = width},
                Activation::kSigmoid, gate);
        attended = gate;
      } else if (task.weights.near.has_value()) {
        std::copy_n(attended, width, near_.joined(row));
        attended = near_.joined(row);
      }
      rows->other.Set(row, attended);
    }
  };
  ListPieces(task);
  const int pieces = static_cast<int>(pieces_.size());
  // Threads split the pieces if there are many, else the heads: those of keys
  // or, of latent attention, which has one of these, those of queries.
  const bool latent = task.weights.latent.has_value();
  const int heads_to_split = latent ? geometry.heads : geometry.kv_heads;
  const int parts =
      std::min(heads_to_split,
               std::max(pieces < kManyPieces * threads ? threads : 1,
                        latent || !task.in_tiles() ? 1 : HeadParts(task)));
  double products = 0;
  for (const AttentionGroup& group : task.groups) {
    products += static_cast<double>(group.rows) * group.keys * width;
  }
  const int items = parts * pieces;
  workspace->team().Run(
      items, static_cast<int>(kLeastProducts * items / (products + 1)) + 1,
      [&](int begin, int end, int thread) {
        Scratch& scratch = scratch_[thread];
        for (int item = begin; item < end; ++item) {
          const int part = item / pieces;
          const Piece& piece = pieces_[item % pieces];
          const Heads heads = {heads_to_split * part / parts,
                               heads_to_split * (part + 1) / parts};
          const AttentionGroup& group = task.groups[piece.group];
          if (!task.in_tiles()) {
            AttendRelatively(task, group, heads, &scratch);
          } else {
            const bool last = item + 1 == end || (item + 1) % pieces == 0;
            Attend(task, piece, heads, last ? nullptr : &piece + 1, &scratch);
          }
          const int first = group.first + piece.first;
          if (parts == 1) set(first, first + piece.queries);
        }
      });
  if (parts == 1) return;
  workspace->team().Run(rows->rows(), Workspace::kLeastRows,
                        [&](int begin, int end, int) { set(begin, end); });
}

void AttentionSublayer::Attend(const AttentionTask& task, const Piece& piece,
                               Heads heads, const Piece* next,
                               Scratch* scratch) {
  const AttentionGroup& group = task.groups[piece.group];
  const AttentionGeometry& geometry = task.weights.geometry;
  const bool global = piece.first < group.global;
  scratch->tiles.clear();
  for (int b = 0; b * kTileTokens < group.keys; ++b) {
    scratch->tiles.push_back(global ? global_.tile(group.blocks[b])
                                    : task.tiles[group.blocks[b]]);
  }
  float* query = query_.data() + (group.first + piece.first) * stride_;
  // A call has all query heads of its heads of keys; of latent attention, of
  // whose head there is one, as many of the query heads as it is given.
  const bool latent = task.weights.latent.has_value();
  if (latent) query += heads.begin * geometry.head_size;
  AttentionCall call = {
      .shape = task.tiles.shape,
      .query_heads = latent ? heads.end - heads.begin : geometry.heads,
      .tiles = scratch->tiles.data(),
      .keys = group.keys,
      .queries = piece.queries,
      .position = group.position + piece.first,
      .look_back = geometry.look_back,
      .look_ahead = geometry.look_ahead,
      .begin_head = latent ? 0 : heads.begin,
      .end_head = latent ? 1 : heads.end,
      .query = query,
      .query_stride = stride_,
      .scale = geometry.scale,
      .soft_cap = geometry.soft_cap,
      .sinks = task.weights.sinks.data(),
      .out = query,
      .out_stride = stride_};
  if (task.weights.blocks.has_value() || task.weights.merged) {
    return AttendToJoined(piece, task, call, scratch);
  }
  if (global) {
    call.look_back = call.look_ahead = kAllKeys;
  } else if (group.global > 0) {
    // The window of the last query is the farthest from the global tokens.
    const int last = call.position + call.queries - 1;
    if (last - std::min(last, call.look_back) > group.global) {
      return AttendToJoined(piece, task, call, scratch);
    }
    call.look_back = kAllKeys;
  }
  if (task.relative != nullptr) {
    call.bias = task.relative->bias(task.layer);
    call.bias_stride = task.relative->bias_stride();
    call.bias_of_keys = task.relative->bias_of_keys();
  }
  const size_t padded = PaddedKeys(group.keys);
  const bool traced = HeadTap::Traces(group, task.layer);
  if (group.maps != nullptr || traced) {
    call.weights =
        scratch->kept.Reserve(geometry.heads * call.queries * padded);
  }
  if (traced) {
    call.scores =
        scratch->scores.Reserve(geometry.heads * call.queries * padded);
  }
  // Its size depends on whether weights are kept.
  call.scratch = scratch->kernel.Reserve(AttentionScratchSize(call));
  if (next != nullptr && next->group != piece.group) {
    ListNext(task, task.groups[next->group], &call, scratch);
  }
  trivium::Attend(call);
  if (call.weights != nullptr) CopyMaps(task, piece, heads, call);
}

void AttentionSublayer::AttendToJoined(const Piece& piece,
                                       const AttentionTask& task,
                                       AttentionCall call,
                                       Scratch* scratch) const {
  const AttentionGroup& group = task.groups[piece.group];
  const AttentionGeometry& geometry = task.weights.geometry;
  const int sharing = geometry.heads / geometry.kv_heads;
  JoinedKeys* const joined = &scratch->joined;
  for (int q = 0; q < piece.queries; ++q) {
    const int position = group.position + piece.first + q;
    const NearKeys near =
        task.weights.blocks.has_value()
            ? blocks_.Prepare(task, piece.group, position, joined, &call)
            : JoinOthers(task, group, position, joined, &call);
    const size_t padded = PaddedKeys(call.keys);
    if (group.maps != nullptr || group.source_maps != nullptr) {
      call.weights = scratch->kept.Reserve(geometry.heads * padded);
    }
    call.scratch = scratch->kernel.Reserve(AttentionScratchSize(call));
    trivium::Attend(call);
    call.query += stride_;
    call.out += stride_;
    // Returns the query's row in the map of a head, or null.
    const auto row = [&](const AttentionMaps* maps, int head) -> float* {
      float* const map =
          maps == nullptr ? nullptr : maps->Map(task.layer, head);
      if (map == nullptr) return nullptr;
      return map + static_cast<size_t>(piece.first + q) * maps->keys();
    };
    for (int head = call.begin_head * sharing; head < call.end_head * sharing;
         ++head) {
      const float* const weights = call.weights + head * padded;
      if (float* const to = row(group.maps, head); to != nullptr) {
        std::fill_n(to, group.keys, 0.0f);
        std::copy_n(weights, group.global, to);
        std::copy_n(weights + near.place, near.end - near.begin,
                    to + near.begin);
      }
      if (float* const to = row(group.source_maps, head); to != nullptr) {
        std::copy_n(weights, group.source_keys, to);
      }
    }
  }
}

NearKeys AttentionSublayer::JoinOthers(const AttentionTask& task,
                                       const AttentionGroup& group,
                                       int position, JoinedKeys* joined,
                                       AttentionCall* call) {
  const bool own = !task.weights.merged;
  const int others = own ? group.global : group.source_keys;
  const int* const blocks = own ? group.blocks : group.source_blocks;
  joined->tiles.clear();
  for (int b = 0; b * kTileTokens < others; ++b) {
    joined->tiles.push_back(task.tiles[blocks[b]]);
  }
  const NearKeys near = joined->Join(task, group, position, own, call);
  float* const bias = joined->HideKeys(/*heads=*/1, call);
  std::fill_n(bias, others, 0.0f);
  std::fill_n(bias + near.place, near.end - near.begin, 0.0f);
  return near;
}

void AttentionSublayer::CopyMaps(const AttentionTask& task, const Piece& piece,
                                 Heads heads, const AttentionCall& call) const {
  const AttentionGroup& group = task.groups[piece.group];
  const AttentionGeometry& geometry = task.weights.geometry;
  const size_t padded = PaddedKeys(group.keys);
  const bool latent = task.weights.latent.has_value();
  const int sharing = latent ? 1 : geometry.heads / geometry.kv_heads;
  const int first_head = latent ? heads.begin : 0;  // of call.weights
  for (int head = heads.begin * sharing; head < heads.end * sharing; ++head) {
    const size_t first = (head - first_head) * call.queries * padded;
    if (call.scores != nullptr && head == group.trace->choice.head) {
      tap_.CopyMaps(group, piece.first, call, call.scores + first,
                    call.weights + first);
    }
    if (group.maps == nullptr) continue;
    float* map = group.maps->Map(task.layer, head);
    if (map == nullptr) continue;
    for (int q = 0; q < call.queries; ++q) {
      std::copy_n(
          call.weights + first + q * padded, group.keys,
          map + static_cast<size_t>(piece.first + q) * group.maps->keys());
    }
  }
}

void AttentionSublayer::ListNext(const AttentionTask& task,
                                 const AttentionGroup& next,
                                 AttentionCall* call, Scratch* scratch) {
  const int look_back = task.weights.geometry.look_back;
  const int begin =
      look_back < next.position ? (next.position - look_back) / kTileTokens : 0;
  call->next_keys = std::min(next.keys - begin * kTileTokens, kMostKeysAhead);
  scratch->next_tiles.clear();
  for (int b = 0; b * kTileTokens < call->next_keys; ++b) {
    scratch->next_tiles.push_back(task.tiles[next.blocks[begin + b]]);
  }
  call->next_tiles = scratch->next_tiles.data();
}

void AttentionSublayer::AttendRelatively(const AttentionTask& task,
                                         const AttentionGroup& group,
                                         Heads heads, Scratch* scratch) {
  const AttentionGeometry& geometry = task.weights.geometry;
  const int size = geometry.head_size, width = geometry.query_width();
  const float* query = query_.data() + group.first * stride_;
  for (int head = heads.begin; head < heads.end; ++head) {
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
         .scratch =
             scratch->kernel.Reserve(RelativeScratchSize(size, group.rows)),
         .weights = group.maps != nullptr ? group.maps->Map(task.layer, head)
                                          : nullptr});
  }
}

}  // namespace trivium
