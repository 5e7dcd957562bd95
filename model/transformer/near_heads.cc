#include "model/transformer/near_heads.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "model/transformer/attention.h"

namespace trivium {
namespace {

// Replaces x [n] by its softmax.
void Softmax(int n, float* x) {
  const float most = *std::max_element(x, x + n);
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += std::exp(double{x[k]} - most);
  for (int k = 0; k < n; ++k) {
    x[k] = static_cast<float>(std::exp(double{x[k]} - most) / sum);
  }
}

}  // namespace

void NearHeadsRunner::Resize(const AttentionTask& task, int rows) {
  width_ = task.weights.geometry.query_width();
  values_.Reserve(Offset(rows));
  joined_.Reserve(2 * Offset(rows));
  sources_.clear();
  for (const AttentionGroup& group : task.groups) {
    sources_.resize(sources_.size() + group.rows,
                    {group.first, group.first + group.rows});
  }
}

template <typename F>
void NearHeadsRunner::ForEachNear(int row, int width, const F& f) const {
  const int first = row - width / 2;
  const auto [begin, end] = sources_[row];
  for (int near = std::max(first, begin); near < std::min(first + width, end);
       ++near) {
    f(near - first, near);
  }
}

absl::Status NearHeadsRunner::Run(const AttentionTask& task, const float* query,
                                  size_t stride, Rows* rows,
                                  Workspace* workspace) {
  const NearHeads& near = *task.weights.near;
  const int d_model = rows->d_model(), heads = task.weights.geometry.heads;
  sums_.Resize(rows->rows(), d_model);
  workspace->team().Run(
      rows->rows(), Workspace::kLeastRows, [&](int begin, int end, int thread) {
        float* const sum = workspace->thread(thread).row.Reserve(d_model);
        for (int row = begin; row < end; ++row) {
          std::fill_n(sum, d_model, 0.0f);
          ForEachNear(row, near.width, [&](int k, int from) {
            const float* const factors =
                near.depthwise.data() + static_cast<size_t>(k) * d_model;
            const float* const x = rows->x(from);
            for (int i = 0; i < d_model; ++i) sum[i] += factors[i] * x[i];
          });
          sums_.Set(row, sum);
        }
      });
  spans_.Resize(rows->rows(), width_);
  TRIVIUM_RETURN_IF_ERROR(
      near.span.Forward(sums_, rows->rows(), workspace,
                        [&](int row, const auto& product, float* y) {
                          FinishRow(product, y);
                          const float* const q = query + row * stride;
                          for (int i = 0; i < width_; ++i) y[i] *= q[i];
                          spans_.Set(row, y);
                        }));
  return near.weights.Forward(spans_, rows->rows(), workspace,
                              [&](int row, const auto& product, float* y) {
                                FinishRow(product, y);
                                for (int head = 0; head < heads; ++head) {
                                  Softmax(near.width, y + head * near.width);
                                }
                                Average(task, row, y);
                              });
}

void NearHeadsRunner::Average(const AttentionTask& task, int row,
                              const float* weights) {
  const int size = task.weights.geometry.head_size;
  const int width = task.weights.near->width;
  float* const y = joined(row) + width_;
  std::fill_n(y, width_, 0.0f);
  ForEachNear(row, width, [&](int k, int from) {
    for (int head = 0; head * size < width_; ++head) {
      AddScaledRow(value(from) + head * size, weights[head * width + k], size,
                   y + head * size);
    }
  });
}

}  // namespace trivium
