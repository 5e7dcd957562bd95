#ifndef TRIVIUM_TESTS_SUPPORT_REFERENCE_ROWS_H_
#define TRIVIUM_TESTS_SUPPORT_REFERENCE_ROWS_H_

#include <optional>

#include "model/kernels/activation.h"
#include "model/transformer/description.h"
#include "tests/support/reference_numbers.h"

namespace trivium::reference {

// Arithmetic on rows that several parts of the reference transformer share.

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, over each row
// ("Layer Normalization", Ba et al., 2016), or x / sqrt(mean(x^2) + epsilon) *
// weight ("Root Mean Square Layer Normalization", Zhang and Sennrich, 2019).
Matrix Normalized(Matrix x, const NormTensors& tensors, double epsilon);

double Activate(Activation activation, double x);

// The same for all numbers of x.
Matrix Activated(Matrix x, Activation activation);

Matrix Add(Matrix a, const Matrix& b);

// Queries or keys [tokens, heads x head_size] with each head normalized (Henry
// et al. 2020), by factors of its own if the norm's weight is a matrix, or all
// heads of a token together, if the norm is as wide.
Matrix HeadsNormalized(Matrix x, const std::optional<NormTensors>& norm,
                       double epsilon);

// x, or cap tanh(x / cap) if there is a cap.
double SoftCapped(double x, double cap);

// Columns [begin, end) of x.
Matrix Columns(const Matrix& x, int begin, int end);

}  // namespace trivium::reference

#endif  // TRIVIUM_TESTS_SUPPORT_REFERENCE_ROWS_H_
