#ifndef TRIVIUM_MODEL_TRANSFORMER_ROTATION_H_
#define TRIVIUM_MODEL_TRANSFORMER_ROTATION_H_

#include <span>

#include "model/transformer/description.h"
#include "model/transformer/formats.h"

namespace trivium {

// What a decoder's layers read has a few numbers that are far greater than the
// others, in other places for every token: of LLaMA most where a feed-forward's
// second product and the output projection read, of T5 in both stacks where a
// feed-forward's second product does. A row of int8 has one scale,
// which these decide. So rows, and the weights that they are multiplied with,
// are rotated first, which spreads each number over 64 ("QuaRot", Ashkboos et
// al. 2024):
//   W x = (W H / s) (H x),   H H = s times the identity
// with H and s as RotateRow and RotationSize have them. Unlike smoothing, it
// needs no measuring, and no weight becomes greater for it.

// Whether a model's products read rotated rows in `formats`: in int8, of a
// decoder alone, or of both stacks where no layer normalizes what it passes on
// (SublayerNorms::after), so that such numbers grow from layer to layer: T5,
// but not Marian. Weights that come quantized stay as they are, and so does a
// model that has some.
bool Rotates(const TransformerDescription& description, const Formats& formats);

// A row of W becomes that of W H / s.
void RotateWeights(std::span<float> row);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ROTATION_H_
