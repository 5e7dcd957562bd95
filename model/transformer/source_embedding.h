#ifndef TRIVIUM_MODEL_TRANSFORMER_SOURCE_EMBEDDING_H_
#define TRIVIUM_MODEL_TRANSFORMER_SOURCE_EMBEDDING_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/transformer/rows.h"
#include "model/transformer/sequences.h"
#include "model/transformer/stack.h"

namespace trivium {

// What enters an encoder's first layer:
//   x = P norm(scale * token + position + segment)
// where norm and projection P are optional. One a worker.
class SourceEmbedding {
 public:
  // `stack` outlives this.
  SourceEmbedding(const Stack& stack, OperandType type)
      : stack_(stack), narrow_(type) {}

  // Fills `rows`, which has room for the tokens of all `sources`.
  absl::Status Run(std::span<SourceState* const> sources, Rows* rows,
                   Workspace* workspace);

 private:
  const Stack& stack_;
  Operand narrow_;  // [rows, embedding width], before the projection
  std::vector<float> row_;
  std::vector<int> positions_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_SOURCE_EMBEDDING_H_
