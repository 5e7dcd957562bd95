#ifndef TRIVIUM_MODEL_TRANSFORMER_INPUT_EMBEDDING_H_
#define TRIVIUM_MODEL_TRANSFORMER_INPUT_EMBEDDING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/kernels/buffer.h"
#include "model/transformer/rows.h"
#include "model/transformer/stack.h"

namespace trivium {

// Computes the input of a stack's first layer:
//   x = P norm(scale * token + position + segment)
// where norm and projection P are optional. If positions are as wide as the
// layers but tokens are not:
//   x = P norm(scale * token + segment) + position
// and so they are, without P, if positions_after_norm is set. With
// projects_tokens:
//   x = norm(P (scale * token) + position + segment)
// where P may read the tokens before and behind, too (trigrams).
// Each worker has one.
class InputEmbedding {
 public:
  struct Token {
    int32_t id;
    int position;      // with trigrams, 0 begins a text
    int32_t type = 0;  // segment
  };

  // `stack` must outlive this object.
  InputEmbedding(const Stack& stack, const Formats& formats)
      : stack_(stack), narrow_(formats), first_input_(formats) {}

  // Fills `rows`, which must have room for all tokens, and the layers' own
  // inputs, if the stack has any.
  absl::Status Run(std::span<const Token> tokens, Rows* rows,
                   Workspace* workspace);

  // The inputs e of a layer (TokenInputsDescription), those of adjacent rows
  // token_input_stride() floats apart.
  const float* token_input(int layer) const {
    return token_inputs_.data() +
           static_cast<size_t>(layer) * stack_.token_inputs->width;
  }
  size_t token_input_stride() const {
    return stack_.token_inputs->projection.out();
  }

 private:
  // The same with projects_tokens.
  absl::Status RunProjected(std::span<const Token> tokens, Rows* rows,
                            Workspace* workspace);
  absl::Status RunTokenInputs(std::span<const Token> tokens, Rows* rows,
                              Workspace* workspace);

  const Stack& stack_;
  Operand narrow_;  // [rows, embedding width], before the projection
  std::vector<float> row_;
  Operand first_input_;         // the first layer's, [rows, d_model]
  Buffer<float> token_inputs_;  // [rows, layers x width]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_INPUT_EMBEDDING_H_
