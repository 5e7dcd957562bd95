#ifndef TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_H_
#define TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "model/kernels/buffer.h"

namespace trivium {

// Products y = x W^T that prefetch the next weights while they multiply the
// current ones. A server reads weights from memory or the L3 cache in every
// step, and oneDNN's products wait for each part of them: with 32 rows and W in
// memory, these take 0.7 of its time in int8. Each row's sums run over K in one
// order, whatever the other rows; integer sums are exact.

// A product may be divided at multiples of this many columns.
inline constexpr int kPanelColumns = 64;

// Returns the bytes of packed weights whose N rows have `row_bytes` each.
size_t PanelsBytes(int n, size_t row_bytes);
// Packs the row-major w [N, K]. `packed` must be zero and aligned to 64 bytes.
void PackPanels(const float* w, int n, int k, void* packed);
void PackPanels(const int8_t* w, int n, int k, void* packed);

// Computes columns [begin, end) of y. `begin` must be a multiple of
// kPanelColumns; `end` must be one, too, or N. x [rows, K] and y [rows, N] are
// contiguous; any number of rows. Overwrites `scratch`.
void PanelProduct(const void* packed, int n, int k, const float* x, int rows,
                  int begin, int end, float* y);
void PanelProduct(const void* packed, int n, int k, const uint8_t* x, int rows,
                  int begin, int end, int32_t* y, Buffer<char>* scratch);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_H_
