#include "model/similarity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace trivium {
namespace {

// Sums in f32 over kLanes independent sums, which the compiler computes
// together. The rounding of some hundred products of values below 1 is some
// 1e-6.
float RowProduct(const float* a, const float* b, size_t size) {
  constexpr size_t kLanes = 8;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) sums[k] += a[i + k] * b[i + k];
  }
  float rest = 0;
  for (; i < size; ++i) rest += a[i] * b[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
         ((sums[2] + sums[6]) + (sums[3] + sums[7])) + rest;
}

}  // namespace

double DenseSimilarity(SimilarityFunction function, std::span<const float> a,
                       std::span<const float> b) {
  double sum = 0;
  switch (function) {
    case SimilarityFunction::kCosine: {
      const double squares = DenseProduct(a, a) * DenseProduct(b, b);
      return squares > 0 ? DenseProduct(a, b) / std::sqrt(squares) : 0;
    }
    case SimilarityFunction::kDot:
      return DenseProduct(a, b);
    case SimilarityFunction::kEuclidean:
      for (size_t i = 0; i < a.size(); ++i) {
        const double difference = double{a[i]} - b[i];
        sum += difference * difference;
      }
      return -std::sqrt(sum);
    case SimilarityFunction::kManhattan:
      for (size_t i = 0; i < a.size(); ++i) {
        sum += std::fabs(double{a[i]} - b[i]);
      }
      return -sum;
  }
  return sum;
}

double DenseProduct(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

double SparseProduct(std::span<const SparseWeight> a,
                     std::span<const SparseWeight> b) {
  double sum = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].id == b[j].id) {
      sum += double{a[i++].weight} * b[j++].weight;
    } else if (a[i].id < b[j].id) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum;
}

double MaxSim(const VectorRows& query, const VectorRows& document) {
  double sum = 0;
  const int rows = document.rows();
  if (rows == 0) return 0;
  const auto size = static_cast<size_t>(query.size);
  for (int i = 0; i < query.rows(); ++i) {
    const float* const row = query.row(i).data();
    float best = RowProduct(row, document.values.data(), size);
    for (int j = 1; j < rows; ++j) {
      best = std::max(best, RowProduct(row, document.row(j).data(), size));
    }
    sum += best;
  }
  return sum;
}

void NormalizeLength(std::span<float> vector) {
  double sum = 0;
  for (const float value : vector) sum += double{value} * value;
  if (sum == 0) return;
  const double scale = 1 / std::sqrt(sum);
  for (float& value : vector) value = static_cast<float>(value * scale);
}

}  // namespace trivium
