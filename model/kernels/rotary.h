#ifndef TRIVIUM_MODEL_KERNELS_ROTARY_H_
#define TRIVIUM_MODEL_KERNELS_ROTARY_H_

namespace trivium {

// Rotary positions ("RoFormer", Su et al. 2021): in each of `heads` vectors
// [head_size] at x, one after the other, dimensions i and pairs + i are turned
// together, for i < pairs (the "half-split" order of GPT-NeoX and LLaMA):
//   x[i], x[pairs + i] =
//       x[i] c[i] - x[pairs + i] s[i], x[pairs + i] c[i] + x[i] s[i]
// The dimensions from 2 pairs on stay as they are. `turn` is {c [pairs],
// s [pairs]}, the cosines and sines of the token's angles.
//
// A vector's bits depend on it and on its turn alone.
void ApplyRotary(const float* turn, int pairs, int heads, int head_size,
                 float* x);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ROTARY_H_
