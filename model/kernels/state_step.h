#ifndef TRIVIUM_MODEL_KERNELS_STATE_STEP_H_
#define TRIVIUM_MODEL_KERNELS_STATE_STEP_H_

#include <cstddef>

namespace trivium {

// The arithmetic of layers that keep a state per sequence: one token's update
// of a matrix of states, and a short causal convolution. A result depends on
// its sequence alone. Every sum runs over its rows in one order, so a prompt
// read at once gives the bits of its tokens read one by one.

// A state's columns are cut into panels of so many, which stay in the
// first-level cache while the tokens of a prompt update them. The last panel is
// filled up with columns that stay zero.
inline constexpr int kStateColumns = 32;

// The widest convolution, in tokens.
inline constexpr int kMostConvolutionWidth = 64;

// One token's update of a panel S [rows, kStateColumns].
struct StateStep {
  int rows = 0;
  float decay = 1;
  const float* key = nullptr;    // [rows]
  const float* query = nullptr;  // [rows]
  const float* value = nullptr;  // [kStateColumns]
  float* state = nullptr;        // [rows, kStateColumns], read and written
  float* out = nullptr;          // [kStateColumns]
};

// Mamba 2 ("Transformers are SSMs", Dao and Gu 2024):
//   S = decay S + key value^T
//   out = S^T query
void AddToState(const StateStep& step);

// The gated delta rule ("Gated Delta Networks", Yang et al. 2024):
//   S = decay S
//   S = S + share key (value - S^T key)^T
//   out = S^T query
void CorrectState(const StateStep& step, float share);

// One token's update of a panel whose numbers have decays of their own.
struct ScanStep {
  int rows = 0;
  const float* decay = nullptr;  // [rows, kStateColumns], at most 0
  const float* rate = nullptr;   // [kStateColumns], at least 0
  const float* key = nullptr;    // [rows]
  const float* query = nullptr;  // [rows]
  const float* value = nullptr;  // [kStateColumns]
  float* state = nullptr;        // [rows, kStateColumns], read and written
  float* out = nullptr;          // [kStateColumns]
};

// Mamba's selective scan (Gu and Dao 2023), for each column c and row i:
//   S_ic = exp(decay_ic rate_c) S_ic + key_i value_c
//   out = S^T query
void ScanState(const ScanStep& step);

// One token of a convolution along the tokens, each of n channels by itself:
//   y = bias + weights[0] * x[0] + ... + weights[width - 1] * x[width - 1]
// where x[width - 1] [n] is the token's input, and those before it are of the
// tokens before. weights[i] is at weights + i * stride, [n]. bias is [n] or
// null.
void ConvolveRow(const float* const* x, int width, const float* weights,
                 size_t stride, const float* bias, int n, float* y);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_STATE_STEP_H_
