#include "tests/support/reference_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

namespace trivium::reference {

std::vector<float> Values(const TensorView* tensor) {
  std::vector<float> values(tensor->elements());
  CopyToF32(*tensor, 0, values);
  return values;
}

Matrix Linear(const Matrix& x, const LinearTensors& tensors) {
  const std::vector<float> weight = Values(tensors.weight);
  const std::vector<float> bias =
      tensors.bias ? Values(tensors.bias) : std::vector<float>();
  Matrix y(x.rows, static_cast<int>(tensors.weight->shape[0]));
  for (int i = 0; i < x.rows; ++i) {
    for (int o = 0; o < y.columns; ++o) {
      double sum = bias.empty() ? 0 : bias[o];
      const float* w = weight.data() + static_cast<size_t>(o) * x.columns;
      for (int k = 0; k < x.columns; ++k) sum += x.row(i)[k] * w[k];
      y.row(i)[o] = sum;
    }
  }
  return y;
}

double Bf16(double x) {
  const auto value = static_cast<float>(x);
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits += 0x7fff + (bits >> 16 & 1);
  bits &= 0xffff0000;
  float rounded;
  std::memcpy(&rounded, &bits, sizeof(rounded));
  return rounded;
}

Matrix Numbers::Product(const Matrix& input,
                        const LinearTensors& tensors) const {
  if (int8_levels == 0) return Linear(input, tensors);
  Matrix x = input;
  std::vector<float> weight = Values(tensors.weight);
  if (const auto found = smoothing.find(tensors.weight);
      found != smoothing.end()) {
    for (size_t i = 0; i < x.data.size(); ++i) {
      x.data[i] *= found->second[i % x.columns];
    }
    for (size_t i = 0; i < weight.size(); ++i) {
      weight[i] /= found->second[i % x.columns];
    }
  }
  const std::vector<float> bias =
      tensors.bias ? Values(tensors.bias) : std::vector<float>();
  Matrix y(x.rows, static_cast<int>(tensors.weight->shape[0]));
  for (int i = 0; i < x.rows; ++i) {
    const double* row = x.row(i);
    const double low = std::min(0.0, *std::min_element(row, row + x.columns));
    const double high = std::max(0.0, *std::max_element(row, row + x.columns));
    const double step = (high - low) / int8_levels;
    const double zero = std::nearbyint(-low / step);
    for (int o = 0; o < y.columns; ++o) {
      const float* w = weight.data() + static_cast<size_t>(o) * x.columns;
      double most = 0;
      for (int k = 0; k < x.columns; ++k) {
        most = std::max(most, std::fabs(double{w[k]}));
      }
      double sum = 0;
      for (int k = 0; k < x.columns; ++k) {
        const double q = std::clamp(std::nearbyint(row[k] / step) + zero, 0.0,
                                    double(int8_levels)) -
                         zero;
        sum += q * std::nearbyint(w[k] * 127 / most);
      }
      y.row(i)[o] = sum * step * most / 127 + (bias.empty() ? 0 : bias[o]);
    }
  }
  return y;
}

Matrix Numbers::KeyOrValue(Matrix x, bool relative) const {
  if (int8_levels == 0 || relative) return x;
  for (double& value : x.data) value = Bf16(value);
  return x;
}

Matrix Numbers::Query(Matrix x, bool relative) const {
  return bf16_products ? KeyOrValue(std::move(x), relative) : x;
}

double Numbers::Weight(double x, bool relative) const {
  return bf16_products && !relative ? Bf16(x) : x;
}

}  // namespace trivium::reference
