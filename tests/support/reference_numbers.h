#ifndef TRIVIUM_TESTS_SUPPORT_REFERENCE_NUMBERS_H_
#define TRIVIUM_TESTS_SUPPORT_REFERENCE_NUMBERS_H_

#include <cstddef>
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

// How the layers of a reference stack compute.
struct Numbers {
  int int8_levels = 0;  // of activations; 0: everything is exact

  // Linear(), or its product of integers.
  Matrix Product(const Matrix& x, const LinearTensors& tensors) const;
  // What attention reads of keys or values `x`.
  Matrix KeyOrValue(Matrix x, bool relative) const;
};

}  // namespace reference
}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_REFERENCE_NUMBERS_H_
