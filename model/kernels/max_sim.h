#ifndef TRIVIUM_MODEL_KERNELS_MAX_SIM_H_
#define TRIVIUM_MODEL_KERNELS_MAX_SIM_H_

#include <optional>
#include <vector>

#include "model/kernels/product_bounds.h"

namespace trivium {

// Returns a . b of `size` values each, summed in f32 in one order on every CPU:
// value k goes into sum k mod 8, and the sums are added pairwise.
float RowProduct(const float* a, const float* b, int size);

// The rows of a query that is compared with many documents (MaxSim, Khattab and
// Zaharia 2020):
//
//   sum over query rows i of max over document rows j of RowProduct(i, j)
//
// Bounds of all products are computed first (product_bounds.h), so most
// document rows cannot have the largest product. RowProduct of the others
// decides: results have the bits of the formula above.
class MaxSimQuery {
 public:
  // Copies `rows` [count, size].
  MaxSimQuery(const float* rows, int count, int size);

  int size() const { return size_; }
  int count() const { return count_; }
  // `values` is a document [rows, size]; 0 if one has no rows.
  double Compare(const float* values, int rows) const;

 private:
  double ComparePlainly(const DocumentRows& document) const;

  int count_;
  int size_;
  std::vector<float> rows_;  // [count, size]
  // None if the rows cannot be rounded: they are compared plainly.
  std::optional<QueryBytes> bytes_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_MAX_SIM_H_
