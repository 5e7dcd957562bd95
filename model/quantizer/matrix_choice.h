#ifndef TRIVIUM_MODEL_QUANTIZER_MATRIX_CHOICE_H_
#define TRIVIUM_MODEL_QUANTIZER_MATRIX_CHOICE_H_

#include <cstdint>
#include <set>
#include <string>

#include "model/transformer/description.h"
#include "model/weights/weights.h"

namespace trivium {

// Returns the names of the tensors that a quantizer rounds: the matrices of the
// layers' products, "NAME.weight" [out, in], `in` being a multiple of
// `group_size`. Their rows are those of the file, in the file's order. All
// others stay as they are: embeddings, outputs, norms, heads, the routers of
// experts, and what the family puts into another order (GPT-2) or takes apart
// (experts in one tensor).
std::set<std::string> ChooseMatrices(const Weights& weights,
                                     const TransformerDescription& description,
                                     int group_size);

// Returns the bytes that a folder's own weights, `stored`, have of the tensor
// `name`, scales included. A quantized folder has several tensors for one, and
// one with other towers has longer names.
int64_t StoredBytes(const Weights& stored, const std::string& name,
                    const TensorView& tensor);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_QUANTIZER_MATRIX_CHOICE_H_
