#ifndef TRIVIUM_MODEL_KERNELS_ROTARY_H_
#define TRIVIUM_MODEL_KERNELS_ROTARY_H_

namespace trivium {

// Applies rotary positions ("RoFormer", Su et al. 2021) to `heads` consecutive
// vectors [head_size] at x. Dimensions i and pairs + i are turned together, for
// i < pairs (the "half-split" order of GPT-NeoX and LLaMA):
//   x[i], x[pairs + i] =
//       x[i] c[i] - x[pairs + i] s[i], x[pairs + i] c[i] + x[i] s[i]
// Dimensions from 2 pairs on are unchanged. `turn` is {c [pairs], s [pairs]},
// the cosines and sines of the token's angles. (The Hadamard rotation of int8
// operands is another matter: HadamardRow.)
//
// The bits of a vector depend only on it and on its turn.
void ApplyRotary(const float* turn, int pairs, int heads, int head_size,
                 float* x);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ROTARY_H_
