#ifndef TRIVIUM_TESTS_SUPPORT_REFERENCE_TRANSFORMER_H_
#define TRIVIUM_TESTS_SUPPORT_REFERENCE_TRANSFORMER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "model/transformer/description.h"
#include "tests/support/reference_numbers.h"

namespace trivium {

// The judge of the fast engine: computes a TransformerDescription with plain
// loops in double precision, one sequence at a time, everything anew for every
// call, no cache, no blocks. Slow and obvious on purpose.
//
//   ReferenceTransformer reference(description);
//   auto encoded = reference.Encode(source_ids);
//   auto decoded = reference.Decode(encoded.states, {start, token, ...});
//   decoded.logits.row(i)  // of the token after decoder input i
//
// "Attention Is All You Need" (Vaswani et al., 2017); `After` and `Before` of
// the norms as in "On Layer Normalization in the Transformer Architecture"
// (Xiong et al., 2020). Keeps pointers to the description and its tensors.
class ReferenceTransformer {
 public:
  explicit ReferenceTransformer(const TransformerDescription& description,
                                const reference::Numbers& encoder_numbers = {},
                                const reference::Numbers& decoder_numbers = {})
      : description_(description),
        encoder_numbers_(encoder_numbers),
        decoder_numbers_(decoder_numbers) {}

  struct Encoded {
    Matrix states;  // [tokens, d_model]
    // [layers + 1] of [tokens, d_model]: what enters each layer, then states.
    std::vector<Matrix> hidden;
    std::vector<double> attention;  // [layers, heads, tokens, tokens]
    Matrix pooled;                  // [1, pooler's outputs]
    Matrix logits;                  // [1 or tokens, head's outputs]
  };
  // `types` (segments) is empty or as long as `ids`.
  Encoded Encode(std::span<const int32_t> ids,
                 std::span<const int32_t> types = {}) const;

  struct Decoded {
    Matrix states;                        // [targets, d_model]
    Matrix logits;                        // [targets, vocabulary]
    std::vector<double> self_attention;   // [layers, heads, targets, targets]
    std::vector<double> cross_attention;  // [layers, heads, targets, sources]
  };
  // Reads `targets` from position 0 (teacher forcing). `source_states`
  // [sources, d_model] is empty for decoder-only models.
  Decoded Decode(const Matrix& source_states,
                 std::span<const int32_t> targets) const;

 private:
  const TransformerDescription& description_;
  const reference::Numbers encoder_numbers_;
  const reference::Numbers decoder_numbers_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_REFERENCE_TRANSFORMER_H_
