#include "model/transformer/relative_attention.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "base/status.h"
#include "fmt/format.h"
#include "model/transformer/layer.h"
#include "model/transformer/relative_row.h"
#include "model/weights/half.h"

namespace trivium {
namespace {

// Far more than any model on the Hugging Face Hub needs. A model without a
// position table may claim any number of positions, and each costs memory here.
constexpr double kMaxBytes = 8.0 * (1 << 30);

absl::Status Check(const StackDescription& stack) {
  const RelativeAttentionDescription& relative = *stack.relative_attention;
  const auto with_bias = std::count_if(stack.layer.begin(), stack.layer.end(),
                                       [](const LayerDescription& layer) {
                                         return layer.position_bias != nullptr;
                                       });
  if (with_bias != 0 &&
      (with_bias != std::ssize(stack.layer) || relative.bias != nullptr)) {
    return absl::InvalidArgumentError(
        "either all layers share one bias of relative attention, or each has "
        "its own");
  }
  const bool biased = relative.bias != nullptr || !relative.slopes.empty();
  double rows = biased ? stack.heads : 0;
  if (relative.block_bias != nullptr) rows += stack.heads;
  for (const LayerDescription& layer : stack.layer) {
    const AttentionGeometry& geometry = layer.self_attention.geometry;
    if (layer.position_bias != nullptr) rows += stack.heads;
    const bool disentangled = layer.position_key || layer.position_query;
    if (disentangled && geometry.kv_heads != geometry.heads) {
      return absl::InvalidArgumentError(
          "relative attention needs as many heads of keys and values as of "
          "queries");
    }
    if (layer.position_key) rows += geometry.query_width();
    if (layer.position_query) rows += geometry.query_width();
  }
  const double bytes =
      rows * static_cast<double>(RelativeColumns(stack.max_positions)) *
      sizeof(float);
  if (bytes <= kMaxBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "relative attention over {} positions needs {:.0f} GiB of tables, but "
      "at most {:.0f} are allowed; lower max_position_embeddings in "
      "config.json",
      stack.max_positions, bytes / (1 << 30), kMaxBytes / (1 << 30)));
}

float RoundedToBf16(float value) { return Bf16ToF32(F32ToBf16(value)); }

// Returns table = x W + b for the relative embeddings x [rows, d_model].
absl::StatusOr<std::vector<float>> Project(const Operand& x, int rows,
                                           const LinearTensors& tensors,
                                           Workspace* workspace) {
  TRIVIUM_ASSIGN_OR_RETURN(const Linear linear,
                           Linear::Create(kF32Formats, std::span(&tensors, 1)));
  std::vector<float> table(static_cast<size_t>(rows) * linear.out());
  TRIVIUM_RETURN_IF_ERROR(linear.Forward(
      x, rows, workspace, [&](int row, const auto& product, float*) {
        FinishRow(product, &table[static_cast<size_t>(row) * linear.out()]);
      }));
  return table;
}

}  // namespace

