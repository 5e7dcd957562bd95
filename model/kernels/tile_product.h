#ifndef TRIVIUM_MODEL_KERNELS_TILE_PRODUCT_H_
#define TRIVIUM_MODEL_KERNELS_TILE_PRODUCT_H_

#include <cstddef>
#include <cstdint>

namespace trivium {

// Products y = x W^T with AMX, whose registers are tiles: 16 rows of x are
// multiplied with 16 columns at once, 64 bytes of K deep. Integer sums are
// exact. bf16 products are summed in f32, with the same bits for every number
// of rows and every place among them.
bool HasByteTiles(int k);  // requires k a multiple of 64
bool HasBf16Tiles(int k);  // requires k a multiple of 32

// Columns of a strip, the unit of packed weights.
inline constexpr int kStripColumns = 32;

// Returns the bytes of packed weights whose N rows have `row_bytes` each, a
// multiple of 64.
size_t StripsBytes(int n, size_t row_bytes);
// Packs the row-major w [N, K]. `packed` must be zero and aligned to 64 bytes.
void PackStrips(const void* w, int n, size_t row_bytes, void* packed);

// Computes columns [begin, end) of y. `begin` must be a multiple of
// kStripColumns; `end` must be one, too, or N. x [rows, K] and y [rows, N] are
// contiguous; any number of rows. bf16 numbers are the upper halves of floats.
void TileProduct(const int8_t* packed, int n, int k, const uint8_t* x, int rows,
                 int begin, int end, int32_t* y);
void TileProduct(const uint16_t* packed, int n, int k, const uint16_t* x,
                 int rows, int begin, int end, float* y);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_TILE_PRODUCT_H_
