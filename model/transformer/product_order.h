#ifndef TRIVIUM_MODEL_TRANSFORMER_PRODUCT_ORDER_H_
#define TRIVIUM_MODEL_TRANSFORMER_PRODUCT_ORDER_H_

#include "absl/container/node_hash_map.h"
#include "model/kernels/matmul.h"

namespace trivium {

// Learns in which order products follow one another, which is the same in every
// step of most models. So a thread that waits can fetch the weights that it
// multiplies next. A wrong guess costs reading, never an answer.
class ProductOrder {
 public:
  // Notes that a product with `matrix` begins. Returns the matrix whose product
  // followed the last two times; null if they differed.
  const PackedMatrix* Follow(const PackedMatrix* matrix) {
    if (last_ != nullptr) {
      last_->steady = last_->next == matrix;
      last_->next = matrix;
    }
    // Pointers to its values stay valid in a node map, and none is erased.
    last_ = &successors_[matrix];
    return last_->steady ? last_->next : nullptr;
  }

 private:
  struct Successor {
    const PackedMatrix* next = nullptr;
    bool steady = false;
  };
  absl::node_hash_map<const PackedMatrix*, Successor> successors_;
  Successor* last_ = nullptr;  // of the product before
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_PRODUCT_ORDER_H_
