#ifndef TRIVIUM_MODEL_TRANSFORMER_EMBEDDINGS_H_
#define TRIVIUM_MODEL_TRANSFORMER_EMBEDDINGS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "model/kernels/buffer.h"
#include "model/transformer/description.h"
#include "model/transformer/transformer.h"

namespace trivium {

// Token embeddings [vocabulary, d_model], f32, or bf16 where the model's
// arithmetic is coarser anyway. An encoder and a decoder may share one.
class TokenTable {
 public:
  TokenTable(const TensorView& tokens, Arithmetic arithmetic);

  // x = scale * row `token`.
  void Lookup(int32_t token, float scale, float* x) const;
  int64_t bytes() const;

 private:
  int d_model_;
  Buffer<float> f32_;      // or empty
  Buffer<uint16_t> bf16_;  // or empty
};

// x = scale * token embedding + position encoding.
class Embeddings {
 public:
  Embeddings() = default;
  Embeddings(const StackDescription& stack,
             std::shared_ptr<const TokenTable> tokens);

  // x [d_model] for a token in [0, vocabulary) at a position in
  // [0, max_positions).
  void Lookup(int32_t token, int position, float* x) const;

  int64_t position_bytes() const;

 private:
  int d_model_ = 0;
  float scale_ = 1;
  std::shared_ptr<const TokenTable> tokens_;
  std::vector<float> positions_;  // [max_positions, d_model]
};

// Marian's sinusoidal position encodings, [positions, d_model]: the sines of
// all frequencies, then their cosines (Vaswani et al. 2017 interleave them).
std::vector<float> SinusoidalPositions(int positions, int d_model);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_EMBEDDINGS_H_
