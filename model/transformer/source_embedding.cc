#include "model/transformer/source_embedding.h"

#include <algorithm>

#include "base/status.h"

namespace trivium {

absl::Status SourceEmbedding::Run(std::span<SourceState* const> sources,
                                  Rows* rows, Workspace* workspace) {
  const Embeddings& embeddings = stack_.embeddings;
  const bool projected = stack_.embedding_projection.has_value();
  const int width = embeddings.width();
  if (projected) {
    narrow_.Resize(rows->rows(), width);
    row_.resize(width);
  }
  int row = 0;
  for (const SourceState* source : sources) {
    const EncoderInput& input = source->input;
    embeddings.Positions(input.ids, &positions_);
    for (size_t i = 0; i < input.ids.size(); ++i, ++row) {
      float* x = projected ? row_.data() : rows->x(row);
      embeddings.Lookup(input.ids[i], positions_[i], x);
      embeddings.AddType(input.type_ids.empty() ? 0 : input.type_ids[i], x);
      if (projected) {
        if (stack_.embedding_norm.has_value()) {
          stack_.embedding_norm->Apply(x, x);
        }
        narrow_.Set(row, x);
      }
    }
  }
  if (!projected) {
    rows->Embedded(stack_.embedding_norm, workspace);
    return absl::OkStatus();
  }
  TRIVIUM_RETURN_IF_ERROR(stack_.embedding_projection->Forward(
      narrow_, rows->rows(), workspace,
      [&](int i, const auto& product, float*) {
        FinishRow(product, rows->x(i));
      }));
  rows->Embedded(std::nullopt, workspace);
  return absl::OkStatus();
}

}  // namespace trivium
