#include "model/similarity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace trivium {
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

MaxSimQuery MaxSimQueryOf(const VectorRows& query) {
  return MaxSimQuery(query.values.data(), query.rows(), query.size);
}

double MaxSim(const MaxSimQuery& query, const VectorRows& document) {
  return query.Compare(document.values.data(), document.rows());
}

void NormalizeLength(std::span<float> vector) {
  double sum = 0;
  for (const float value : vector) sum += double{value} * value;
  if (sum == 0) return;
  const double scale = 1 / std::sqrt(sum);
  for (float& value : vector) value = static_cast<float>(value * scale);
}

}  // namespace trivium
