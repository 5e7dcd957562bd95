#ifndef TRIVIUM_MODEL_KERNELS_PRODUCT_BOUNDS_H_
#define TRIVIUM_MODEL_KERNELS_PRODUCT_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/kernels/buffer.h"

namespace trivium {

// Bounds of the products of a query's rows with a document's. They come of
// products of 8-bit numbers, which are several times faster than those of
// floats, so that few of these need to be computed (max_sim.h).
//
//   const std::optional<QueryBytes> query = RoundQuery(rows, count, size);
//   ProductBounds bounds(*query, document);
//   for (int first = 0; first < count; first += kBoundedColumns) {
//     if (!bounds.Compute(first)) ...  // no bounds can be given
//     ... bounds.upper(), bounds.lower()
//   }

// A query's rows are columns here, this many at a time: texts of tens of
// thousands of tokens may be compared.
inline constexpr int kBoundedColumns = 64;

// A query as bytes.
struct QueryBytes {
  int count;
  int size;
  int columns;  // count, padded
  // [size / 4, columns, 4] Not a Buffer: a call may keep thousands of queries.
  AlignedVector<int8_t> bytes;
  // [columns] Sums of products begin here, as a document's bytes are 128 more
  // than its numbers.
  std::vector<int32_t> starts;
  // [columns] The difference between a product and that of bytes, in steps of
  // both rows, is at most slack + slope * (length of the document row's bytes).
  std::vector<float> slack, slope;
};

// Rounds `rows` [count, size]; nullopt if one has no ordinary numbers or is too
// long.
std::optional<QueryBytes> RoundQuery(const float* rows, int count, int size);

// The floats of a document.
struct DocumentRows {
  const float* values;
  int rows;
  int size;
};

// The bounds of a document, for kBoundedColumns rows of a query at a time.
class ProductBounds {
 public:
  // `query` must outlive this.
  ProductBounds(const QueryBytes& query, const DocumentRows& document);

  // Computes bounds for query rows from `first` on; begin with 0. False if the
  // document has unusual numbers.
  bool Compute(int first);

  // The columns of upper(), a multiple of 16. Those past the query's rows have
  // no upper bound that reaches lower().
  int columns() const { return columns_; }
  // [document rows, columns] All products over the query row's step are at most
  // these.
  const float* upper() const { return upper_; }
  // [columns] The largest product over the query row's step is at least this.
  const float* lower() const { return lower_; }

 private:
  const QueryBytes& query_;
  const DocumentRows document_;
  const int stride_;
  int columns_ = 0;
  std::unique_ptr<std::byte[]> memory_;  // of all that follows
  uint8_t* bytes_;  // [rows, stride_] 128 more than the number of steps
  float* steps_;    // [rows]
  float* lengths_;  // [rows] in steps
  float* upper_;
  float* lower_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_PRODUCT_BOUNDS_H_
