#ifndef TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_H_
#define TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "model/engine.h"
#include "model/transformer/description.h"

namespace trivium {

// How weights are kept and products computed.
enum class Arithmetic { kF32, kBf16, kInt8 };

// The weights of one Transformer, packed for the products, shared by the
// engines of all workers. Immutable.
class Transformer {
 public:
  // Packs the description's tensors; its Weights may be closed afterwards.
  // The tensors' shapes were checked against the description by the family.
  static absl::StatusOr<std::shared_ptr<const Transformer>> Create(
      const TransformerDescription& description, Arithmetic arithmetic);

  virtual ~Transformer() = default;

  // Bytes that the packed weights take.
  virtual int64_t weight_bytes() const = 0;
  virtual int64_t parameters() const = 0;
  // Whether the start-up self-test found every row bucket's products equal,
  // bit by bit, to the one-row product.
  virtual bool batch_invariant() const = 0;

  // `self` keeps the weights alive in the engine.
  static absl::StatusOr<std::unique_ptr<Engine>> NewEngine(
      std::shared_ptr<const Transformer> self, int64_t kv_cache_bytes);
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_TRANSFORMER_H_
