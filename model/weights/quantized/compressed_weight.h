#ifndef TRIVIUM_MODEL_WEIGHTS_QUANTIZED_COMPRESSED_WEIGHT_H_
#define TRIVIUM_MODEL_WEIGHTS_QUANTIZED_COMPRESSED_WEIGHT_H_

#include <optional>
#include <span>

#include "model/weights/quantized/module_tensors.h"
#include "model/weights/quantized/quantized_format.h"
#include "model/weights/quantized/scheme.h"

namespace trivium {

// Makes the weight of a module of compressed-tensors, as the first of its
// schemes says whose shapes fit; nullopt after a problem. A module's own
// tensors tell how it is stored:
//
//   weight_packed i32, weight_shape  integers (packed_ints.h): pack-quantized
//   weight_packed u8                 FP4 (fp4_rows.h): nvfp4-pack-quantized and
//                                    mxfp4-pack-quantized
//   weight i8 or f8_e4m3             int-, float-, naive- and mxfp8-quantized
//
// with weight_scale, weight_zero_point, weight_g_idx and weight_global_scale.
//
// Arithmetic is that of `dequantize` in its lifecycle/forward.py, in the type
// of the scales. int8 weights of models whose activations are int8 too (W8A8)
// keep their bytes, which int8 products use as they are.
std::optional<MadeTensor> MakeCompressedWeight(
    std::span<const QuantizationScheme> schemes, ModuleTensors* module);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_QUANTIZED_COMPRESSED_WEIGHT_H_
