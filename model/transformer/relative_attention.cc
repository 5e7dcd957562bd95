#include "model/transformer/relative_attention.h"

#include <cmath>
#include <optional>

#include "base/status.h"
#include "fmt/format.h"
#include "model/transformer/relative_row.h"

namespace trivium {
namespace {

// More than any folder of the Hub needs by far. A folder whose positions have
// no table of their own may claim any number of them, and each costs memory
// here.
constexpr double kMaxBytes = 8.0 * (1 << 30);

absl::Status CheckSize(const StackDescription& stack) {
  double rows = stack.relative_attention->bias != nullptr ? stack.heads : 0;
  for (const LayerTensors& layer : stack.layer) {
    if (layer.position_key) rows += stack.d_model;
    if (layer.position_query) rows += stack.d_model;
  }
  const double bytes =
      rows * static_cast<double>(RelativeColumns(stack.max_positions)) *
      sizeof(float);
  if (bytes <= kMaxBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "relative attention over {} positions needs {:.0f} GiB of tables, of "
      "which {:.0f} are allowed; lower max_position_embeddings in config.json",
      stack.max_positions, bytes / (1 << 30), kMaxBytes / (1 << 30)));
}

// table = x W + b for the relative embeddings x [rows, d_model].
absl::StatusOr<std::vector<float>> Project(const Operand& x, int rows,
                                           const LinearTensors& tensors,
                                           LinearScratch* scratch) {
  TRIVIUM_ASSIGN_OR_RETURN(
      const Linear linear,
      Linear::Create(Arithmetic::kF32, std::span(&tensors, 1)));
  std::vector<float> table(static_cast<size_t>(rows) * linear.out());
  TRIVIUM_RETURN_IF_ERROR(
      linear.Forward(x, rows, scratch, [&](int row, const auto& product) {
        FinishRow(product, &table[static_cast<size_t>(row) * linear.out()]);
      }));
  return table;
}

}  // namespace

absl::StatusOr<RelativeAttention> RelativeAttention::Create(
    const StackDescription& stack) {
  TRIVIUM_RETURN_IF_ERROR(CheckSize(stack));
  const RelativeAttentionDescription& description = *stack.relative_attention;
  RelativeAttention attention;
  attention.positions_ = stack.max_positions;
  attention.head_size_ = stack.d_model / stack.heads;
  attention.columns_ = RelativeColumns(stack.max_positions);
  attention.scale_ = 1.0f / std::sqrt(static_cast<float>(description.terms) *
                                      attention.head_size_);
  std::vector<int> row_of_column;
  for (int c = 0; c < 2 * stack.max_positions - 1; ++c) {
    row_of_column.push_back(
        RelativeRow(description, stack.max_positions - 1 - c));
  }
  // by_row [rows, width] as by_column [width, columns_].
  const auto spread = [&](std::span<const float> by_row, int width,
                          float* by_column) {
    for (int i = 0; i < width; ++i) {
      float* out = by_column + i * attention.columns_;
      for (size_t c = 0; c < row_of_column.size(); ++c) {
        out[c] = by_row[static_cast<size_t>(row_of_column[c]) * width + i];
      }
    }
  };
  if (description.bias != nullptr) {
    std::vector<float> by_row(description.bias->elements());
    CopyToF32(*description.bias, 0, by_row);
    attention.bias_.resize(stack.heads * attention.columns_);
    spread(by_row, stack.heads, attention.bias_.data());
  }
  if (description.embeddings == nullptr) return attention;

  const int rows = 2 * description.span;
  Operand embeddings(Arithmetic::kF32);
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
  LinearScratch scratch;
  const auto add = [&](const std::optional<LinearTensors>& tensors,
                       std::vector<Buffer<float>>* tables) {
    if (!tensors) return absl::OkStatus();
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<float> table,
                             Project(embeddings, rows, *tensors, &scratch));
    Buffer<float>& by_column =
        tables->emplace_back(stack.d_model * attention.columns_);
    spread(table, stack.d_model, by_column.data());
    return absl::OkStatus();
  };
  for (const LayerTensors& layer : stack.layer) {
    TRIVIUM_RETURN_IF_ERROR(add(layer.position_key, &attention.keys_));
    TRIVIUM_RETURN_IF_ERROR(add(layer.position_query, &attention.queries_));
  }
  return attention;
}

RelativeTables RelativeAttention::tables(int layer, int head) const {
  return {.key = Table(keys_, layer, head),
          .query = Table(queries_, layer, head),
          .bias = bias_.empty() ? nullptr : &bias_[head * columns_],
          .stride = columns_,
          .positions = positions_};
}

int64_t RelativeAttention::bytes() const {
  size_t bytes = bias_.size() * sizeof(float);
  for (const Buffer<float>& table : keys_) bytes += table.bytes();
  for (const Buffer<float>& table : queries_) bytes += table.bytes();
  return static_cast<int64_t>(bytes);
}

absl::Status RelativeSelfAttention::Run(const RelativeAttention& attention,
                                        const Layer& weights, int layer,
                                        int layers, int heads,
                                        std::span<SourceState* const> sources,
                                        Rows* rows, LinearScratch* scratch) {
  const int d_model = weights.self_output.out();
  const size_t width = 3 * static_cast<size_t>(d_model);
  query_key_value_.Reserve(rows->rows() * width);
  out_.Reserve(static_cast<size_t>(rows->rows()) * d_model);
  rows->Begin(weights.self_norm, &weights.query_key_value);
  TRIVIUM_RETURN_IF_ERROR(weights.query_key_value.Forward(
      rows->input, rows->rows(), scratch, [&](int row, const auto& product) {
        FinishRow(product, query_key_value_.data() + row * width);
      }));
  int row = 0;
  for (SourceState* source : sources) {
    Attend(attention, layer, layers, heads, d_model, row, source);
    row += source->tokens();
  }
  rows->other.Resize(rows->rows(), d_model);
  for (row = 0; row < rows->rows(); ++row) {
    rows->other.Set(row, out_.data() + static_cast<size_t>(row) * d_model);
  }
  return weights.self_output.Forward(
      rows->other, rows->rows(), scratch, [&](int r, const auto& product) {
        rows->Add(r, product, weights.self_norm, &weights.up);
      });
}

void RelativeSelfAttention::Attend(const RelativeAttention& attention,
                                   int layer, int layers, int heads,
                                   int d_model, int first_row,
                                   SourceState* source) {
  const size_t tokens = source->tokens();
  const size_t size = tokens * tokens;
  const SelectedMaps maps(source->options.selection, layers, heads);
  if (source->options.attention) {
    source->attention.resize(maps.count() * size);
  }
  const int head_size = d_model / heads;
  const float* query =
      query_key_value_.data() + static_cast<size_t>(first_row) * 3 * d_model;
  for (int head = 0; head < heads; ++head) {
    const int map = source->options.attention ? maps.Find(layer, head) : -1;
    AttendRelative(
        {.head_size = head_size,
         .tokens = static_cast<int>(tokens),
         .query = query + head * head_size,
         .key = query + d_model + head * head_size,
         .value = query + 2 * d_model + head * head_size,
         .stride = 3 * static_cast<size_t>(d_model),
         .scale = attention.scale(),
         .tables = attention.tables(layer, head),
         .out = out_.data() + static_cast<size_t>(first_row) * d_model +
                head * head_size,
         .out_stride = static_cast<size_t>(d_model),
         .scratch = scratch_.Reserve(
             RelativeScratchSize(head_size, static_cast<int>(tokens))),
         .weights = map >= 0 ? &source->attention[map * size] : nullptr});
  }
}

}  // namespace trivium
