#ifndef TRIVIUM_MODEL_TRANSFORMER_HEADS_H_
#define TRIVIUM_MODEL_TRANSFORMER_HEADS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "model/transformer/layer.h"
#include "model/transformer/linear.h"
#include "model/transformer/packing.h"

namespace trivium {

// Columns of one block of a product with a vocabulary. A block's logits stay in
// the caches until they are read.
inline constexpr int kOutputBlock = 1024;

// The packed weights of what is computed from an encoder's final states, see
// PoolerDescription and HeadDescription. They are f32 in every format, for they
// cost next to nothing and decide the answer; only the product with a
// vocabulary uses the model's formats.
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
  std::vector<Linear> output_blocks;  // kOutputBlock outputs each
  int outputs = 0;
  std::optional<int32_t> padding_id;        // see HeadDescription
  std::optional<int32_t> end_id;            // see HeadDescription
  std::optional<VocabularyPooling> sparse;  // see HeadDescription

  static absl::StatusOr<Head> Create(const HeadDescription& description,
                                     float norm_epsilon, const Formats& formats,
                                     Packing* packing);
  template <typename F>
  void ForEachPart(const F& f) const {
    const auto& [of_kind, of_input, of_dense, of_activation, of_norm,
                 of_output_operands, of_output_blocks, of_outputs,
                 of_padding_id, of_end_id, of_sparse] = *this;
    VisitParts(f, of_kind, of_input, of_dense, of_activation, of_norm,
               of_output_operands, of_output_blocks, of_outputs);
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_HEADS_H_
