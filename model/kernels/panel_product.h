#ifndef TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_H_
#define TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "model/kernels/buffer.h"

namespace trivium {

// Products y = x W^T that fetch the next weights while they multiply the last.
// oneDNN's wait for each part of the weights, which a server reads out of
// memory or the third cache at every step: with 32 rows and W out of memory
// ours take 0.7 of its time in int8. Each row's sums run over K in one order,
// whatever the other rows; those of bytes are exact.
//
// They run on x86, with AVX2 and better, and on 64-bit Arm.
bool HasPanels();

// A product may be cut at multiples of so many columns.
inline constexpr int kPanelColumns = 64;

// Bytes of packed weights whose N rows have `row_bytes` each.
size_t PanelsBytes(int n, size_t row_bytes);
// `w` is row-major [N, K]; `packed` is zero, and aligned to 64 bytes.
void PackPanels(const float* w, int n, int k, void* packed);
void PackPanels(const int8_t* w, int n, int k, void* packed);

// Columns [begin, end) of y, where begin is a multiple of kPanelColumns and so
// is end or it is N. x [rows, K] and y [rows, N] are contiguous; any number of
// rows. What `scratch` held is lost.
void PanelProduct(const void* packed, int n, int k, const float* x, int rows,
                  int begin, int end, float* y);
void PanelProduct(const void* packed, int n, int k, const uint8_t* x, int rows,
                  int begin, int end, int32_t* y, Buffer<char>* scratch);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_H_
