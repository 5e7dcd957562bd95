#ifndef TRIVIUM_MODEL_FAMILIES_JOINED_LINEAR_H_
#define TRIVIUM_MODEL_FAMILIES_JOINED_LINEAR_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/families/derived_tensors.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// Linear layers that read the same input and are stored as one, their rows one
// after the other.

// Reads the layer `name`, [sum of rows, in], and returns its parts, [rows[i],
// in] each. Their tensors are null after a problem.
std::vector<LinearTensors> ReadJoinedLinear(TensorReader* tensors,
                                            const std::string& name,
                                            std::span<const int64_t> rows,
                                            int in, bool bias,
                                            TensorMemory* memory);

// Sets the queries, keys and values, as wide as d_model, from the layer `name`.
void ReadJoinedAttention(TensorReader* tensors, const std::string& name,
                         int d_model, bool bias, TensorMemory* memory,
                         AttentionDescription* attention);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_JOINED_LINEAR_H_
