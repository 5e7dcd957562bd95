#include "model/transformer/recurrence.h"

#include <cassert>

#include "base/status.h"
#include "model/kernels/row_ops.h"

namespace trivium {
namespace {

float* StateAt(const AttentionTask& task, const int* blocks, int position,
               int width) {
  char* const tile = task.tiles[blocks[position / kTileTokens]];
  return reinterpret_cast<float*>(tile) + position % kTileTokens * width;
}

}  // namespace

bool HoldsStates(const KvShape& shape) {
  return KvTileBytes(shape) >=
         sizeof(float) * kTileTokens * shape.heads * shape.head_size;
}

absl::Status RecurrenceSublayer::Run(const AttentionTask& task, Rows* rows,
                                     Workspace* workspace) {
  assert(HoldsStates(task.tiles.shape));
  const Attention& weights = task.weights;
  const int width = weights.projection.out() / 2;
  rows->Begin(weights.norms, &weights.projection, workspace);
  float* const products = products_.Reserve(static_cast<size_t>(rows->rows()) *
                                            weights.projection.out());
  TRIVIUM_RETURN_IF_ERROR(weights.projection.Forward(
      rows->input, rows->rows(), workspace,
      [&](int row, const auto& product, float*) {
        FinishRow(product, products + static_cast<size_t>(row) * 2 * width);
      }));
  // The tokens of a sequence depend on one another, sequences do not: threads
  // split the sequences.
  workspace->team().Run(
      static_cast<int>(task.groups.size()), Workspace::kLeastRows,
      [&](int begin, int end, int thread) {
        float* const scratch = workspace->thread(thread).row.Reserve(
            2 * static_cast<size_t>(width));
        for (int g = begin; g < end; ++g) {
          const AttentionGroup& group = task.groups[g];
          for (int i = 0; i < group.rows; ++i) {
            const int row = group.first + i, position = group.position + i;
            const float* const product =
                products + static_cast<size_t>(row) * 2 * width;
            RecurRow({.f32 = product + width, .n = width},
                     {.f32 = product, .n = width},
                     position == 0
                         ? nullptr
                         : StateAt(task, group.blocks, position - 1, width),
                     StateAt(task, group.blocks, position, width), scratch);
            rows->Add(row, {.f32 = scratch, .n = width}, weights.norms,
                      task.reader, scratch + width);
          }
        }
      });
  return absl::OkStatus();
}

}  // namespace trivium
