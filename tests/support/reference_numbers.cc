#include "tests/support/reference_numbers.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "tests/support/grouped_numbers.h"

namespace trivium::reference {
namespace {

constexpr double kInt8Levels = 255;  // of a row

// 1 / x; for what is zero throughout, anything finite.
double Inverse(double x) { return x > 0 ? 1 / x : 0; }

int HadamardSize(int n) {
  int size = 1;
  while (size < 64 && n % (2 * size) == 0) size *= 2;
  return size;
}

// As HadamardRow, adding in the same order.
template <typename T>
void Hadamard(std::span<T> x) {
  const int n = static_cast<int>(x.size());
  for (int apart = 1; apart < HadamardSize(n); apart *= 2) {
    for (int i = 0; i < n; ++i) {
      if ((i & apart) != 0) continue;
      const T a = x[i], b = x[i + apart];
      x[i] = a + b;
      x[i + apart] = a - b;
    }
  }
}

}  // namespace

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

double Numbers::Round(double x) const {
  const double below = std::floor(x);
  if (closest_tie != nullptr) {
    *closest_tie = std::min(*closest_tie, std::fabs(x - below - 0.5));
  }
  if (random != nullptr) {
    return below + std::bernoulli_distribution(x - below)(*random);
  }
  return std::nearbyint(x);
}

double Numbers::Bf16(double x) const {
  if (x == 0) return 0;
  // Eight bits, the first of which is that of x's power of two.
  const int exponent = std::ilogb(x) - 7;
  return std::ldexp(Round(std::ldexp(x, -exponent)), exponent);
}

double Numbers::StoredBf16(float x) const {
  Numbers numbers;
  numbers.random = random;
  return numbers.Bf16(x);
}

double Numbers::Embedding(float value) const {
  return operands == OperandType::kF32 ? value : StoredBf16(value);
}

Matrix Numbers::Product(const Matrix& input,
                        const LinearTensors& tensors) const {
  switch (operands) {
    case OperandType::kF32:
      return Linear(input, tensors);
    case OperandType::kBf16:
      return Bf16Product(input, tensors);
    case OperandType::kInt8:
      return Int8Product(input, tensors);
    case OperandType::kInt8Groups:
    case OperandType::kOrderedGroups:
      return GroupedProduct(input, tensors);
  }
  return {};
}

Matrix Numbers::Bf16Product(const Matrix& input,
                            const LinearTensors& tensors) const {
  Matrix x = input;
  for (double& value : x.data) value = Bf16(value);
  std::vector<float> weight = Values(tensors.weight);
  for (float& value : weight) value = static_cast<float>(StoredBf16(value));
  const TensorView rounded = {.dtype = DType::kF32,
                              .shape = tensors.weight->shape,
                              .data = std::as_bytes(std::span(weight))};
  return Linear(x, {&rounded, tensors.bias});
}

Matrix Numbers::Int8Product(const Matrix& input,
                            const LinearTensors& tensors) const {
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
  if (hadamard) {
    for (int i = 0; i < x.rows; ++i) Hadamard(std::span(x.row(i), x.columns));
  }
  const Rounded rounded = RoundedWeight(std::move(weight), x.columns);
  const std::vector<double>& scale = rounded.scale;
  const std::vector<float> bias =
      tensors.bias ? Values(tensors.bias) : std::vector<float>();
  Matrix y(x.rows, static_cast<int>(scale.size()));
  for (int i = 0; i < x.rows; ++i) {
    double* row = x.row(i);
    const double low = std::min(0.0, *std::min_element(row, row + x.columns));
    const double high = std::max(0.0, *std::max_element(row, row + x.columns));
    const double step = (high - low) / kInt8Levels;
    const double inverse = Inverse(step);
    const double zero = Round(-low * inverse);
    for (int k = 0; k < x.columns; ++k) {
      row[k] =
          std::clamp(Round(row[k] * inverse) + zero, 0.0, kInt8Levels) - zero;
    }
    for (int o = 0; o < y.columns; ++o) {
      const float* w =
          rounded.weight.data() + static_cast<size_t>(o) * x.columns;
      double sum = 0;
      for (int k = 0; k < x.columns; ++k) sum += row[k] * w[k];
      y.row(i)[o] = sum * step * scale[o] + (bias.empty() ? 0 : bias[o]);
    }
  }
  return y;
}

Matrix Numbers::GroupedProduct(const Matrix& input,
                               const LinearTensors& tensors) const {
  Matrix x = input;
  if (hadamard) {
    for (int i = 0; i < x.rows; ++i) Hadamard(std::span(x.row(i), x.columns));
  }
  const Rounded weight = RoundedWeight(Values(tensors.weight), x.columns);
  for (int i = 0; i < x.rows; ++i) {
    for (int begin = 0; begin < x.columns; begin += kGroupNumbers) {
      const std::span<double> group(x.row(i) + begin,
                                    std::min(kGroupNumbers, x.columns - begin));
      double most = 0;
      for (const double value : group) most = std::max(most, std::fabs(value));
      const double inverse = Inverse(most / 127);
      for (double& value : group) value = Round(value * inverse) * (most / 127);
    }
  }
  const TensorView rounded = {.dtype = DType::kF32,
                              .shape = tensors.weight->shape,
                              .data = std::as_bytes(std::span(weight.weight))};
  return Linear(x, {&rounded, tensors.bias});
}

Numbers::Rounded Numbers::RoundedWeight(std::vector<float> weight,
                                        int columns) const {
  const auto round = [&] {
    return operands == OperandType::kInt8 ? RoundedToBytes(weight, columns)
                                          : RoundedToGroups(weight, columns);
  };
  if (kept == nullptr) return round();
  Rounded& found = (*kept)[{form, columns, weight}];
  if (found.weight.empty()) found = round();
  return found;
}

Numbers::Rounded Numbers::RoundedToBytes(std::vector<float> weight,
                                         int columns) const {
  if (hadamard) {
    const float size = HadamardSize(columns);
    for (size_t at = 0; at < weight.size(); at += columns) {
      const std::span<float> row(&weight[at], columns);
      Hadamard(row);
      for (float& value : row) value /= size;
    }
  }
  // In f32, for a weight that is rounded otherwise is wrong in every row.
  std::vector<double> scale(weight.size() / columns);
  for (size_t o = 0; o < scale.size(); ++o) {
    const std::span<float> w(&weight[o * columns], columns);
    float most = 0;
    for (const float value : w) most = std::max(most, std::fabs(value));
    scale[o] = most / 127;
    const float inverse = most > 0 ? 127 / most : 0;
    for (float& value : w) value = std::nearbyint(value * inverse);
  }
  return {std::move(weight), std::move(scale)};
}

Numbers::Rounded Numbers::RoundedToGroups(std::vector<float> weight,
                                          int columns) const {
  const float size = hadamard ? HadamardSize(columns) : 1;
  GroupedRow groups;
  for (size_t at = 0; at < weight.size(); at += columns) {
    const std::span<float> row(&weight[at], columns);
    if (hadamard) Hadamard(row);
    for (float& value : row) value /= size;
    RoundToGroups(row, form, &groups);
    const std::vector<float> numbers = NumbersOf(groups);
    std::copy_n(numbers.begin(), row.size(), row.begin());
  }
  return {std::move(weight), {}};
}

Matrix Numbers::Int8Heads(Matrix x, int heads) const {
  const size_t size = x.columns / heads;
  for (size_t at = 0; at < x.data.size(); at += size) {
    const std::span<double> head(&x.data[at], size);
    double most = 0;
    for (const double value : head) most = std::max(most, std::fabs(value));
    const double inverse = Inverse(most / 127);
    for (double& value : head) value = Round(value * inverse) * most / 127;
  }
  return x;
}

Matrix Numbers::KeyOrValue(Matrix x, int heads, bool relative) const {
  if (relative || kv == KvType::kF32) return x;
  if (kv == KvType::kInt8) return Int8Heads(std::move(x), heads);
  for (double& value : x.data) value = Bf16(value);
  return x;
}

Matrix Numbers::Query(Matrix x, int heads, bool relative) const {
  const bool rounded = rounds_queries || kv == KvType::kInt8;
  return rounded ? KeyOrValue(std::move(x), heads, relative) : x;
}

std::vector<double> Numbers::Weights(std::vector<double> weights, int first,
                                     const Matrix& values, int begin, int size,
                                     bool relative) const {
  if (relative || kv == KvType::kF32) return weights;
  if (kv == KvType::kBf16) {
    for (double& weight : weights)
      weight = rounds_queries ? Bf16(weight) : weight;
    return weights;
  }
  std::vector<double> scale(weights.size());
  double most = 0;
  for (size_t j = 0; j < weights.size(); ++j) {
    const double* value = values.row(first + static_cast<int>(j)) + begin;
    for (int d = 0; d < size; ++d) {
      scale[j] = std::max(scale[j], std::fabs(value[d]));
    }
    most = std::max(most, weights[j] * scale[j]);
  }
  const double inverse = Inverse(most / 65535);
  for (size_t j = 0; j < weights.size(); ++j) {
    weights[j] = std::nearbyint(weights[j] * scale[j] * inverse) *
                 (most / 65535) * Inverse(scale[j]);
  }
  return weights;
}

}  // namespace trivium::reference
