#ifndef TRIVIUM_MODEL_KERNELS_ROW_OPS_H_
#define TRIVIUM_MODEL_KERNELS_ROW_OPS_H_

#include <cstdint>

#include "model/kernels/activation.h"

namespace trivium {

// Operations on one row of activations, [n] values. Each row's result depends
// on that row alone, so none of them can see the batch. Rows may have any
// length and alignment; outputs may be the inputs.

// The u8 form of a row: x ~ scale * (q - zero), 0 <= zero <= levels.
struct RowScale {
  float scale;
  int32_t zero;
};

// q = round(x / scale) + zero with scale = (max - min) / levels, where max and
// min include 0, which is exact. `levels` is 255, or 127 where int8 products
// saturate at 16 bits (no AVX512-VNNI).
RowScale QuantizeRow(const float* x, int n, int levels, uint8_t* q);

// Round to nearest even.
void Bf16Row(const float* x, int n, uint16_t* y);

// The epilogue of an int8 product, for output columns [n]:
// y = x.scale * w_scale * (sum - x.zero * w_sum) + bias, where `sum` is the
// product's s32 row and w_sum the sum of each column's s8 weights. `bias` may
// be null.
void DequantizeRow(const int32_t* sum, RowScale x, const float* w_scale,
                   const int32_t* w_sum, const float* bias, int n, float* y);

// y += bias.
void AddRow(const float* x, int n, float* y);

void ActivateRow(Activation activation, int n, float* y);

// y = gamma * (s - mean(s)) / sqrt(variance(s) + epsilon) + beta, where
// s = x + residual (or x where residual is null). Layer normalization, Ba et
// al. 2016.
void AddNormRow(const float* x, const float* residual, const float* gamma,
                const float* beta, float epsilon, int n, float* y);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ROW_OPS_H_
