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

TokenTable::TokenTable(const TensorView& tokens, WeightType weights)
    : width_(static_cast<int>(tokens.shape[1])) {
  const size_t count = static_cast<size_t>(tokens.elements());
  if (weights == WeightType::kF32) {
    CopyToF32(tokens, 0, std::span(f32_.Reserve(count), count));
    return;
  }
  bf16_.Reserve(count);
  std::vector<float> row(width_);
  for (size_t at = 0; at < count; at += width_) {
    CopyToF32(tokens, static_cast<int64_t>(at), row);
    Bf16Row(row.data(), width_, bf16_.data() + at);
  }
}

void TokenTable::Lookup(int32_t token, float scale, float* x) const {
  const size_t at = static_cast<size_t>(token) * width_;
  if (bf16_.data() == nullptr) {
    const float* row = f32_.data() + at;
    for (int i = 0; i < width_; ++i) x[i] = row[i] * scale;
    return;
  }
  const uint16_t* row = bf16_.data() + at;
  for (int i = 0; i < width_; ++i) {
    x[i] = std::bit_cast<float>(static_cast<uint32_t>(row[i]) << 16) * scale;
  }
}

int64_t TokenTable::bytes() const {
  return static_cast<int64_t>(f32_.bytes() + bf16_.bytes());
}

Embeddings::Embeddings(const StackDescription& stack,
                       std::shared_ptr<const TokenTable> tokens)
    : width_(static_cast<int>(stack.embeddings.tokens->shape[1])),
      scale_(stack.embedding_scale),
      position_offset_(stack.position_offset),
      position_padding_id_(stack.position_padding_id),
      tokens_(std::move(tokens)) {
  const auto read = [](const TensorView& tensor, std::vector<float>* values) {
    values->resize(tensor.elements());
    CopyToF32(tensor, 0, *values);
  };
  switch (stack.positions) {
    case PositionEncoding::kNone:
      break;
    case PositionEncoding::kSinusoidal:
      positions_ = SinusoidalPositions(stack.max_positions, width_);
      break;
    case PositionEncoding::kLearned:
      read(*stack.embeddings.positions, &positions_);
      break;
  }
  if (stack.embeddings.types != nullptr) read(*stack.embeddings.types, &types_);
}

void Embeddings::Lookup(int32_t token, int position, float* x) const {
  tokens_->Lookup(token, scale_, x);
  if (positions_.empty()) return;
  const size_t row = position_offset_ + position;
  AddRow({.f32 = &positions_[row * width_], .n = width_}, x);
}

void Embeddings::AddType(int32_t type, float* x) const {
  if (types_.empty()) return;
  AddRow({.f32 = &types_[static_cast<size_t>(type) * width_], .n = width_}, x);
}

void Embeddings::Positions(std::span<const int32_t> tokens,
                           std::vector<int>* positions) const {
  positions->clear();
  int next = 0;
  for (const int32_t token : tokens) {
    positions->push_back(position_padding_id_ == token
                             ? *position_padding_id_ - position_offset_
                             : next++);
  }
}

int64_t Embeddings::bytes() const {
  return static_cast<int64_t>((positions_.size() + types_.size()) *
                              sizeof(float));
}

}  // namespace trivium
