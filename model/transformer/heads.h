#ifndef TRIVIUM_MODEL_TRANSFORMER_HEADS_H_
#define TRIVIUM_MODEL_TRANSFORMER_HEADS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "model/transformer/layer.h"
#include "model/transformer/linear.h"

namespace trivium {

// Columns of one block of a product with a vocabulary. Logits of a block stay
// in the caches from the product to what reads them.
inline constexpr int kOutputBlock = 1024;

// What is computed from an encoder's final states, packed: see
// PoolerDescription and HeadDescription. In f32 whatever the model's
// formats, for it costs next to nothing and decides the answer; only the
// product with a vocabulary is in the model's.
struct Pooler {
  Linear dense;  // [out, d_model]
  Activation activation = Activation::kTanh;

  static absl::StatusOr<Pooler> Create(const PoolerDescription& description);
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_dense, of_activation] = *this;
    VisitParts(f, of_dense, of_activation);
  }
};

struct Head {
  HeadKind kind = HeadKind::kClassify;
  HeadDescription::Input input = HeadDescription::Input::kEveryToken;
  std::optional<Linear> dense;
  Activation activation = Activation::kNone;
  std::optional<Norm> norm;
  OperandType output_operands = OperandType::kF32;
  std::vector<Linear> output_blocks;  // of kOutputBlock outputs
  int outputs = 0;

  static absl::StatusOr<Head> Create(const HeadDescription& description,
                                     float norm_epsilon,
                                     const Formats& formats);
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_kind, of_input, of_dense, of_activation, of_norm,
                 of_output_operands, of_output_blocks, of_outputs] = *this;
    VisitParts(f, of_kind, of_input, of_dense, of_activation, of_norm,
               of_output_operands, of_output_blocks, of_outputs);
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_HEADS_H_
