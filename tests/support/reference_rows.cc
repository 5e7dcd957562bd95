#include "tests/support/reference_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

namespace trivium::reference {

Matrix Normalized(Matrix x, const NormTensors& tensors, double epsilon) {
  const std::vector<float> weight = Values(tensors.weight);
  const std::vector<float> bias =
      tensors.bias ? Values(tensors.bias) : std::vector<float>(weight.size());
  epsilon = tensors.epsilon.value_or(epsilon);
  for (int i = 0; i < x.rows; ++i) {
    double* row = x.row(i);
    double mean = 0;
    switch (tensors.kind) {
      case NormTensors::Kind::kNone:
        for (int k = 0; k < x.columns; ++k) {
          row[k] = row[k] * weight[k] + bias[k];
        }
        continue;
      case NormTensors::Kind::kLayer:
        for (int k = 0; k < x.columns; ++k) mean += row[k] / x.columns;
        break;
      case NormTensors::Kind::kRms:
        break;
    }
    double variance = 0;
    for (int k = 0; k < x.columns; ++k) {
      variance += (row[k] - mean) * (row[k] - mean) / x.columns;
    }
    const double scale = 1 / std::sqrt(variance + epsilon);
    for (int k = 0; k < x.columns; ++k) {
      row[k] = (row[k] - mean) * scale * (weight[k] + tensors.one_plus_weight) +
               bias[k];
    }
  }
  return x;
}

double Activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGelu:  // x Phi(x), Hendrycks and Gimpel, 2016
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) *
                            (x + 0.044715 * x * x * x)));
    case Activation::kSwish:  // Ramachandran et al., 2017
      return x / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSquaredRelu:
      return std::max(x, 0.0) * std::max(x, 0.0);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Matrix Activated(Matrix x, Activation activation) {
  for (double& value : x.data) value = Activate(activation, value);
  return x;
}

Matrix Add(Matrix a, const Matrix& b) {
  for (size_t i = 0; i < a.data.size(); ++i) a.data[i] += b.data[i];
  return a;
}

Matrix HeadsNormalized(Matrix x, const std::optional<NormTensors>& norm,
                       double epsilon) {
  if (!norm) return x;
  if (norm->weight->shape.size() == 2) {  // each head has its own factors
    const int heads = static_cast<int>(norm->weight->shape[0]);
    const int size = static_cast<int>(norm->weight->shape[1]);
    const std::vector<float> factors = Values(norm->weight);
    for (int head = 0; head < heads; ++head) {
      const TensorView own = {
          DType::kF32,
          {size},
          std::as_bytes(std::span(factors).subspan(head * size, size))};
      NormTensors of_head = *norm;
      of_head.weight = &own;
      const Matrix part = Normalized(Columns(x, head * size, (head + 1) * size),
                                     of_head, epsilon);
      for (int i = 0; i < x.rows; ++i) {
        std::copy_n(part.row(i), size, x.row(i) + head * size);
      }
    }
    return x;
  }
  const int size = static_cast<int>(norm->weight->elements());
  Matrix split(x.rows * (x.columns / size), size);
  split.data = std::move(x.data);
  x.data = Normalized(std::move(split), *norm, epsilon).data;
  return x;
}

double SoftCapped(double x, double cap) {
  return cap > 0 ? cap * std::tanh(x / cap) : x;
}

Matrix Columns(const Matrix& x, int begin, int end) {
  Matrix part(x.rows, end - begin);
  for (int i = 0; i < x.rows; ++i) {
    std::copy(x.row(i) + begin, x.row(i) + end, part.row(i));
  }
  return part;
}

}  // namespace trivium::reference
