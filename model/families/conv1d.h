#ifndef TRIVIUM_MODEL_FAMILIES_CONV1D_H_
#define TRIVIUM_MODEL_FAMILIES_CONV1D_H_

#include <string>

#include "model/families/derived_tensors.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// The layers of GPT and GPT-2, x W + b, whose weights are stored as [in, out].

// Reads `name`.weight [in, out] and `name`.bias [out].
LinearTensors ReadConv1d(TensorReader* tensors, const std::string& name,
                         int out, int in, TensorMemory* memory);

// An attention whose queries, keys and values come from one layer,
// `name`.c_attn, and whose output layer is `name`.c_proj.
AttentionDescription ReadConv1dAttention(TensorReader* tensors,
                                         const std::string& name, int d_model,
                                         const AttentionGeometry& geometry,
                                         TensorMemory* memory);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_CONV1D_H_
