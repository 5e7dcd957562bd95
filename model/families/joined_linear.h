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

// Reads the layer `name`, [groups x sum of rows, in], and returns its parts,
// [groups x rows[i], in] each. The rows of each group are those of all parts.
// Their tensors are null after a problem.
std::vector<LinearTensors> ReadJoinedLinear(TensorReader* tensors,
                                            const std::string& name,
                                            std::span<const int64_t> rows,
                                            int64_t groups, int in, bool bias,
                                            TensorMemory* memory);

// The tensors of an attention whose queries, keys and values come from one
// product.
struct JoinedAttention {
  std::string joined;  // name of the product
  std::string output;
  // The rows of the product are so many groups, each of queries, keys and
  // values: 1, or one for each head of keys.
  int groups = 1;
  bool bias = false;  // of both products
};
AttentionDescription ReadJoinedAttention(TensorReader* tensors,
                                         const JoinedAttention& names,
                                         const AttentionGeometry& geometry,
                                         int d_model, TensorMemory* memory);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_JOINED_LINEAR_H_
