#ifndef TRIVIUM_TESTS_SUPPORT_REFERENCE_NUMBERS_H_
#define TRIVIUM_TESTS_SUPPORT_REFERENCE_NUMBERS_H_

#include <cstddef>
#include <map>
#include <vector>

#include "model/transformer/description.h"

namespace trivium {

// Row-major [rows, columns].
struct Matrix {
  Matrix() = default;
  Matrix(int rows, int columns)
      : rows(rows),
        columns(columns),
        data(static_cast<size_t>(rows) * columns) {}

  double* row(int i) { return data.data() + static_cast<size_t>(i) * columns; }
  const double* row(int i) const {
    return data.data() + static_cast<size_t>(i) * columns;
  }

  int rows = 0;
  int columns = 0;
  std::vector<double> data;
};

namespace reference {

std::vector<float> Values(const TensorView* tensor);

// y = x W^T + b. x [rows, in], W [out, in], b [out] or null.
Matrix Linear(const Matrix& x, const LinearTensors& tensors);

// Nearest bf16, the even one of two.
double Bf16(double x);

// How the layers of a reference stack compute: exactly or, with `int8_levels`,
// as the encoder of int8 arithmetic. Then products of its layers are of
// integers (weights s8 with a scale for each output; each row of activations u8
// of so many levels with a scale and a zero point), and token embeddings, keys
// and values are bf16, and with `bf16_products` queries and weights, too; but
// not those of relative attention. Where a number to be rounded lies between
// two others, rounding in f32 may decide otherwise than here.
struct Numbers {
  int int8_levels = 0;
  bool bf16_products = false;
  // Factors of the inputs of products of integers, by weight.
  std::map<const TensorView*, std::vector<float>> smoothing;

  // Linear(), or its product of integers.
  Matrix Product(const Matrix& input, const LinearTensors& tensors) const;
  // What attention reads of keys or values `x`, and of queries.
  Matrix KeyOrValue(Matrix x, bool relative) const;
  Matrix Query(Matrix x, bool relative) const;
  // What a value is multiplied with, of a weight before it is divided by their
  // sum.
  double Weight(double x, bool relative) const;
};

}  // namespace reference
}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_REFERENCE_NUMBERS_H_
