#ifndef TRIVIUM_MODEL_WEIGHTS_QUANTIZED_SCHEME_H_
#define TRIVIUM_MODEL_WEIGHTS_QUANTIZED_SCHEME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config_reader.h"
#include "model/weights/quantized/module_tensors.h"
#include "model/weights/quantized/scaled_rows.h"

namespace trivium {

// The quantization of one of compressed-tensors' config_groups: that of its
// modules' weights.
struct QuantizationScheme {
  enum class Strategy { kTensor, kChannel, kGroup, kBlock };

  bool real = false;  // FP8 or FP4, else integers
  int bits = 4;
  bool symmetric = true;
  Strategy strategy = Strategy::kGroup;
  int group_size = 0;                     // for kGroup
  int block_rows = 0, block_columns = 0;  // for kBlock
  bool int8_activations = false;

  // "4-bit integers, groups of 128"
  std::string Describe() const;
  // Returns the shape of the scales of a weight [rows, columns], and sets how
  // they lie; empty if groups do not divide the columns.
  std::vector<int64_t> ScaleShape(int64_t rows, int64_t columns,
                                  ScaleGrid* grid) const;
};

// Reads config_groups; reports what is missing or not supported. The result has
// at least one scheme unless there was a problem.
std::vector<QuantizationScheme> ReadSchemes(ConfigReader* config);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_QUANTIZED_SCHEME_H_
