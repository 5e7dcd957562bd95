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

  // x [width] for a token in [0, vocabulary) at a position in
  // [0, max_positions).
  void Lookup(int32_t token, int position, float* x) const;
  // Adds the embedding of a segment in [0, type_vocabulary); nothing where the
  // model has none.
  void AddType(int32_t type, float* x) const;
  // What Lookup takes for the positions of a sequence from its start: 0, 1,
  // 2... but for tokens that take none.
  void Positions(std::span<const int32_t> tokens,
                 std::vector<int>* positions) const;

  // Of the tables of positions and segments; the tokens' may be shared.
  int64_t bytes() const;
  const std::shared_ptr<const TokenTable>& tokens() const { return tokens_; }

 private:
  int width_ = 0;
  float scale_ = 1;
  int position_offset_ = 0;
  std::optional<int32_t> position_padding_id_;
  std::shared_ptr<const TokenTable> tokens_;
  std::vector<float> positions_;  // [rows, width], or empty
  std::vector<float> types_;      // [type_vocabulary, width], or empty
};

// Marian's sinusoidal position encodings, [positions, d_model]: the sines of
// all frequencies, then their cosines (Vaswani et al. 2017 interleave them).
std::vector<float> SinusoidalPositions(int positions, int d_model);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_EMBEDDINGS_H_
