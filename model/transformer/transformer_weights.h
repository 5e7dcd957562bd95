#ifndef TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_WEIGHTS_H_
#define TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_WEIGHTS_H_

#include <memory>
#include <optional>
#include <vector>

#include "model/kernels/attention.h"
#include "model/transformer/embeddings.h"
#include "model/transformer/layer.h"
#include "model/transformer/transformer.h"

namespace trivium {

// An encoder's or a decoder's packed weights.
struct Stack {
  Embeddings embeddings;
  std::optional<Norm> embedding_norm;
  std::vector<Layer> layers;
  std::optional<Norm> final_norm;
  NormPlacement norm_placement = NormPlacement::kAfter;
  int d_model = 0;
  int heads = 0;
  int vocabulary = 0;
  int max_positions = 0;

  int head_size() const { return d_model / heads; }
};

// Columns of one block of the output projection. Logits of a block stay in
// the caches from the product to the choice of candidates, so no
// [rows, vocabulary] array exists.
inline constexpr int kOutputBlock = 1024;

// The Transformer that engines run.
class TransformerWeights : public Transformer {
 public:
  static absl::StatusOr<std::shared_ptr<const TransformerWeights>> Pack(
      const TransformerDescription& description, Arithmetic arithmetic);

  int64_t weight_bytes() const override { return weight_bytes_; }
  int64_t parameters() const override { return parameters_; }
  bool batch_invariant() const override { return batch_invariant_; }

  Arithmetic arithmetic() const { return arithmetic_; }
  // Of one layer of `stack`.
  KvShape kv_shape(const Stack& stack) const {
    const KvType type =
        arithmetic_ == Arithmetic::kF32 ? KvType::kF32 : KvType::kBf16;
    return {type, stack.heads, stack.head_size()};
  }
  const std::optional<Stack>& encoder() const { return encoder_; }
  const std::optional<Stack>& decoder() const { return decoder_; }
  // Keys, then values, of every decoder layer, for one encoder state:
  // [layers x 2 d_model, d_model]. Empty without cross-attention.
  const std::optional<Linear>& cross_key_value() const {
    return cross_key_value_;
  }
  // [vocabulary, d_model] in blocks of kOutputBlock.
  const std::vector<Linear>& output_blocks() const { return output_blocks_; }

 private:
  Arithmetic arithmetic_ = Arithmetic::kF32;
  std::optional<Stack> encoder_;
  std::optional<Stack> decoder_;
  std::optional<Linear> cross_key_value_;
  std::vector<Linear> output_blocks_;
  int64_t weight_bytes_ = 0;
  int64_t parameters_ = 0;
  bool batch_invariant_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_WEIGHTS_H_
