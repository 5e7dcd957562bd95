#include "model/multi_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/status.h"
#include "model/sentence_modules.h"
#include "model/similarity.h"
#include "model/transformer/workspace.h"

namespace trivium {
namespace {

bool HasId(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

absl::StatusOr<Linear> PackLinear(const LinearTensors& tensors) {
  return Linear::Create(kF32Formats, std::span(&tensors, 1));
}

}  // namespace

absl::Status MultiVectors::Add(const DenseModule& module) {
  Dense dense;
  TRIVIUM_ASSIGN_OR_RETURN(dense.linear,
                           PackLinear({module.weight, module.bias}));
  if (module.residual != nullptr) {
    TRIVIUM_ASSIGN_OR_RETURN(dense.residual,
                             PackLinear({module.residual, nullptr}));
  }
  dense.adds_input = module.adds_input;
  dense.activation = module.activation;
  size_ = dense.linear.out();
  steps_.emplace_back(std::move(dense));
  return absl::OkStatus();
}

absl::Status MultiVectors::Add(const LinearTensors& tensors) {
  Dense dense;
  TRIVIUM_ASSIGN_OR_RETURN(dense.linear, PackLinear(tensors));
  size_ = dense.linear.out();
  steps_.emplace_back(std::move(dense));
  return absl::OkStatus();
}

absl::Status MultiVectors::FindTokens(const std::string& file,
                                      const Tokenizer& tokenizer,
                                      int vocabulary) {
  const auto id_of = [&](std::string_view piece) {
    const int32_t id = tokenizer.PieceToId(piece, TextSide::kSource);
    return id < vocabulary ? id : -1;
  };
  const SpecialTokenIds special = tokenizer.special_token_ids();
  for (const std::string& piece : settings_.skipped) {
    const int32_t id = id_of(piece);
    // A word that the vocabulary lacks must not stand for all unknown ones.
    if (id < 0 || (id == special.unknown &&
                   tokenizer.IdToPiece(id, TextSide::kSource) != piece)) {
      continue;
    }
    skipped_ids_.push_back(id);
  }
  if (settings_.expansion) {
    const std::string& token = settings_.expansion->token;
    expansion_id_ = !token.empty()      ? id_of(token)
                    : special.mask >= 0 ? special.mask
                                        : special.end;
    if (expansion_id_ < 0 || expansion_id_ >= vocabulary) {
      return UnusableModules(
          file, fmt::format("queries are filled up with {}, which the "
                            "tokenizer does not have",
                            token.empty() ? "a mask" : "'" + token + "'"));
    }
  }
  for (const std::string& marker : settings_.markers) {
    const int32_t id = id_of(marker);
    if (id >= 0) markers_.emplace_back(marker, id);
  }
  return absl::OkStatus();
}

int MultiVectors::MostTokens(std::optional<TextKind> kind) const {
  const auto or_usual = [&](int length) {
    return length > 0 ? length : settings_.text_length;
  };
  if (kind == TextKind::kDocument) return or_usual(settings_.document_length);
  if (kind != TextKind::kQuery) return settings_.text_length;
  if (!settings_.expansion) return or_usual(settings_.query_length);
  if (settings_.expansion->cuts) return settings_.expansion->length;
  return settings_.query_length == 0
             ? settings_.text_length
             : std::max(settings_.query_length, settings_.expansion->length);
}

void MultiVectors::Expand(int most, EncoderInput* query) const {
  if (!settings_.expansion) return;
  const auto length =
      static_cast<size_t>(std::min(settings_.expansion->length, most));
  const size_t tokens = query->ids.size();
  if (tokens == 0 || tokens >= length) return;
  query->ids.resize(length, expansion_id_);
  if (!query->type_ids.empty()) query->type_ids.resize(length, 0);
  if (!settings_.expansion->attended) {
    query->unattended = static_cast<int>(length - tokens);
  }
}

std::optional<int32_t> MultiVectors::TakeMarker(std::string* prompt) const {
  for (const auto& [marker, id] : markers_) {
    if (!prompt->starts_with(marker)) continue;
    prompt->erase(0, marker.size());
    return id;
  }
  return std::nullopt;
}

bool MultiVectors::HasRow(int32_t id, std::optional<TextKind> kind) const {
  const bool query = kind == TextKind::kQuery;
  const bool skips =
      query ? settings_.skips_in_queries : settings_.skips_in_documents;
  if (skips && HasId(skipped_ids_, id)) return false;
  return query || settings_.kept_ids.empty() || HasId(settings_.kept_ids, id);
}

absl::StatusOr<VectorRows> MultiVectors::Rows(std::span<const float> states,
                                              std::span<const int32_t> ids,
                                              std::optional<TextKind> kind,
                                              int unattended) const {
  const auto width = static_cast<size_t>(d_model_);
  VectorRows x;
  x.size = d_model_;
  const int tokens = static_cast<int>(ids.size());
  const int end = settings_.keeps_expansion ? tokens : tokens - unattended;
  for (int token = settings_.first; token < end; ++token) {
    if (!HasRow(ids[token], kind)) continue;
    x.positions.push_back(token);
    const auto state = states.subspan(token * width, width);
    x.values.insert(x.values.end(), state.begin(), state.end());
  }
  const int rows = static_cast<int>(x.positions.size());
  if (rows == 0) x.size = size_;
  for (const Step& step : steps_) {
    if (rows == 0) break;
    if (const auto* dense = std::get_if<Dense>(&step)) {
      TRIVIUM_RETURN_IF_ERROR(Apply(*dense, rows, &x));
      continue;
    }
    for (int row = 0; row < rows; ++row) {
      NormalizeLength(std::span(x.values).subspan(
          static_cast<size_t>(row) * x.size, x.size));
    }
  }
  return x;
}

absl::Status MultiVectors::Apply(const Dense& dense, int rows, VectorRows* x) {
  const int out = dense.linear.out();
  std::vector<float> y(static_cast<size_t>(rows) * out);
  Workspace workspace;
  Operand input(OperandType::kF32);
  input.Resize(rows, x->size);
  for (int row = 0; row < rows; ++row) input.Set(row, x->row(row).data());
  TRIVIUM_RETURN_IF_ERROR(dense.linear.Forward(
      input, rows, &workspace, [&](int row, const auto& product, float*) {
        float* const to = &y[static_cast<size_t>(row) * out];
        FinishRow(product, to);
        if (dense.activation == nullptr) return;
        for (int i = 0; i < out; ++i) {
          to[i] = static_cast<float>(dense.activation(to[i]));
        }
      }));
  if (dense.adds_input) {
    for (size_t i = 0; i < y.size(); ++i) y[i] += x->values[i];
  }
  if (dense.residual) {
    TRIVIUM_RETURN_IF_ERROR(dense.residual->Forward(
        input, rows, &workspace, [&](int row, const auto& product, float* z) {
          FinishRow(product, z);
          float* const to = &y[static_cast<size_t>(row) * out];
          for (int i = 0; i < out; ++i) to[i] += z[i];
        }));
  }
  x->values = std::move(y);
  x->size = out;
  return absl::OkStatus();
}

std::vector<SparseWeight> TokenWeights::Of(std::span<const float> states,
                                           std::span<const int32_t> ids) const {
  std::map<int32_t, float> largest;
  for (size_t token = 0; token < ids.size(); ++token) {
    if (HasId(left_out, ids[token])) continue;
    double sum = bias;
    for (size_t i = 0; i < weight.size(); ++i) {
      sum += double{weight[i]} * states[token * weight.size() + i];
    }
    if (!(sum > 0)) continue;
    float& best = largest[ids[token]];
    best = std::max(best, static_cast<float>(sum));
  }
  std::vector<SparseWeight> weights;
  for (const auto& [id, value] : largest) weights.push_back({id, value});
  return weights;
}

}  // namespace trivium
