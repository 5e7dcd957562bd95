#include "model/head_trace.h"

#include <algorithm>

namespace trivium {

void HeadTrace::FillUnseenScores(float* all) const {
  for (int i = 0; i < queries; ++i) {
    float* const row = all + static_cast<size_t>(i) * keys;
    for (int j = 0; j < keys; ++j) {
      if (seen_begin[i] <= j && j < seen_end[i]) continue;
      double product = 0;
      for (int c = 0; c < query.columns; ++c) {
        product += double{query.Row(i)[c]} * key.Row(j)[c];
      }
      row[j] = static_cast<float>(product * scale);
    }
  }
}

size_t HeadTrace::floats() const {
  size_t count = 0;
  for (const TracedRows* rows :
       {&token, &segment, &position, &embedded, &input, &normed, &query, &key,
        &value, &scores, &bias, &weights, &sum, &joined, &output, &result}) {
    count += rows->values.size();
  }
  return count;
}

size_t TracedFloats(int queries, int keys, int d_model, int heads) {
  // Ten matrices are as wide as the model: three of an embedding, `embedded`,
  // `input`, `normed`, `joined`, `output`, `result` and one to spare.
  const size_t head_size = static_cast<size_t>(d_model) / std::max(heads, 1);
  const size_t rows = queries;
  return rows * (10 * static_cast<size_t>(d_model) + 2 * head_size +
                 3 * static_cast<size_t>(keys)) +
         2 * static_cast<size_t>(keys) * head_size;
}

}  // namespace trivium
