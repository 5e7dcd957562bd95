#ifndef TRIVIUM_MODEL_KERNELS_TILE_PRODUCT_H_
#define TRIVIUM_MODEL_KERNELS_TILE_PRODUCT_H_

#include <cstddef>
#include <cstdint>

namespace trivium {

// Products y = x W^T by AMX, whose registers are tiles: 16 rows of x meet 16
// columns at once, 64 bytes of K deep. Sums of bytes are exact; those of bf16
// are in f32, the same bits whatever the number of rows and their place.
bool HasByteTiles(int k);  // k must be a multiple of 64
bool HasBf16Tiles(int k);  // k must be a multiple of 32

// Columns of a strip, in which weights are packed.
inline constexpr int kStripColumns = 32;

// Bytes of packed weights whose N rows have `row_bytes` each, a multiple of 64.
size_t StripsBytes(int n, size_t row_bytes);
// `w` is row-major [N, K]; `packed` is zero, and aligned to 64 bytes.
void PackStrips(const void* w, int n, size_t row_bytes, void* packed);

// Columns [begin, end) of y, where begin is a multiple of kStripColumns and so
// is end or it is N. x [rows, K] and y [rows, N] are contiguous; any number of
// rows. bf16 numbers are the upper halves of floats.
void TileProduct(const int8_t* packed, int n, int k, const uint8_t* x, int rows,
                 int begin, int end, int32_t* y);
void TileProduct(const uint16_t* packed, int n, int k, const uint16_t* x,
                 int rows, int begin, int end, float* y);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_TILE_PRODUCT_H_
