#ifndef TRIVIUM_MODEL_QUANTIZER_PLAIN_TENSOR_H_
#define TRIVIUM_MODEL_QUANTIZER_PLAIN_TENSOR_H_

#include <string>

#include "absl/status/status.h"
#include "model/quantizer/safetensors_writer.h"
#include "model/weights/weights.h"

namespace trivium {

// Tensors that a quantizer does not round are written in their own type. Those
// of GGUF's blocks, and bytes with a scale for each row, which a safetensors
// file cannot have, become f16; numbers that f16 cannot hold become the
// greatest that it can. Packed ones get the type that holds all their values.

SafetensorsWriter::Entry PlainEntry(const std::string& name,
                                    const TensorView& tensor);
absl::Status WritePlain(const std::string& name, const TensorView& tensor,
                        SafetensorsWriter* writer);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_QUANTIZER_PLAIN_TENSOR_H_
