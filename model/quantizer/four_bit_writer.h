#ifndef TRIVIUM_MODEL_QUANTIZER_FOUR_BIT_WRITER_H_
#define TRIVIUM_MODEL_QUANTIZER_FOUR_BIT_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/quantizer/safetensors_writer.h"
#include "model/weights/four_bit_rounding.h"
#include "model/weights/weights.h"

namespace trivium {

// Writes matrices in compressed-tensors' format pack-quantized. A matrix W
// [out, in] of the tensor "NAME.weight" becomes
//   NAME.weight_packed [out, in / 8] i32: q of eight columns, the first in the
//     lowest four bits
//   NAME.weight_scale [out, in / group_size], f16 or bf16
//   NAME.weight_shape [2] i64: out, in
// with W ~ scale (q - 8), as RoundTo4Bits rounds a group.
class FourBitWriter {
 public:
  // `group_size` is a multiple of 8 up to kMostNumbers. `type` is that of the
  // scales. `writer` must outlive this object.
  FourBitWriter(int group_size, ScaleType type, SafetensorsWriter* writer)
      : group_size_(group_size), type_(type), writer_(writer) {}

  // Returns the tensors of a matrix.
  static std::vector<SafetensorsWriter::Entry> EntriesOf(
      const std::string& name, const TensorView& matrix, int group_size,
      ScaleType type);

  // Rounds and writes a matrix, on several threads if it is large.
  absl::Status Write(const std::string& name, const TensorView& matrix);

 private:
  absl::Status WriteRows(const std::string& module, const TensorView& matrix,
                         int64_t begin, int64_t end);

  const int group_size_;
  const ScaleType type_;
  SafetensorsWriter* const writer_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_QUANTIZER_FOUR_BIT_WRITER_H_
