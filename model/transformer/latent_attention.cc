#include "model/transformer/latent_attention.h"

#include <algorithm>

#include "base/status.h"
#include "model/kernels/kv_tile.h"
#include "model/transformer/attention.h"

namespace trivium {
namespace {

// Runs product(head, thread) for all heads; threads divide them.
template <typename F>
absl::Status ForEachHead(int heads, Workspace* workspace, const F& product) {
  return workspace->Run(
      heads, /*least=*/1, [&](int begin, int end, int thread) -> absl::Status {
        for (int head = begin; head < end; ++head) {
          TRIVIUM_RETURN_IF_ERROR(product(head, &workspace->thread(thread)));
        }
        return absl::OkStatus();
      });
}

}  // namespace

void LatentProducts::SetQuery(const AttentionTask& task, int row, int rows,
                              float* q, float* query) {
  const AttentionGeometry& geometry = task.weights.geometry;
  const Latent& latent = *task.weights.latent;
  const int turned = latent.turned, size = turned + latent.plain;
  const float growth = task.turns->Growth(geometry, task.places[row].position);
  if (growth != 1) {
    for (int i = 0; i < geometry.heads * size; ++i) q[i] *= growth;
  }
  for (int head = 0; head < geometry.heads; ++head) {
    const float* const from = q + static_cast<size_t>(head) * size;
    std::copy_n(from, turned,
                query + static_cast<size_t>(head) * geometry.head_size);
    plain_.Set(head * rows + row, from + turned);
  }
  task.turns->Apply(geometry, row, geometry.heads, query);
}

absl::Status LatentProducts::Project(const AttentionTask& task, Rows* rows,
                                     float* query, size_t stride,
                                     Workspace* workspace) {
  const AttentionGeometry& geometry = task.weights.geometry;
  const Latent& latent = *task.weights.latent;
  const Linear& projection = task.weights.projection;
  const int count = rows->rows(), turned = latent.turned;
  const int key_begin = projection.out() - geometry.head_size;
  plain_.Resize(geometry.heads * count, latent.plain);
  if (latent.query_up.has_value()) low_.Resize(count, key_begin);
  TRIVIUM_RETURN_IF_ERROR(projection.Forward(
      rows->input, count, workspace,
      [&](int row, const auto& product, float* y) {
        FinishRow(product, y);
        float* const key = y + key_begin;
        latent.norm.Apply(key + turned, key + turned);
        task.turns->Apply(geometry, row, /*heads=*/1, key);
        const KvPlace place = task.places[row];
        StoreKeyValue(task.tiles.shape, key, key, place.slot(),
                      task.tiles[place.block]);
        if (!latent.query_up.has_value()) {
          SetQuery(task, row, count, y, query + row * stride);
        } else {
          if (latent.query_norm.has_value()) latent.query_norm->Apply(y, y);
          low_.Set(row, y);
        }
      },
      [&](int row) {
        return task.places[row].slot() % kSlotsTogether == 0 ||
               task.places[row].block != task.places[row - 1].block;
      }));
  if (latent.query_up.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(latent.query_up->Forward(
        low_, count, workspace, [&](int row, const auto& product, float* y) {
          FinishRow(product, y);
          SetQuery(task, row, count, y, query + row * stride);
        }));
  }
  return ForEachHead(geometry.heads, workspace, [&](int head, auto* thread) {
    float* const of_head =
        query + static_cast<size_t>(head) * geometry.head_size + turned;
    const int first = head * count;
    return latent.key_up[head].ForwardRows(
        plain_, first, first + count, thread,
        [&](int row, const ProductRow& product, float*) {
          FinishRow(product, of_head + (row - first) * stride);
        });
  });
}

absl::Status LatentProducts::Output(const AttentionTask& task,
                                    const float* sums, size_t stride,
                                    Rows* rows, Workspace* workspace) {
  const AttentionGeometry& geometry = task.weights.geometry;
  const Latent& latent = *task.weights.latent;
  const int count = rows->rows();
  const int width = geometry.heads * latent.value;
  sums_.Resize(geometry.heads * count, latent.rank);
  float* const outputs = outputs_.Reserve(static_cast<size_t>(count) * width);
  // A product may read rows after its own, so all are set before.
  workspace->team().Run(
      count, Workspace::kLeastRows, [&](int begin, int end, int) {
        for (int row = begin; row < end; ++row) {
          for (int head = 0; head < geometry.heads; ++head) {
            sums_.Set(head * count + row,
                      sums + row * stride +
                          static_cast<size_t>(head) * geometry.head_size +
                          latent.turned);
          }
        }
      });
  TRIVIUM_RETURN_IF_ERROR(
      ForEachHead(geometry.heads, workspace, [&](int head, auto* thread) {
        const int first = head * count;
        return latent.value_up[head].ForwardRows(
            sums_, first, first + count, thread,
            [&](int row, const ProductRow& product, float*) {
              FinishRow(product, outputs +
                                     static_cast<size_t>(row - first) * width +
                                     head * latent.value);
            });
      }));
  rows->other.Resize(count, width);
  workspace->team().Run(
      count, Workspace::kLeastRows, [&](int begin, int end, int) {
        for (int row = begin; row < end; ++row) {
          rows->other.Set(row, outputs + static_cast<size_t>(row) * width);
        }
      });
  return absl::OkStatus();
}

}  // namespace trivium
