#ifndef TRIVIUM_MODEL_TRANSFORMER_HADAMARD_H_
#define TRIVIUM_MODEL_TRANSFORMER_HADAMARD_H_

#include <span>

#include "model/transformer/description.h"
#include "model/transformer/formats.h"

namespace trivium {

// Hadamard rotation of the inputs of int8 products. (Rotary positions are
// another matter, see rotary.h.)
//
// The inputs of a decoder's layers have a few numbers that are far greater than
// the others, at other places for every token. In LLaMA most are in the inputs
// of a feed-forward's second product and of the output projection; in T5, in
// both stacks, in the input of a feed-forward's second product. An int8 row has
// one scale, which these numbers decide. So rows and the weights they are
// multiplied with are rotated first, which spreads each number over 64
// ("QuaRot", Ashkboos et al. 2024):
//   W x = (W H / s) (H x),   H H = s times the identity
// H and s are those of HadamardRow and HadamardSize. Unlike smoothing, this
// needs no measuring, and no weight becomes greater by it.

// True if a model's products read rotated rows in `formats`. Operands must be
// int8, with or without groups. The model must be a decoder, or an
// encoder-decoder none of whose layers normalizes its output
// (SublayerNorms::after), so that great numbers grow from layer to layer: T5,
// but not Marian. A model with weights that are already quantized is not
// rotated; in int8 without groups that means with a scale for each row.
bool UsesHadamard(const TransformerDescription& description,
                  const Formats& formats);

// Replaces a row of W by the row of W H / s.
void HadamardWeights(std::span<float> row);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_HADAMARD_H_
