#ifndef TRIVIUM_CLIENT_COMMANDS_EMBEDDINGS_H_
#define TRIVIUM_CLIENT_COMMANDS_EMBEDDINGS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
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

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_EMBEDDINGS_H_
