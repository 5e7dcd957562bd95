#ifndef TRIVIUM_MODEL_TRANSFORMER_HEADS_H_
#define TRIVIUM_MODEL_TRANSFORMER_HEADS_H_

#include <optional>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/transformer/layer.h"
#include "model/transformer/linear.h"
#include "model/transformer/sequences.h"

namespace trivium {

// Columns of one block of a product with a vocabulary. Logits of a block stay
// in the caches from the product to what reads them.
inline constexpr int kOutputBlock = 1024;

// What is computed from an encoder's final states, packed: see
// PoolerDescription and HeadDescription. In f32 whatever the model's
// arithmetic, for it costs next to nothing and decides the answer; only the
// product with a vocabulary is in the model's.
struct Pooler {
  Linear dense;  // [out, d_model]
  Activation activation = Activation::kTanh;

  static absl::StatusOr<Pooler> Create(const PoolerDescription& description);
};

struct Head {
  HeadKind kind = HeadKind::kClassify;
  HeadDescription::Input input = HeadDescription::Input::kEveryToken;
  std::optional<Linear> dense;
  Activation activation = Activation::kNone;
  std::optional<Norm> norm;
  Arithmetic output_arithmetic = Arithmetic::kF32;
  std::vector<Linear> output_blocks;  // of kOutputBlock outputs
  int outputs = 0;

  static absl::StatusOr<Head> Create(const HeadDescription& description,
                                     float norm_epsilon, Arithmetic arithmetic);
  int64_t bytes() const;
  bool batch_invariant() const;
};

// Computes pooled outputs and logits of sources that have gone through the
// last layer. One a worker.
class HeadRunner {
 public:
  // Null where the model has none; both outlive this.
  HeadRunner(const Pooler* pooler, const Head* head);

  // Whether what `source` wants needs the final state of its token `position`.
  bool Reads(const SourceState& source, int position) const;

  // `state(s, position)` is the final state of that token of sources[s], for
  // those that Reads() tells.
  using StateOf = absl::FunctionRef<const float*(size_t s, int position)>;
  absl::Status Run(std::span<SourceState* const> sources, StateOf state,
                   LinearScratch* scratch);

 private:
  // Whether the source's logits are made of the pooled output.
  bool PoolsForHead(const SourceState& source) const;
  absl::Status Pool(std::span<SourceState* const> sources, StateOf state,
                    LinearScratch* scratch);
  absl::Status Logits(std::span<SourceState* const> sources, StateOf state,
                      LinearScratch* scratch);

  const Pooler* pooler_;
  const Head* head_;
  Operand input_;   // f32: pooled outputs or final states
  Operand hidden_;  // what the last product reads
  // Of each row of a product: where its result goes.
  std::vector<float*> results_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_HEADS_H_
