#ifndef TRIVIUM_MODEL_KERNELS_ROW_OPS_H_
#define TRIVIUM_MODEL_KERNELS_ROW_OPS_H_

#include <cstdint>

#include "model/kernels/activation.h"

namespace trivium {

// Operations on one row of activations, [n] values. Each row's result depends
// on that row alone, so none of them can see the batch. Rows may have any
// length and alignment; outputs may be the inputs.

// The u8 form of a row: x ~ scale * (q - zero), 0 <= zero <= 255.
struct RowScale {
  float scale;
  int32_t zero;
};

// The least and the greatest of a row's values and 0.
struct Range {
  float low;
  float high;
};
Range RangeOf(const float* x, int n);

// q = round(x / scale) + zero with scale = (high - low) / 255; 0, which is in
// the range, is exact.
RowScale QuantizeRow(const float* x, int n, Range range, uint8_t* q);

// Round to nearest even.
void Bf16Row(const float* x, int n, uint16_t* y);

// One row of a product, columns [n], that an epilogue makes real numbers:
//   f32:  value + bias
//   int8: x.scale * (scale * value - x.zero * offset) + bias
// where scale is a column's of its s8 weights, and offset scale * their sum.
struct ProductRow {
  const float* f32 = nullptr;     // [n], or null and
  const int32_t* s32 = nullptr;   // [n]
  RowScale x = {};                // int8 only, as the next two
  const float* scale = nullptr;   // [n]
  const float* offset = nullptr;  // [n]
  const float* bias = nullptr;    // [n], or null
  int n = 0;

  ProductRow Columns(int begin, int count) const;
};

// y = the row's numbers.
void FinishRow(const ProductRow& row, float* y);

// y = activation(the row's numbers). Returns the range of y.
Range ActivateRow(const ProductRow& row, Activation activation, float* y);

// y = activation(gate's numbers) * up's numbers, of as many columns (gated
// linear units, Shazeer 2020). y may be the gate's product but not up's.
// Returns the range of y.
Range GateRow(const ProductRow& gate, const ProductRow& up,
              Activation activation, float* y);

// The same with both halves clipped and another gate (GPT-OSS, OpenAI 2025):
//   g = min(gate, limit), u = min(max(up, -limit), limit)
//   y = (u + 1) g / (1 + exp(-alpha g))
struct GateClip {
  float alpha;
  float limit;
};
Range ClippedGateRow(const ProductRow& gate, const ProductRow& up,
                     const GateClip& clip, float* y);

// A step of a recurrence whose states are n numbers each:
//   f = 1 / (1 + exp(-forget)), after = f * before + (1 - f) * input
//   y = max(after, 0)
// A null `before` is zeros. Returns the range of y.
Range RecurRow(const ProductRow& forget, const ProductRow& input,
               const float* before, float* after, float* y);

// y = x * factors, one for each. Returns the range of y.
Range ScaleRow(const float* x, const float* factors, int n, float* y);

// y = H x, whose products with other such vectors are those of x times
// HadamardSize(n): H is made of Hadamard's matrices of 1 and -1, each over as
// many numbers side by side. What one number had is then in all of them. Only
// adds, in one order: the same bits on every CPU. Returns the range of y.
Range HadamardRow(const float* x, int n, float* y);
// The greatest power of two, up to 64, that divides n.
int HadamardSize(int n);

// y += the row's numbers.
void AddRow(const ProductRow& row, float* y);

// y += factor * x.
void AddScaledRow(const float* x, float factor, int n, float* y);

// y = gamma * (s - mean(s)) / sqrt(variance(s) + epsilon) + beta, where s is
// the row's numbers + residual (or they alone where it is null). Layer
// normalization, Ba et al. 2016. A null beta is zeros. Returns the range of y.
Range AddNormRow(const ProductRow& row, const float* residual,
                 const float* gamma, const float* beta, float epsilon,
                 float* y);

// y = gamma * s / sqrt(mean(s^2) + epsilon) with s as above. Root mean square
// normalization, Zhang and Sennrich 2019. Where a model's factor is 1 + weight,
// gamma is that. Returns the range of y.
Range AddRmsNormRow(const ProductRow& row, const float* residual,
                    const float* gamma, float epsilon, float* y);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ROW_OPS_H_
