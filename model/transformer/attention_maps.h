#ifndef TRIVIUM_MODEL_TRANSFORMER_ATTENTION_MAPS_H_
#define TRIVIUM_MODEL_TRANSFORMER_ATTENTION_MAPS_H_

#include <vector>

#include "model/engine.h"

namespace trivium {

// Collects the requested attention weights of one sequence as they are
// computed.
class AttentionMaps {
 public:
  // `layers` and `heads` are the stack's. Resizes `values` to [selected layers,
  // selected heads, queries, keys]: new elements are zero, existing ones keep
  // their values.
  AttentionMaps(const AttentionSelection& selection, int layers, int heads,
                int queries, int keys, std::vector<float>* values);

  // Returns the [queries, keys] map of a layer's head, or null if it is not
  // selected.
  float* Map(int layer, int head) const;
  int keys() const { return keys_; }

 private:
  // An empty selection is expanded to all.
  std::vector<int> layers_;
  std::vector<int> heads_;
  int queries_;
  int keys_;
  std::vector<float>* values_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ATTENTION_MAPS_H_
