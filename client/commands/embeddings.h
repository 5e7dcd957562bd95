#ifndef TRIVIUM_CLIENT_COMMANDS_EMBEDDINGS_H_
#define TRIVIUM_CLIENT_COMMANDS_EMBEDDINGS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "trivium/v1/inference.pb.h"

namespace trivium {

// The result's embedding, which lives as long as the result.
inline std::span<const float> EmbeddingOf(const v1::EncodeResult& result) {
  return {result.embedding().data(),
          static_cast<size_t>(result.embedding_size())};
}

// Returns the cosine of the angle between two embeddings; 0 if one is empty or
// all zeros.
inline double Cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  const size_t size = std::min(a.size(), b.size());
  for (size_t i = 0; i < size; ++i) {
    ab += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

// Returns the sum of the products of the weights that both have.
inline double SparseProduct(const v1::SparseEmbedding& a,
                            const v1::SparseEmbedding& b) {
  // One that was read from a file may lack some.
  const int a_size = std::min(a.ids_size(), a.weights_size());
  const int b_size = std::min(b.ids_size(), b.weights_size());
  double sum = 0;
  for (int i = 0, j = 0; i < a_size && j < b_size;) {
    if (a.ids(i) == b.ids(j)) sum += double{a.weights(i)} * b.weights(j);
    const bool first = a.ids(i) <= b.ids(j), second = b.ids(j) <= a.ids(i);
    i += first;
    j += second;
  }
  return sum;
}

// Returns, summed over the query's vectors, the largest product of each with
// one of the document's; 0 if the document has none.
inline double MaxSim(const v1::MultiVector& query,
                     const v1::MultiVector& document) {
  const int size = static_cast<int>(query.size());
  if (size <= 0 || query.size() != document.size() ||
      document.values_size() < size) {
    return 0;
  }
  double sum = 0;
  for (int i = 0; i + size <= query.values_size(); i += size) {
    double largest = -std::numeric_limits<double>::infinity();
    for (int j = 0; j + size <= document.values_size(); j += size) {
      double product = 0;
      for (int k = 0; k < size; ++k) {
        product += double{query.values(i + k)} * document.values(j + k);
      }
      largest = std::max(largest, product);
    }
    sum += largest;
  }
  return sum;
}

// The kinds of embeddings, as EncodeOutput has them.
enum class EmbeddingKind { kDense, kSparse, kMultiVector };

// Returns the first kind that the result has.
inline std::optional<EmbeddingKind> KindOf(const v1::EncodeResult& result) {
  if (!result.embedding().empty()) return EmbeddingKind::kDense;
  if (result.has_sparse()) return EmbeddingKind::kSparse;
  if (result.has_multi_vector()) return EmbeddingKind::kMultiVector;
  return std::nullopt;
}

// Returns how much a document is about what a query asks, by embeddings of the
// query's kind: their cosine, their product, or MaxSim.
inline double Relevance(const v1::EncodeResult& query,
                        const v1::EncodeResult& document) {
  if (!query.embedding().empty()) {
    return Cosine(EmbeddingOf(query), EmbeddingOf(document));
  }
  return query.has_sparse()
             ? SparseProduct(query.sparse(), document.sparse())
             : MaxSim(query.multi_vector(), document.multi_vector());
}

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_EMBEDDINGS_H_
