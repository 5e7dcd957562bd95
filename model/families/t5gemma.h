#ifndef TRIVIUM_MODEL_FAMILIES_T5GEMMA_H_
#define TRIVIUM_MODEL_FAMILIES_T5GEMMA_H_

#include "model/families/registry.h"

namespace trivium {

// T5Gemma ("Encoder-Decoder Gemma", Zhang et al. 2025): an encoder and a
// decoder of Gemma 2's layers, of sizes of their own, the decoder's with
// cross-attention between the two sublayers. Like Transformers'
// models/t5gemma/modeling_t5gemma.py.
FamilyModel LoadT5Gemma(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

// T5Gemma 2 (Zhang et al. 2025): the same with Gemma 3's layers, and one
// attention in the decoder's: its tokens see the source and those before them
// in one softmax, with the same weights for the keys and values of both. Only
// texts are read; the tensors of the picture tower are not, nor is the
// embedding of the token that ends a picture. Like Transformers'
// models/t5gemma2/modeling_t5gemma2.py.
FamilyModel LoadT5Gemma2(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_T5GEMMA_H_
