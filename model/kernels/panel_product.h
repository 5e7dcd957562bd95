#ifndef TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_H_
#define TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_H_

#include <cstddef>
#include <cstdint>

namespace trivium {

// Products y = x W^T that fetch the next weights while they multiply the last.
// oneDNN's wait for each part of the weights, which a server reads out of
// memory or the third cache at every step: with 32 rows and W out of memory
// ours take 0.7 of its time in int8. Each row's sums run over K in one order,
// whatever the other rows.
//
// They run in f32 with AVX-512, in int8 with AVX512-VNNI.
bool HasFloatPanels();
bool HasBytePanels(int k);  // k must be a multiple of 4

// Columns of a panel.
inline constexpr int kPanelColumns = 64;

// Bytes of packed weights whose N rows have `row_bytes` each, a multiple of 4.
size_t PanelsBytes(int n, size_t row_bytes);
// `w` is row-major [N, K], floats or bytes; `packed` is zero, and aligned to 64
// bytes.
void PackPanels(const void* w, int n, size_t row_bytes, void* packed);

// Columns [begin, end) of y, where begin is a multiple of kPanelColumns and so
// is end or it is N. x [rows, K] and y [rows, N] are contiguous; any number of
// rows. In bytes exact.
void PanelProduct(const float* packed, int n, int k, const float* x, int rows,
                  int begin, int end, float* y);
void PanelProduct(const int8_t* packed, int n, int k, const uint8_t* x,
                  int rows, int begin, int end, int32_t* y);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_PANEL_PRODUCT_H_
