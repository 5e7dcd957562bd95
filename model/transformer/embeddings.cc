#include "model/transformer/embeddings.h"

#include <bit>
#include <cmath>
#include <utility>

#include "model/kernels/row_ops.h"

namespace trivium {

std::vector<float> SinusoidalPositions(int positions, int d_model) {
  std::vector<float> table(static_cast<size_t>(positions) * d_model);
  const int sines = (d_model + 1) / 2;
  for (int position = 0; position < positions; ++position) {
    float* row = &table[static_cast<size_t>(position) * d_model];
    for (int i = 0; i < sines; ++i) {
      const double angle = position / std::pow(10000.0, 2.0 * i / d_model);
      row[i] = static_cast<float>(std::sin(angle));
      if (sines + i < d_model) {
        row[sines + i] = static_cast<float>(std::cos(angle));
      }
    }
  }
  return table;
}

TokenTable::TokenTable(const TensorView& tokens, Arithmetic arithmetic)
    : d_model_(static_cast<int>(tokens.shape[1])) {
  const size_t count = static_cast<size_t>(tokens.elements());
  if (arithmetic == Arithmetic::kF32) {
    CopyToF32(tokens, 0, std::span(f32_.Reserve(count), count));
    return;
  }
  bf16_.Reserve(count);
  std::vector<float> row(d_model_);
  for (size_t at = 0; at < count; at += d_model_) {
    CopyToF32(tokens, static_cast<int64_t>(at), row);
    Bf16Row(row.data(), d_model_, bf16_.data() + at);
  }
}

void TokenTable::Lookup(int32_t token, float scale, float* x) const {
  const size_t at = static_cast<size_t>(token) * d_model_;
  if (bf16_.data() == nullptr) {
    const float* row = f32_.data() + at;
    for (int i = 0; i < d_model_; ++i) x[i] = row[i] * scale;
    return;
  }
  const uint16_t* row = bf16_.data() + at;
  for (int i = 0; i < d_model_; ++i) {
    x[i] = std::bit_cast<float>(static_cast<uint32_t>(row[i]) << 16) * scale;
  }
}

int64_t TokenTable::bytes() const {
  return static_cast<int64_t>(f32_.bytes() + bf16_.bytes());
}

Embeddings::Embeddings(const StackDescription& stack,
                       std::shared_ptr<const TokenTable> tokens)
    : d_model_(stack.d_model),
      scale_(stack.embedding_scale),
      tokens_(std::move(tokens)) {
  if (stack.positions == PositionEncoding::kSinusoidal) {
    positions_ = SinusoidalPositions(stack.max_positions, d_model_);
  } else {
    positions_.resize(static_cast<size_t>(stack.max_positions) * d_model_);
    CopyToF32(*stack.embeddings.positions, 0, positions_);
  }
}

void Embeddings::Lookup(int32_t token, int position, float* x) const {
  tokens_->Lookup(token, scale_, x);
  AddRow(&positions_[static_cast<size_t>(position) * d_model_], d_model_, x);
}

int64_t Embeddings::position_bytes() const {
  return static_cast<int64_t>(positions_.size() * sizeof(float));
}

}  // namespace trivium
