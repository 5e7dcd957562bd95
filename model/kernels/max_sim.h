#ifndef TRIVIUM_MODEL_KERNELS_MAX_SIM_H_
#define TRIVIUM_MODEL_KERNELS_MAX_SIM_H_

#include <cstdint>
#include <vector>

#include "model/kernels/buffer.h"

namespace trivium {

// Returns a . b of `size` values each, summed in f32 in one order on every CPU:
// value k goes into sum k mod 8, and the sums are added pairwise.
float RowProduct(const float* a, const float* b, int size);

// The rows of a query that is compared with many documents (MaxSim, Khattab and
// Zaharia 2020):
//
//   sum over query rows i of max over document rows j of RowProduct(i, j)
//
// All products are first computed of 8-bit numbers, which is several times
// faster. The error of such a product is bounded (max_sim.cc), so most document
// rows cannot have the largest product. RowProduct of the others decides:
// results have the bits of the formula above.
class MaxSimQuery {
 public:
  // Copies `rows` [count, size].
  MaxSimQuery(const float* rows, int count, int size);

  int size() const { return size_; }
  int count() const { return count_; }
  // `document` is [rows, size]; 0 if one has no rows.
  double Compare(const float* document, int rows) const;

 private:
  void Pack();
  double ComparePlainly(const float* document, int rows) const;

  int count_;
  int size_;
  std::vector<float> rows_;  // [count, size]
  // False if the rows cannot be quantized: they are compared plainly.
  bool packed_ = false;
  int columns_ = 0;  // count_, padded
  // [size / 4, columns_, 4] Not a Buffer: a call may keep thousands of queries.
  AlignedVector<int8_t> bytes_;
  // [columns_] Products of bytes start at these, as the document's are 128 more.
  std::vector<int32_t> starts_;
  // [columns_] A product and its product of bytes differ by at most
  // slack_ + slope_ * (length of the document row's bytes), in steps of both.
  std::vector<float> slack_;
  std::vector<float> slope_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_MAX_SIM_H_
