#ifndef TRIVIUM_MODEL_TRANSFORMER_FORMATS_H_
#define TRIVIUM_MODEL_TRANSFORMER_FORMATS_H_

#include "model/kernels/kv_tile.h"
#include "model/kernels/matmul.h"

namespace trivium {

// In what a model's numbers are kept: three choices that are made apart. What
// a product can multiply with what, PackedMatrix::Create knows. A precision
// (model/precision.h) is one of the sets below.
struct Formats {
  WeightType weights = WeightType::kF32;
  OperandType operands = OperandType::kF32;
  // An encoder's keys and values are read once, by the layer that made them; a
  // decoder's at every step, out of memory.
  KvType encoder_kv = KvType::kF32;
  KvType decoder_kv = KvType::kF32;
  // Whether products read rotated rows (rotation.h); int8 only.
  bool rotated = false;

  auto operator<=>(const Formats&) const = default;
};

inline constexpr Formats kF32Formats;
inline constexpr Formats kBf16Formats = {WeightType::kBf16, OperandType::kBf16,
                                         KvType::kBf16, KvType::kBf16};
inline constexpr Formats kInt8Formats = {WeightType::kInt8, OperandType::kInt8,
                                         KvType::kBf16, KvType::kInt8};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_FORMATS_H_
