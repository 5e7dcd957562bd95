#ifndef TRIVIUM_MODEL_KERNELS_ROW_OPS_H_
#define TRIVIUM_MODEL_KERNELS_ROW_OPS_H_

#include <cstdint>

#include "model/kernels/activation.h"

namespace trivium {

// Operations on one row of activations, [n] values. Each row's result depends
// on that row alone, never on the batch. Rows may have any length and
// alignment; outputs may be the inputs.

// The scale of a row quantized to u8: x ~ scale * (q - zero), 0 <= zero <= 255.
struct RowScale {
  float scale;
  int32_t zero;
};

// The minimum and maximum of a row's values and 0.
struct Range {
  float low;
  float high;
};
Range RangeOf(const float* x, int n);

// Sets q = round(x / scale) + zero with scale = (high - low) / 255. The range
// includes 0, which is represented exactly.
RowScale QuantizeRow(const float* x, int n, Range range, uint8_t* q);

// Rounds x to bf16, to nearest even.
void Bf16Row(const float* x, int n, uint16_t* y);

// One row of a product, [n] columns, that an epilogue converts to floats:
//   f32:  value + bias
//   int8: x.scale * (scale * value - x.zero * offset) + bias
// Here `scale` is that of a column's s8 weights, and `offset` is scale * their
// sum.
struct ProductRow {
  const float* f32 = nullptr;     // [n], or null if s32 is set
  const int32_t* s32 = nullptr;   // [n]
  RowScale x = {};                // int8 only, like the next two
  const float* scale = nullptr;   // [n]
  const float* offset = nullptr;  // [n]
  const float* bias = nullptr;    // [n], or null
  int n = 0;

  ProductRow Columns(int begin, int count) const;
};

// Sets y to the row's floats.
void FinishRow(const ProductRow& row, float* y);

// Sets y = activation(the row's floats). Returns the range of y.
Range ActivateRow(const ProductRow& row, Activation activation, float* y);

// Sets y = cap tanh(f / cap) for the row's floats f; cap is above 0.
void SoftCapRow(const ProductRow& row, float cap, float* y);

// Sets y = activation(gate's floats) * up's floats; both have the same number
// of columns (gated linear units, Shazeer 2020). y may be gate.f32 but not
// up.f32. Returns the range of y.
Range GateRow(const ProductRow& gate, const ProductRow& up,
              Activation activation, float* y);

// A gated linear unit with both halves clipped and another gate (GPT-OSS,
// OpenAI 2025):
//   g = min(gate, limit), u = min(max(up, -limit), limit)
//   y = (u + 1) g / (1 + exp(-alpha g))
// Otherwise like GateRow.
struct GateClip {
  float alpha;
  float limit;
};
Range ClippedGateRow(const ProductRow& gate, const ProductRow& up,
                     const GateClip& clip, float* y);

// One step of a recurrence whose states are n floats each:
//   f = 1 / (1 + exp(-forget)), after = f * before + (1 - f) * input
//   y = max(after, 0)
// A null `before` means zeros. Returns the range of y.
Range RecurRow(const ProductRow& forget, const ProductRow& input,
               const float* before, float* after, float* y);

// Sets y = x * factors [n]. Returns the range of y.
Range ScaleRow(const float* x, const float* factors, int n, float* y);

// Sets y = H x, the Hadamard rotation of int8 operands ("QuaRot", Ashkboos et
// al. 2024). H is block-diagonal: each block of HadamardSize(n) adjacent
// numbers is multiplied with Hadamard's matrix of 1 and -1, which spreads each
// number over its whole block. (H x) . (H w) = HadamardSize(n) * (x . w). It
// only adds, in one order, so bits are the same on every CPU. Returns the range
// of y.
Range HadamardRow(const float* x, int n, float* y);
// Returns the greatest power of two, up to 64, that divides n.
int HadamardSize(int n);

// Adds the row's floats to y.
void AddRow(const ProductRow& row, float* y);

// Adds factor * x to y.
void AddScaledRow(const float* x, float factor, int n, float* y);

// Sets y = gamma * (s - mean(s)) / sqrt(variance(s) + epsilon) + beta, where s
// is the row's floats + residual (without it if null). Layer normalization, Ba
// et al. 2016. A null beta means zeros. Returns the range of y.
Range AddNormRow(const ProductRow& row, const float* residual,
                 const float* gamma, const float* beta, float epsilon,
                 float* y);

// Sets y = gamma * s / sqrt(mean(s^2) + epsilon) with s as above. Root mean
// square normalization, Zhang and Sennrich 2019. If a model's factor is 1 +
// weight, gamma must include the 1. Returns the range of y.
Range AddRmsNormRow(const ProductRow& row, const float* residual,
                    const float* gamma, float epsilon, float* y);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ROW_OPS_H_
