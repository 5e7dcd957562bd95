#ifndef TRIVIUM_MODEL_TRANSFORMER_FORMATS_H_
#define TRIVIUM_MODEL_TRANSFORMER_FORMATS_H_

#include "model/kernels/kv_tile.h"
#include "model/kernels/matmul.h"

namespace trivium {

// The number formats of a model: three independent choices.
// PackedMatrix::Create knows which weights can be multiplied with which
// operands. A precision (model/precision.h) is one of the sets below.
struct Formats {
  WeightType weights = WeightType::kF32;
  OperandType operands = OperandType::kF32;
  // The encoder's keys and values are read once, by the layer that makes them;
  // the decoder's are read from memory in every step.
  KvType encoder_kv = KvType::kF32;
  KvType decoder_kv = KvType::kF32;
  // True if products read rows after a Hadamard rotation (hadamard.h); int8,
  // with or without groups.
  bool hadamard = false;

  auto operator<=>(const Formats&) const = default;
};

inline constexpr Formats kF32Formats;
inline constexpr Formats kBf16Formats = {WeightType::kBf16, OperandType::kBf16,
                                         KvType::kBf16, KvType::kBf16};
// Weights that their file has in four bits as they are, or all in four bits.
inline constexpr Formats kInt4Formats = {
    WeightType::kInt4, OperandType::kInt8Groups, KvType::kBf16, KvType::kInt8};
inline constexpr Formats kInt8Formats = {WeightType::kInt8, OperandType::kInt8,
                                         KvType::kBf16, KvType::kInt8};

// Returns the formats of a model's output projection. It has eight bits where
// other weights are rounded to four, for a logit is a small difference of great
// sums.
inline Formats OutputFormats(Formats formats) {
  if (formats.weights == WeightType::kInt4) {
    formats.weights = WeightType::kGroups;
  }
  return formats;
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_FORMATS_H_
