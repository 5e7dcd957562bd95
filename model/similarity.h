#ifndef TRIVIUM_MODEL_SIMILARITY_H_
#define TRIVIUM_MODEL_SIMILARITY_H_

#include <span>
#include <vector>

#include "model/engine.h"
#include "model/kernels/max_sim.h"
#include "model/multi_vectors.h"

namespace trivium {

// Products of the embeddings of two texts. Sums have one order, so that a pair
// gives the same bits whatever else is compared.

// Ways to compare two dense embeddings; the larger the number, the more similar
// they are.
enum class SimilarityFunction {
  kCosine,     // a . b / (|a| |b|); 0 if one is all zeros
  kDot,        // a . b
  kEuclidean,  // -|a - b|
  kManhattan,  // -sum of |a_i - b_i|
};

// Both have the same size.
double DenseSimilarity(SimilarityFunction function, std::span<const float> a,
                       std::span<const float> b);

// Returns a . b; both have the same size.
double DenseProduct(std::span<const float> a, std::span<const float> b);

// Returns the sum of the products of the weights of common ids. Both are
// ascending by id.
double SparseProduct(std::span<const SparseWeight> a,
                     std::span<const SparseWeight> b);

// Returns the sum over the rows i of `query` of max over the rows j of
// `document` of query_i . document_j (MaxSim, Khattab and Zaharia 2020); 0 if
// one has no rows. Their vectors have the same size. A query is prepared once
// for all documents.
MaxSimQuery MaxSimQueryOf(const VectorRows& query);
double MaxSim(const MaxSimQuery& query, const VectorRows& document);

// Scales to Euclidean length 1; leaves a vector of zeros as it is.
void NormalizeLength(std::span<float> vector);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SIMILARITY_H_
