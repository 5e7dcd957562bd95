#ifndef TRIVIUM_MODEL_TRANSFORMER_EMBEDDINGS_H_
#define TRIVIUM_MODEL_TRANSFORMER_EMBEDDINGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/kernels/buffer.h"
#include "model/kernels/matmul.h"
#include "model/transformer/description.h"

namespace trivium {

// Token embeddings [vocabulary, width], f32, or bf16 where the model's
// weights are coarser anyway. An encoder and a decoder may share one.
class TokenTable {
 public:
  TokenTable(const TensorView& tokens, WeightType weights);

  // x = scale * row `token`.
  void Lookup(int32_t token, float scale, float* x) const;
  int64_t bytes() const;

 private:
  int width_;
  Buffer<float> f32_;      // or empty
  Buffer<uint16_t> bf16_;  // or empty
};

// x = scale * token embedding + position encoding (+ segment embedding).
class Embeddings {
 public:
  Embeddings() = default;
  Embeddings(const StackDescription& stack,
             std::shared_ptr<const TokenTable> tokens);

  // Of x: d_model, or less where a projection follows.
  int width() const { return width_; }

  // Whether positions are added behind the projection, which gave d_model.
  bool wide_positions() const { return positions_width_ != width_; }

  // x [width] = scale * the embedding of a token in [0, vocabulary).
  void Lookup(int32_t token, float* x) const;
  // Adds that of a position in [0, max_positions), if there are any.
  void AddPosition(int position, float* x) const;
  // Adds the embedding of a segment in [0, type_vocabulary); nothing where the
  // model has none.
  void AddType(int32_t type, float* x) const;
  // What AddPosition takes for a token whose place in its sequence is `place`,
  // unless it is one that takes none.
  int Position(int32_t token, int place) const;
  // For all tokens of a sequence from its start: 0, 1, 2... where those that
  // take none do not count.
  void Positions(std::span<const int32_t> tokens,
                 std::vector<int>* positions) const;

  // Of the tables of positions and segments; the tokens' may be shared.
  int64_t bytes() const;
  const std::shared_ptr<const TokenTable>& tokens() const { return tokens_; }

 private:
  int width_ = 0;
  float scale_ = 1;
  PositionEncoding encoding_ = PositionEncoding::kNone;
  int position_offset_ = 0;
  std::optional<int32_t> position_padding_id_;
  std::shared_ptr<const TokenTable> tokens_;
  int positions_width_ = 0;
  // [rows, positions_width_], or empty. Learned ones: all. Sinusoidal ones: of
  // the first positions; the rest, of which a configuration may claim any
  // number, are computed when they are asked for.
  std::vector<float> positions_;
  std::vector<float> types_;  // [type_vocabulary, width], or empty
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_EMBEDDINGS_H_
