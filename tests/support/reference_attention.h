#ifndef TRIVIUM_TESTS_SUPPORT_REFERENCE_ATTENTION_H_
#define TRIVIUM_TESTS_SUPPORT_REFERENCE_ATTENTION_H_

#include <vector>

#include "model/transformer/description.h"
#include "tests/support/reference_numbers.h"

namespace trivium::reference {

// Attention of the reference transformer.

// A layer's keys and values as attention reads them.
struct KeysValues {
  Matrix key, value;
};

// Per head: softmax(cap(scale Q K^T)) V, heads joined, output layer. x
// [queries, d_model] asks, memory [keys, d_model] answers; query i sees the
// keys from i - look_back to i + look_ahead. Appends the weights [heads,
// queries, keys] to `maps`, and of self-attention the layer's keys and values
// to `made`, which has those of earlier layers. `layer` is given for
// self-attention, whose scores the stack's relative attention changes; else
// null. With `source`, which self-attention of LayerDescription::merges() sees,
// too, appends the weights of the source to `source_maps`. The first `global`
// tokens are global.
Matrix Attention(const Matrix& x, const Matrix& memory,
                 const StackDescription& stack,
                 const AttentionDescription& tensors,
                 const LayerDescription* layer, const Numbers& numbers,
                 std::vector<double>* maps, std::vector<KeysValues>* made,
                 const Matrix* values = nullptr, const Matrix* source = nullptr,
                 std::vector<double>* source_maps = nullptr, int global = 0);

// Latent attention in the absorbed form that LatentDescription gives. Appends
// to `maps` as above.
Matrix LatentAttention(const Matrix& x, const StackDescription& stack,
                       const AttentionDescription& tensors, Numbers numbers,
                       std::vector<double>* maps);

}  // namespace trivium::reference

#endif  // TRIVIUM_TESTS_SUPPORT_REFERENCE_ATTENTION_H_
