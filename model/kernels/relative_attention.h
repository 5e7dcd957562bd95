#ifndef TRIVIUM_MODEL_KERNELS_RELATIVE_ATTENTION_H_
#define TRIVIUM_MODEL_KERNELS_RELATIVE_ATTENTION_H_

#include <cstddef>
#include <cstdint>

namespace trivium {

// Attention of one head inside one sequence, whose scores also depend on how
// far query i and key j are apart (DeBERTa, He et al. 2020; MPNet, Song et al.
// 2020):
//   x = row[i - j]
//   score(i, j) = scale * (q_i . k_j + q_i . K[x] + k_j . Q[x]) + b[x]
//   weights = softmax(score), out = weights V
// in f32 and in an order that depends on the sequence alone.
struct RelativeAttentionCall {
  int head_size;
  int tokens;  // at least 1
  // [tokens] rows of head_size floats, this far apart.
  const float* query;
  const float* key;
  const float* value;
  size_t stride;
  float scale;
  // By distance: row[i - j], so it points into the middle of an array of
  // 2 tokens - 1.
  const int32_t* row;
  // Rows of head_size floats, this far apart; either may be null.
  const float* position_key;    // K
  const float* position_query;  // Q
  size_t position_stride;
  const float* bias;  // b, or null
  float* out;         // [tokens] rows of head_size floats ...
  size_t out_stride;  // ... this far apart
  // [tokens, tokens], the attention map afterwards, where the stride is
  // `tokens`; or where it is 0, scratch of one row.
  float* weights;
  size_t weights_stride;
};
void AttendRelative(const RelativeAttentionCall& call);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_RELATIVE_ATTENTION_H_
