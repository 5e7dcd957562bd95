#include "model/transformer/layer.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

AlignedVector<float> ToVector(const TensorView& tensor) {
  AlignedVector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  return values;
}

}  // namespace

Norm Norm::Create(const NormTensors& tensors, float epsilon) {
  return {ToVector(*tensors.weight), ToVector(*tensors.bias), epsilon};
}

absl::StatusOr<Layer> Layer::Create(const LayerTensors& tensors,
                                    const StackDescription& stack,
                                    Arithmetic arithmetic) {
  const auto linear = [arithmetic](std::initializer_list<LinearTensors> parts) {
    return Linear::Create(arithmetic, std::span(parts.begin(), parts.size()));
  };
  Layer layer;
  const AttentionTensors& self = tensors.self_attention;
  TRIVIUM_ASSIGN_OR_RETURN(layer.query_key_value,
                           linear({self.query, self.key, self.value}));
  TRIVIUM_ASSIGN_OR_RETURN(layer.self_output, linear({self.output}));
  layer.self_norm =
      Norm::Create(tensors.self_attention_norm, stack.norm_epsilon);
  if (tensors.cross_attention.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(layer.cross_query,
                             linear({tensors.cross_attention->query}));
    TRIVIUM_ASSIGN_OR_RETURN(layer.cross_output,
                             linear({tensors.cross_attention->output}));
    layer.cross_norm =
        Norm::Create(tensors.cross_attention_norm, stack.norm_epsilon);
  }
  TRIVIUM_ASSIGN_OR_RETURN(layer.up, linear({tensors.up}));
  TRIVIUM_ASSIGN_OR_RETURN(layer.down, linear({tensors.down}));
  layer.feed_forward_norm =
      Norm::Create(tensors.feed_forward_norm, stack.norm_epsilon);
  layer.activation = stack.activation;
  return layer;
}

absl::Status Layer::Smooth(const LayerTensors& tensors, Arithmetic arithmetic,
                           const InputMaxima& maxima) {
  const auto smooth = [&](std::initializer_list<LinearTensors> list,
                          Linear* linear) -> absl::Status {
    const std::span<const LinearTensors> parts(list.begin(), list.size());
    AlignedVector<float> factors = SmoothingFactors(maxima.Of(*linear), parts);
    TRIVIUM_ASSIGN_OR_RETURN(
        *linear, Linear::Create(arithmetic, parts, /*begin=*/0, /*count=*/0,
                                std::move(factors)));
    return absl::OkStatus();
  };
  const AttentionTensors& self = tensors.self_attention;
  TRIVIUM_RETURN_IF_ERROR(
      smooth({self.query, self.key, self.value}, &query_key_value));
  return smooth({tensors.up}, &up);
}

int64_t Layer::bytes() const {
  int64_t bytes =
      query_key_value.bytes() + self_output.bytes() + up.bytes() + down.bytes();
  if (cross_query.has_value()) {
    bytes += cross_query->bytes() + cross_output->bytes();
  }
  for (const Norm* norm : {&self_norm, &cross_norm, &feed_forward_norm}) {
    bytes += static_cast<int64_t>(2 * norm->gamma.size() * sizeof(float));
  }
  return bytes;
}

bool Layer::batch_invariant() const {
  return query_key_value.batch_invariant() && self_output.batch_invariant() &&
         up.batch_invariant() && down.batch_invariant();
}

Rows::Rows(Arithmetic arithmetic, NormPlacement placement, int d_model)
    : input(arithmetic),
      other(arithmetic),
      placement_(placement),
      d_model_(d_model),
      normal_(d_model) {}

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
    input.Copy(kept[row], row);
  }
}

void Rows::SetInput(int row, const float* x, Range range,
                    const Linear* reader) {
  if (reader != nullptr && !reader->smoothing().empty()) {
    range = ScaleRow(x, reader->smoothing().data(), d_model_, normal_.data());
    x = normal_.data();
  }
  if (reader != nullptr && maxima_ != nullptr) {
    maxima_->Add(*reader, std::span(x, d_model_));
  }
  input.Set(row, x, range);
}

void Rows::Embedded(const std::optional<Norm>& embedding_norm,
                    const Linear* reader) {
  for (int row = 0; row < rows_; ++row) {
    if (embedding_norm.has_value()) {
      embedding_norm->Apply(x(row), x(row));
    }
    if (placement_ == NormPlacement::kAfter) {
      SetInput(row, x(row), RangeOf(x(row), d_model_), reader);
    }
  }
}

void Rows::Begin(const Norm& norm, const Linear* reader) {
  if (placement_ == NormPlacement::kAfter) return;  // Add() has done it
  for (int row = 0; row < rows_; ++row) {
    const Range range = norm.Apply(x(row), normal_.data());
    SetInput(row, normal_.data(), range, reader);
  }
}

void Rows::Add(int row, const ProductRow& product, const Norm& norm,
               const Linear* reader) {
  if (placement_ == NormPlacement::kAfter) {
    const Range range = norm.Add(product, x(row), x(row));
    SetInput(row, x(row), range, reader);
  } else {
    AddRow(product, x(row));
  }
}

void Rows::Finish(const std::optional<Norm>& final_norm) {
  if (placement_ == NormPlacement::kAfter && !final_norm.has_value()) return;
  for (int row = 0; row < rows_; ++row) {
    if (final_norm.has_value()) final_norm->Apply(x(row), x(row));
    input.Set(row, x(row));
  }
}

absl::Status Rows::FeedForward(const Layer& layer, const Linear* reader,
                               LinearScratch* scratch) {
  Begin(layer.feed_forward_norm, &layer.up);
  other.Resize(rows_, layer.up.out());
  TRIVIUM_RETURN_IF_ERROR(
      layer.up.Forward(input, rows_, scratch, [&](int row, const auto& up) {
        float* y = scratch->row.data();
        const Range range = ActivateRow(up, layer.activation, y);
        other.Set(row, y, range);
      }));
  return layer.down.Forward(other, rows_, scratch,
                            [&](int row, const auto& down) {
                              Add(row, down, layer.feed_forward_norm, reader);
                            });
}

}  // namespace trivium
