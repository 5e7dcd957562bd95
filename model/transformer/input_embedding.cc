#include "model/transformer/input_embedding.h"

#include "base/status.h"

namespace trivium {

absl::Status InputEmbedding::Run(std::span<const Token> tokens, Rows* rows,
                                 Workspace* workspace) {
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
    if (!embeddings.wide_positions()) embeddings.AddPosition(position, x);
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
    return absl::OkStatus();
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
  return absl::OkStatus();
}

}  // namespace trivium
