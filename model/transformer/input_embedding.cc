#include "model/transformer/input_embedding.h"

#include <algorithm>

#include "base/status.h"

namespace trivium {

absl::Status InputEmbedding::Run(std::span<const Token> tokens, Rows* rows,
                                 Workspace* workspace) {
  if (stack_.projects_tokens) return RunProjected(tokens, rows, workspace);
  const Embeddings& embeddings = stack_.embeddings;
  const bool projected = stack_.embedding_projection.has_value();
  const int width = embeddings.width();
  if (projected) {
    narrow_.Resize(rows->rows(), width);
    row_.resize(width);
  }
  int row = 0;
  for (const auto& [id, position, type] : tokens) {
    float* x = projected ? row_.data() : rows->x(row);
    embeddings.Lookup(id, x);
    if (!embeddings.wide_positions() && !stack_.positions_after_norm) {
      embeddings.AddPosition(position, x);
    }
    embeddings.AddType(type, x);
    if (projected) {
      if (stack_.embedding_norm.has_value()) {
        stack_.embedding_norm->Apply(x, x);
      }
      narrow_.Set(row, x);
    }
    ++row;
  }
  if (!projected) {
    rows->Embedded(stack_.embedding_norm, workspace);
    for (int i = 0; i < rows->rows() && stack_.positions_after_norm; ++i) {
      embeddings.AddPosition(tokens[i].position, rows->x(i));
    }
    return RunTokenInputs(tokens, rows, workspace);
  }
  TRIVIUM_RETURN_IF_ERROR(stack_.embedding_projection->Forward(
      narrow_, rows->rows(), workspace,
      [&](int i, const auto& product, float*) {
        FinishRow(product, rows->x(i));
        if (embeddings.wide_positions()) {
          embeddings.AddPosition(tokens[i].position, rows->x(i));
        }
      }));
  rows->Embedded(std::nullopt, workspace);
  return RunTokenInputs(tokens, rows, workspace);
}

absl::Status InputEmbedding::RunProjected(std::span<const Token> tokens,
                                          Rows* rows, Workspace* workspace) {
  const Embeddings& embeddings = stack_.embeddings;
  const Linear& projection = *stack_.embedding_projection;
  const int width = embeddings.width();
  const int count = static_cast<int>(tokens.size());
  narrow_.Resize(count, projection.in());
  row_.resize(projection.in());
  for (int row = 0; row < count; ++row) {
    float* x = row_.data();
    if (stack_.trigrams) {
      std::fill(row_.begin(), row_.end(), 0.0f);
      if (row + 1 < count && tokens[row + 1].position != 0) {
        embeddings.Lookup(tokens[row + 1].id, x);
      }
      if (tokens[row].position != 0) {
        embeddings.Lookup(tokens[row - 1].id, x + 2 * width);
      }
      x += width;
    }
    embeddings.Lookup(tokens[row].id, x);
    narrow_.Set(row, row_.data());
  }
  TRIVIUM_RETURN_IF_ERROR(projection.Forward(
      narrow_, count, workspace, [&](int row, const auto& product, float*) {
        float* const x = rows->x(row);
        FinishRow(product, x);
        embeddings.AddPosition(tokens[row].position, x);
        embeddings.AddType(tokens[row].type, x);
      }));
  rows->Embedded(stack_.embedding_norm, workspace);
  return absl::OkStatus();
}

absl::Status InputEmbedding::RunTokenInputs(std::span<const Token> tokens,
                                            Rows* rows, Workspace* workspace) {
  if (!stack_.token_inputs.has_value()) return absl::OkStatus();
  const TokenInputs& of_tokens = *stack_.token_inputs;
  const size_t stride = of_tokens.projection.out();
  first_input_.Resize(rows->rows(), stack_.d_model);
  for (int row = 0; row < rows->rows(); ++row) {
    first_input_.Set(row, rows->x(row));
  }
  float* const inputs = token_inputs_.Reserve(rows->rows() * stride);
  TRIVIUM_RETURN_IF_ERROR(of_tokens.projection.Forward(
      first_input_, rows->rows(), workspace,
      [&](int row, const auto& product, float* y) {
        FinishRow(product, y);
        float* const input = inputs + row * stride;
        of_tokens.tokens->Lookup(tokens[row].id, of_tokens.scale, input);
        for (size_t begin = 0; begin < stride; begin += of_tokens.width) {
          of_tokens.norm.Apply(y + begin, y + begin);
        }
        AddRow({.f32 = y, .n = static_cast<int>(stride)}, input);
      }));
  // A mapped file that was changed meanwhile has other rows, or zeros.
  return of_tokens.in_place == nullptr ? absl::OkStatus()
                                       : of_tokens.in_place->CheckUnchanged();
}

}  // namespace trivium
