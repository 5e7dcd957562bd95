#ifndef TRIVIUM_MODEL_FAMILIES_CONV1D_H_
#define TRIVIUM_MODEL_FAMILIES_CONV1D_H_

#include <string>

#include "model/families/derived_tensors.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// The layers of GPT and GPT-2, whose weights lie as [in, out], x W + b.

// `name`.weight [in, out] and `name`.bias [out].
LinearTensors ReadConv1d(TensorReader* tensors, const std::string& name,
                         int out, int in, TensorMemory* memory);

// Attention whose queries, keys and values are one layer, `name`.c_attn, and
// whose output is `name`.c_proj.
AttentionDescription ReadConv1dAttention(TensorReader* tensors,
                                         const std::string& name, int d_model,
                                         const AttentionGeometry& geometry,
                                         TensorMemory* memory);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_CONV1D_H_
