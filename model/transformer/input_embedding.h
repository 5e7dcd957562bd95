#ifndef TRIVIUM_MODEL_TRANSFORMER_INPUT_EMBEDDING_H_
#define TRIVIUM_MODEL_TRANSFORMER_INPUT_EMBEDDING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/transformer/rows.h"
#include "model/transformer/stack.h"

namespace trivium {

// Computes the input of a stack's first layer:
//   x = P norm(scale * token + position + segment)
// where norm and projection P are optional. If positions are as wide as the
// layers but tokens are not:
//   x = P norm(scale * token + segment) + position
// Each worker has one.
class InputEmbedding {
 public:
  struct Token {
    int32_t id;
    int position;
    int32_t type = 0;  // segment
  };

  // `stack` must outlive this object.
  InputEmbedding(const Stack& stack, const Formats& formats)
      : stack_(stack), narrow_(formats) {}

  // Fills `rows`, which must have room for all tokens.
  absl::Status Run(std::span<const Token> tokens, Rows* rows,
                   Workspace* workspace);

 private:
  const Stack& stack_;
  Operand narrow_;  // [rows, embedding width], before the projection
  std::vector<float> row_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_INPUT_EMBEDDING_H_
