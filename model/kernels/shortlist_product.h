#ifndef TRIVIUM_MODEL_KERNELS_SHORTLIST_PRODUCT_H_
#define TRIVIUM_MODEL_KERNELS_SHORTLIST_PRODUCT_H_

#include <cstdint>
#include <span>

namespace trivium {

// Products with chosen rows of a matrix W [n, k]:
//   y[q][i] = x[q] . W[rows[i]]
// for output projections of which a source needs few columns. W is row-major,
// so that any row can be picked; a row is read once for four of the x.
//
// Rows of W and of x [queries, k] are filled up with zeros to `stride` values,
// a ShortlistStride. `y_stride`, the distance of the rows of y, is at least
// rows.size() and a multiple of kShortlistRows; what lies between may be
// overwritten. Each y depends on its row of x and its row of W alone, so
// threads may have rows of W each, cut at multiples of kShortlistRows.
inline constexpr int kShortlistRows = 4;

// The least stride for rows of `k` values of `value_bytes` each.
constexpr int ShortlistStride(int k, int value_bytes) {
  const int step = 64 / value_bytes;
  return (k + step - 1) / step * step;
}

// Exact.
void ShortlistProduct(const int8_t* w, int stride,
                      std::span<const int32_t> rows, const uint8_t* x,
                      int queries, int32_t* y, int y_stride);

void ShortlistProduct(const float* w, int stride, std::span<const int32_t> rows,
                      const float* x, int queries, float* y, int y_stride);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_SHORTLIST_PRODUCT_H_