absl::StatusOr<RelativeAttention> RelativeAttention::Create(
    const StackDescription& stack) {
  TRIVIUM_RETURN_IF_ERROR(Check(stack));
  const RelativeAttentionDescription& description = *stack.relative_attention;
  RelativeAttention attention;
  attention.positions_ = stack.max_positions;
  attention.columns_ = RelativeColumns(stack.max_positions);
  if (!description.slopes.empty()) {
    attention.sloped_ = true;
    attention.bias_of_keys_ = description.bf16_scale > 0;
    std::vector<float>& bias =
        attention.biases_.emplace_back(stack.heads * attention.columns_);
    for (int head = 0; head < stack.heads; ++head) {
      float* const out = bias.data() + head * attention.columns_;
      if (attention.bias_of_keys_) {
        const float slope = RoundedToBf16(description.slopes[head]);
        for (int key = 0; key < stack.max_positions; ++key) {
          out[stack.max_positions - 1 + key] =
              description.bf16_scale *
              RoundedToBf16(slope * static_cast<float>(key));
        }
        continue;
      }
      for (int c = 0; c < 2 * stack.max_positions - 1; ++c) {
        out[c] = -description.slopes[head] *
                 static_cast<float>(std::abs(stack.max_positions - 1 - c));
      }
    }
    return attention;
  }
  std::vector<int> row_of_column;
  for (int c = 0; c < 2 * stack.max_positions - 1; ++c) {
    row_of_column.push_back(
        RelativeRow(description, stack.max_positions - 1 - c));
  }
  // Expands by_row [rows, width] to by_column [width, columns_].
  const auto spread = [&](std::span<const float> by_row, int width,
                          float* by_column) {
    for (int i = 0; i < width; ++i) {
      float* out = by_column + i * attention.columns_;
      for (size_t c = 0; c < row_of_column.size(); ++c) {
        out[c] = by_row[static_cast<size_t>(row_of_column[c]) * width + i];
      }
    }
  };
  const auto add_bias = [&](const TensorView& bias) {
    std::vector<float> by_row(bias.elements());
    CopyToF32(bias, 0, by_row);
    spread(by_row, stack.heads,
           attention.biases_.emplace_back(stack.heads * attention.columns_)
               .data());
  };
  if (description.bias != nullptr) add_bias(*description.bias);
  if (description.block_bias != nullptr) {
    std::vector<float> by_row(description.block_bias->elements());
    CopyToF32(*description.block_bias, 0, by_row);
    for (int head = 0; head < stack.heads; ++head) {
      for (const int row : row_of_column) {
        attention.block_bias_.push_back(
            by_row[static_cast<size_t>(row) * stack.heads + head]);
      }
    }
  }
  for (const LayerDescription& layer : stack.layer) {
    if (layer.position_bias != nullptr) add_bias(*layer.position_bias);
  }
  if (description.embeddings == nullptr) return attention;

  const int rows = 2 * description.span;
  Operand embeddings(OperandType::kF32);
  embeddings.Resize(rows, stack.d_model);
  std::vector<float> x(stack.d_model);
  std::optional<Norm> norm;
  if (description.norm) {
    norm = Norm::Create(*description.norm, stack.norm_epsilon);
  }
  for (int row = 0; row < rows; ++row) {
    CopyToF32(*description.embeddings, int64_t{row} * stack.d_model, x);
    if (norm) norm->Apply(x.data(), x.data());
    embeddings.Set(row, x.data());
  }
  Workspace workspace;
  const auto add = [&](const std::optional<LinearTensors>& tensors,
                       std::vector<Buffer<float>>* tables) {
    if (!tensors) return absl::OkStatus();
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<float> table,
                             Project(embeddings, rows, *tensors, &workspace));
    const int width = static_cast<int>(tensors->weight->shape[0]);
    Buffer<float>& by_column = tables->emplace_back(width * attention.columns_);
    spread(table, width, by_column.data());
    return absl::OkStatus();
  };
  for (const LayerDescription& layer : stack.layer) {
    attention.head_size_ = layer.self_attention.geometry.head_size;
    TRIVIUM_RETURN_IF_ERROR(add(layer.position_key, &attention.keys_));
    TRIVIUM_RETURN_IF_ERROR(add(layer.position_query, &attention.queries_));
  }
  return attention;
}

RelativeTables RelativeAttention::tables(int layer, int head) const {
  return {.key = Table(keys_, layer, head),
          .query = Table(queries_, layer, head),
          .stride = columns_,
          .positions = positions_};
}

int64_t RelativeAttention::bytes() const {
  size_t bytes = 0;
  for (const std::vector<float>& bias : biases_) {
    bytes += bias.size() * sizeof(float);
  }
  bytes += block_bias_.size() * sizeof(float);
  for (const Buffer<float>& table : keys_) bytes += table.bytes();
  for (const Buffer<float>& table : queries_) bytes += table.bytes();
  return static_cast<int64_t>(bytes);
}

}  // namespace trivium
