#include "model/transformer/embeddings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "model/kernels/row_ops.h"
#include "model/transformer/heads.h"
#include "model/transformer/packing.h"
#include "model/transformer/weight_rows.h"
#include "model/weights/half.h"

namespace trivium {

namespace {

// More positions than published models with sinusoidal encodings have.
constexpr int kTabulatedPositions = 4096;

// Returns element i of a position's encoding: the sines of all frequencies,
// then their cosines (Vaswani et al. 2017 interleave them).
float Sinusoidal(PositionEncoding encoding, int row, int i, int width) {
  const int sines = (width + 1) / 2;
  const bool is_sine = i < sines;
  const int pair = is_sine ? i : i - sines;
  const double exponent = encoding == PositionEncoding::kSinusoidal
                              ? 2.0 * pair / width
                              : 1.0 * pair / std::max(sines - 1, 1);
  const double angle = row / std::pow(10000.0, exponent);
  return static_cast<float>(is_sine ? std::sin(angle) : std::cos(angle));
}

}  // namespace

TokenTable::Content TokenTable::ContentOf(const TensorView& tokens,
                                          WeightType weights) {
  if (weights == WeightType::kF32) return Content::kF32;
  const bool groups =
      weights == WeightType::kGroups || weights == WeightType::kInt4;
  return groups && tokens.packed == nullptr && BlockElements(tokens.dtype) > 1
             ? Content::kBlocks
             : Content::kBf16;
}

size_t TokenTable::BytesOf(const TensorView& tokens, Content content) {
  const auto count = static_cast<size_t>(tokens.elements());
  return content == Content::kF32    ? count * sizeof(float)
         : content == Content::kBf16 ? count * sizeof(uint16_t)
                                     : tokens.data.size();
}

TokenTable::TokenTable(const TensorView& tokens, Content content,
                       RawBuffer values)
    : width_(static_cast<int>(tokens.shape[1])),
      values_(std::move(values)),
      values_bytes_(BytesOf(tokens, content)) {
  switch (content) {
    case Content::kF32:
      f32_ = static_cast<const float*>(values_.data());
      break;
    case Content::kBf16:
      bf16_ = static_cast<const uint16_t*>(values_.data());
      break;
    case Content::kBlocks:
      rows_ = tokens;
      rows_->data = {static_cast<const std::byte*>(values_.data()),
                     values_bytes_};
      break;
  }
}

TokenTable::TokenTable(const TensorView& tokens, WeightType weights)
    : TokenTable(tokens, ContentOf(tokens, weights),
                 RawBuffer(BytesOf(tokens, ContentOf(tokens, weights)))) {
  void* const values = values_.data();
  if (rows_.has_value()) {
    std::copy(tokens.data.begin(), tokens.data.end(),
              static_cast<std::byte*>(values));
    DropPages(tokens.data);
    return;
  }
  ForRowsAtOnce(tokens.shape[0], width_, [&](int64_t begin, int64_t end) {
    if (f32_ != nullptr) {
      const auto at = static_cast<size_t>(begin * width_);
      CopyToF32(
          tokens, begin * width_,
          std::span(static_cast<float*>(values) + at, (end - begin) * width_));
      return;
    }
    std::vector<float> row(width_);
    for (int64_t at = begin * width_; at < end * width_; at += width_) {
      CopyToF32(tokens, at, row);
      Bf16Row(row.data(), width_, static_cast<uint16_t*>(values) + at);
    }
  });
  DropPages(tokens.data);
}

absl::StatusOr<std::shared_ptr<const TokenTable>> TokenTable::Read(
    const TensorView& tokens, WeightType weights, const PartPieces& pieces) {
  const Content content = ContentOf(tokens, weights);
  TRIVIUM_ASSIGN_OR_RETURN(RawBuffer values, pieces.Buffer(0));
  if (values.bytes() != BytesOf(tokens, content)) {
    return absl::InvalidArgumentError("a packed table has another size");
  }
  return std::shared_ptr<const TokenTable>(
      new TokenTable(tokens, content, std::move(values)));
}

void TokenTable::AddPieces(std::vector<PackedPiece>* pieces) const {
  if (part_ < 0) return;
  pieces->push_back({PartPieces::Id(part_, 0), values()});
}

std::span<const std::byte> TokenTable::values() const {
  return {static_cast<const std::byte*>(values_.data()), values_bytes_};
}

TokenTable::TokenTable(const TensorView& tokens)
    : width_(static_cast<int>(tokens.shape[1])), rows_(tokens) {}

void TokenTable::Lookup(int32_t token, float scale, float* x) const {
  const size_t at = static_cast<size_t>(token) * width_;
  if (output_ != nullptr) {
    (*output_)[static_cast<size_t>(token / kOutputBlock)].ReadWeights(
        token % kOutputBlock, x);
  } else if (rows_.has_value()) {
    CopyToF32(*rows_, static_cast<int64_t>(at), std::span(x, width_));
  } else if (bf16_ != nullptr) {
    for (int i = 0; i < width_; ++i) x[i] = Bf16ToF32(bf16_[at + i]);
  } else {
    std::copy_n(f32_ + at, width_, x);
  }
  for (int i = 0; i < width_; ++i) x[i] *= scale;
}

Embeddings::Embeddings(const StackDescription& stack,
                       std::shared_ptr<const TokenTable> tokens)
    : width_(static_cast<int>(stack.embeddings.tokens->shape[1])),
      scale_(stack.embedding_scale),
      encoding_(stack.positions),
      position_offset_(stack.position_offset),
      position_padding_id_(stack.position_padding_id),
      tokens_(std::move(tokens)) {
  const auto read = [](const TensorView& tensor, std::vector<float>* values) {
    values->resize(tensor.elements());
    CopyToF32(tensor, 0, *values);
  };
  positions_width_ = width_;
  switch (stack.positions) {
    case PositionEncoding::kNone:
      break;
    case PositionEncoding::kSinusoidal:
    case PositionEncoding::kSinusoidalToEnd:
      for (int row = 0; row < std::min(stack.max_positions + position_offset_,
                                       kTabulatedPositions);
           ++row) {
        for (int i = 0; i < width_; ++i) {
          positions_.push_back(row == position_padding_id_
                                   ? 0.0f
                                   : Sinusoidal(encoding_, row, i, width_));
        }
      }
      break;
    case PositionEncoding::kLearned:
      positions_width_ = static_cast<int>(stack.embeddings.positions->shape[1]);
      read(*stack.embeddings.positions, &positions_);
      break;
  }
  if (stack.embeddings.types != nullptr) {
    types_width_ = static_cast<int>(stack.embeddings.types->shape[1]);
    read(*stack.embeddings.types, &types_);
  }
}

void Embeddings::Lookup(int32_t token, float* x) const {
  tokens_->Lookup(token, scale_, x);
}

void Embeddings::AddPosition(int position, float* x) const {
  if (positions_.empty()) return;
  const int row = position_offset_ + position;
  const size_t at = static_cast<size_t>(row) * positions_width_;
  if (at < positions_.size()) {
    AddRow({.f32 = &positions_[at], .n = positions_width_}, x);
  } else {
    for (int i = 0; i < width_; ++i) {
      x[i] += Sinusoidal(encoding_, row, i, width_);
    }
  }
}

void Embeddings::AddType(int32_t type, float* x) const {
  if (types_.empty()) return;
  AddRow({.f32 = &types_[static_cast<size_t>(type) * types_width_],
          .n = types_width_},
         x);
}

int Embeddings::Position(int32_t token, int place) const {
  return token == position_padding_id_
             ? *position_padding_id_ - position_offset_
             : place;
}

void Embeddings::Positions(std::span<const int32_t> tokens,
                           std::vector<int>* positions) const {
  positions->clear();
  int next = 0;
  for (const int32_t token : tokens) {
    positions->push_back(Position(token, next));
    if (token != position_padding_id_) ++next;
  }
}

int64_t Embeddings::bytes() const {
  return static_cast<int64_t>((positions_.size() + types_.size()) *
                              sizeof(float));
}

}  // namespace trivium
