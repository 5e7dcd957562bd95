#include "model/transformer/rows.h"

#include <algorithm>

#include "base/status.h"

namespace trivium {

Rows::Rows(const Formats& formats, int d_model)
    : input(formats),
      other(formats),
      d_model_(d_model),
      experts_(formats),
      beside_input_(formats) {}

void Rows::Resize(int rows) {
  rows_ = rows;
  x_.Reserve(static_cast<size_t>(rows) * d_model_);
  input.Resize(rows, d_model_);
}

void Rows::Keep(std::span<const int> kept) {
  rows_ = static_cast<int>(kept.size());
  for (int row = 0; row < rows_; ++row) {
    if (kept[row] == row) continue;
    std::copy_n(x(kept[row]), d_model_, x(row));
    if (layer_input_kept_) {
      std::copy_n(layer_input_.data() + Offset(kept[row]), d_model_,
                  layer_input_.data() + Offset(row));
    }
    input.Copy(kept[row], row);
  }
}

template <typename F>
void Rows::ForEach(Workspace* workspace, const F& f) {
  workspace->team().Run(
      rows_, Workspace::kLeastRows, [&](int begin, int end, int thread) {
        float* scratch = workspace->thread(thread).row.Reserve(d_model_);
        for (int row = begin; row < end; ++row) f(row, scratch);
      });
}

void Rows::SetInput(int row, const float* x, Range range, const Linear* reader,
                    float* scratch) {
  if (reader != nullptr && !reader->smoothing().empty()) {
    range = ScaleRow(x, reader->smoothing().data(), d_model_, scratch);
    x = scratch;
  }
  if (reader != nullptr && maxima_ != nullptr) {
    maxima_->Add(*reader, std::span(x, d_model_));
  }
  input.Set(row, x, range);
}

void Rows::Embedded(const std::optional<Norm>& embedding_norm,
                    Workspace* workspace) {
  input_is_x_ = false;
  if (!embedding_norm.has_value()) return;
  ForEach(workspace,
          [&](int row, float*) { embedding_norm->Apply(x(row), x(row)); });
}

void Rows::KeepLayerInput() {
  std::copy_n(x(0), Offset(rows_), layer_input_.Reserve(Offset(rows_)));
  layer_input_kept_ = true;
}

void Rows::Begin(const Norms& norms, const Linear* reader, Workspace* workspace,
                 ExpertRunner* experts) {
  const float* const from = layer_input_kept_ ? layer_input_.data() : x_.data();
  layer_input_kept_ = false;
  if (norms.before.has_value()) {
    ForEach(workspace, [&](int row, float* scratch) {
      const Range range = norms.before->Apply(from + Offset(row), scratch);
      if (experts != nullptr) experts->SetInput(row, scratch);
      SetInput(row, scratch, range, reader, scratch);
    });
  } else if (!input_is_x_ || experts != nullptr) {
    ForEach(workspace, [&](int row, float* scratch) {
      const float* const read = from + Offset(row);
      if (experts != nullptr) experts->SetInput(row, read);
      if (input_is_x_) return;
      SetInput(row, read, RangeOf(read, d_model_), reader, scratch);
    });
  }
  input_is_x_ = norms.after.has_value();
}

void Rows::Add(int row, const ProductRow& product, const Norms& norms,
               const Linear* reader, float* scratch) {
  float* const sum = x(row);
  const auto add = [&](ProductRow output) {
    if (norms.of_sum.has_value()) {
      norms.of_sum->Add(output, sum, scratch);
      output = {.f32 = scratch, .n = d_model_};
    }
    if (norms.after.has_value()) {
      const Range range = norms.after->Add(output, sum, sum);
      SetInput(row, sum, range, reader, scratch);
    } else {
      AddRow(output, sum);
    }
  };
  const bool scaled = norms.factor != 1;
  if (norms.of_output.has_value()) {
    norms.of_output->Add(product, nullptr, scratch);
  } else if (scaled) {
    FinishRow(product, scratch);
  } else {
    return add(product);
  }
  if (scaled) {
    for (int i = 0; i < d_model_; ++i) scratch[i] *= norms.factor;
  }
  add({.f32 = scratch, .n = d_model_});
}

void Rows::Finish(const std::optional<Norm>& final_norm, Workspace* workspace) {
  if (input_is_x_ && !final_norm.has_value()) return;
  ForEach(workspace, [&](int row, float*) {
    if (final_norm.has_value()) final_norm->Apply(x(row), x(row));
    input.Set(row, x(row));
  });
}

absl::Status Rows::FeedForward(const Layer& layer, const Linear* reader,
                               Workspace* workspace) {
  const auto& earlier = layer.earlier_feed_forwards;
  for (size_t i = 0; i < earlier.size(); ++i) {
    const Linear* const next = i + 1 < earlier.size()
                                   ? earlier[i + 1].feed_forward.reader()
                                   : layer.feed_forward.reader();
    TRIVIUM_RETURN_IF_ERROR(
        RunDense(earlier[i].feed_forward, earlier[i].norms, next, workspace));
  }
  if (layer.feed_forward.router.has_value()) {
    return RunExperts(layer, reader, workspace);
  }
  return RunDense(layer.feed_forward, layer.feed_forward_norms, reader,
                  workspace);
}

absl::Status Rows::RunDense(const trivium::FeedForward& weights,
                            const Norms& norms, const Linear* reader,
                            Workspace* workspace) {
  const auto& [up, down] = weights.experts[0];
  Begin(norms, &up, workspace);
  other.Resize(rows_, weights.inner());
  TRIVIUM_RETURN_IF_ERROR(up.Forward(
      input, rows_, workspace, [&](int row, const auto& product, float* y) {
        const Range range = weights.Activate(product, weights.inner(), y);
        other.Set(row, y, range);
      }));
  return down.Forward(other, rows_, workspace,
                      [&](int row, const auto& product, float* y) {
                        Add(row, product, norms, reader, y);
                      });
}

absl::Status Rows::EnterBottleneck(const Layer& layer, Rows* inner,
                                   float* values, Workspace* workspace) {
  const Bottleneck& bottleneck = *layer.bottleneck;
  const int width = bottleneck.width;
  const int kv_width = layer.self_attention.geometry.kv_width();
  const Linear* const reader = &layer.self_attention.projection;
  Begin(bottleneck.norms, &bottleneck.input, workspace);
  inner->Resize(rows_);
  inner->input_is_x_ = true;
  return bottleneck.input.Forward(
      input, rows_, workspace, [&](int row, const auto& product, float* y) {
        FinishRow(product, y);
        float* const h = inner->x(row);
        Range range = bottleneck.input_norm.Apply(y, h);
        const float* read = h;
        if (bottleneck.attention_norm.has_value()) {
          std::copy_n(y + 2 * width, kv_width,
                      values + static_cast<size_t>(row) * kv_width);
          range = bottleneck.attention_norm->Apply(y + width, y);
          read = y;
        }
        inner->SetInput(row, read, range, reader, y);
      });
}

absl::Status Rows::LeaveBottleneck(const Layer& layer, Rows* inner,
                                   const Linear* reader, Workspace* workspace) {
  const Bottleneck& bottleneck = *layer.bottleneck;
  inner->Begin({}, &bottleneck.output, workspace);
  return bottleneck.output.Forward(inner->input, rows_, workspace,
                                   [&](int row, const auto& product, float* y) {
                                     Add(row, product, bottleneck.norms, reader,
                                         y);
                                   });
}

absl::Status Rows::AddTokenInput(const Layer& layer, const float* inputs,
                                 size_t stride, Workspace* workspace) {
  const Linear& gate = layer.token_input->gate;
  const Norms& norms = layer.token_input->norms;
  const Activation activation = layer.token_input->activation;
  Begin(norms, &gate, workspace);
  other.Resize(rows_, gate.out());
  TRIVIUM_RETURN_IF_ERROR(gate.Forward(
      input, rows_, workspace, [&](int row, const auto& product, float* y) {
        const Range range =
            GateRow(product, {.f32 = inputs + row * stride, .n = gate.out()},
                    activation, y);
        other.Set(row, y, range);
      }));
  return layer.token_input->output.Forward(
      other, rows_, workspace, [&](int row, const auto& product, float* y) {
        Add(row, product, norms, nullptr, y);
      });
}

void Rows::Multiply(float factor, Workspace* workspace) {
  ForEach(workspace, [&](int row, float*) {
    for (int i = 0; i < d_model_; ++i) x(row)[i] *= factor;
  });
}

absl::Status Rows::RunExperts(const Layer& layer, const Linear* reader,
                              Workspace* workspace) {
  const auto& weights = layer.feed_forward;
  const Norms& norms = layer.feed_forward_norms;
  experts_.Resize(rows_, weights);
  if (weights.beside.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(RunBeside(layer, workspace));
    Begin(norms, weights.reader(), workspace);
  } else {
    Begin(norms, weights.reader(), workspace, &experts_);
    TRIVIUM_RETURN_IF_ERROR(experts_.Run(weights, input, workspace));
  }
  if (!weights.shared.has_value()) {
    ForEach(workspace, [&](int row, float* scratch) {
      experts_.Output(row, scratch);
      Add(row, {.f32 = scratch, .n = d_model_}, norms, reader, scratch);
    });
    return absl::OkStatus();
  }
  const Linear& up = weights.shared->up;
  const Linear& down = weights.shared->down;
  other.Resize(rows_, down.in());
  TRIVIUM_RETURN_IF_ERROR(up.Forward(
      input, rows_, workspace, [&](int row, const auto& product, float* y) {
        const Range range = weights.Activate(product, down.in(), y);
        other.Set(row, y, range);
      }));
  return down.Forward(
      other, rows_, workspace, [&](int row, const auto& product, float* y) {
        if (weights.beside.has_value()) {
          weights.beside->of_shared.Add(product, nullptr, y);
          AddRow({.f32 = beside_.data() + Offset(row), .n = d_model_}, y);
        } else {
          FinishRow(product, y);
          experts_.AddToShared(row, y);
        }
        Add(row, {.f32 = y, .n = d_model_}, norms, reader, y);
      });
}

absl::Status Rows::RunBeside(const Layer& layer, Workspace* workspace) {
  const auto& weights = layer.feed_forward;
  const PackedBesideNorms& norms = *weights.beside;
  beside_input_.Resize(rows_, d_model_);
  ForEach(workspace, [&](int row, float* scratch) {
    norms.router.Apply(x(row), scratch);
    experts_.SetInput(row, scratch);
    const Range range = norms.of_input.Apply(x(row), scratch);
    beside_input_.Set(row, scratch, range);
  });
  TRIVIUM_RETURN_IF_ERROR(experts_.Run(weights, beside_input_, workspace));
  beside_.Reserve(Offset(rows_));
  ForEach(workspace, [&](int row, float* scratch) {
    experts_.Output(row, scratch);
    norms.of_experts.Apply(scratch, beside_.data() + Offset(row));
  });
  return absl::OkStatus();
}

}  // namespace trivium
