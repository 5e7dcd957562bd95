#ifndef TRIVIUM_MODEL_KERNELS_SHORTLIST_PRODUCT_H_
#define TRIVIUM_MODEL_KERNELS_SHORTLIST_PRODUCT_H_

#include <cstdint>
#include <span>

namespace trivium {

// Products with chosen rows of a matrix W [n, k]:
//   y[q][i] = x[q] . W[rows[i]]
// for output projections of sources that need few columns. W is row-major, so
// that any row can be picked; a row is read once for four rows of x.
//
// Rows of W and of x [queries, k] are padded with zeros to `stride` values, a
// ShortlistStride. `y_stride`, the distance between rows of y, must be at least
// rows.size() and a multiple of kShortlistRows; padding in y may be
// overwritten. Each y depends only on its row of x and its row of W, so threads
// may divide `rows` at multiples of kShortlistRows.
inline constexpr int kShortlistRows = 4;

// Returns the least stride for rows of `k` values of `value_bytes` each.
constexpr int ShortlistStride(int k, int value_bytes) {
  const int step = 64 / value_bytes;
  return (k + step - 1) / step * step;
}

// Integer sums are exact.
void ShortlistProduct(const int8_t* w, int stride,
                      std::span<const int32_t> rows, const uint8_t* x,
                      int queries, int32_t* y, int y_stride);

void ShortlistProduct(const float* w, int stride, std::span<const int32_t> rows,
                      const float* x, int queries, float* y, int y_stride);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_SHORTLIST_PRODUCT_H_
