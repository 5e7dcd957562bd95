#ifndef TRIVIUM_MODEL_TRANSFORMER_HEAD_TAP_H_
#define TRIVIUM_MODEL_TRANSFORMER_HEAD_TAP_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/head_trace.h"
#include "model/kernels/attention.h"
#include "model/kernels/row_ops.h"
#include "model/transformer/input_embedding.h"
#include "model/transformer/rows.h"

namespace trivium {

class Transformer;
struct AttentionGroup;
struct AttentionTask;

// Copies the numbers of one head into the traces of the groups that ask for
// them, while an attention sublayer computes them. It computes nothing that
// another number depends on, so a trace changes no bits; without a trace it
// costs a look at each group. The sublayer calls it in the order below.
class HeadTap {
 public:
  // True if the group's trace is of this layer.
  static bool Traces(const AttentionGroup& group, int layer);

  // Finds the task's traced groups, and copies the sublayer's input x. The task
  // must outlive End().
  void Begin(const AttentionTask& task, Rows* rows);
  bool active() const { return !groups_.empty(); }
  // Copies the queries of [rows, stride].
  void CopyQueries(const float* query, size_t stride);
  // Copies the chosen head's [queries, padded keys] of one call, whose first
  // query is row `first` of the group.
  void CopyMaps(const AttentionGroup& group, int first,
                const AttentionCall& call, const float* scores,
                const float* weights) const;
  // Copies the heads' sums of [rows, stride], and what the output layer reads:
  // `other`, which is as wide as its input, or, if it is null, the sums.
  void CopySums(const float* sums, size_t stride, const float* other);
  // Copies a row of the output layer's product. Threads may copy different rows
  // at the same time.
  void CopyOutput(int row, const ProductRow& product) const;
  // Copies the rows' sums with x, the keys and values, and what describes the
  // layer.
  void End(Rows* rows);

 private:
  void CopyKeys(const AttentionGroup& group) const;
  void Describe(HeadTrace* trace) const;

  const AttentionTask* task_ = nullptr;
  std::vector<const AttentionGroup*> groups_;
};

// Adds to a trace, from row `first` on, the parts of the tokens' embeddings,
// and the rows x [tokens, d_model] that enter the first layer.
void TraceEmbeddings(const Stack& stack,
                     std::span<const InputEmbedding::Token> tokens,
                     const float* x, int first, HeadTrace* trace);

// An error if the weights have no such head, or one whose steps a HeadTrace
// cannot tell: it names what the layer has instead.
absl::Status CheckTracedHead(const Transformer& weights, bool decoder,
                             const HeadChoice& choice);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_HEAD_TAP_H_
