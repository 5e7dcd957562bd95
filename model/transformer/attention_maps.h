#ifndef TRIVIUM_MODEL_TRANSFORMER_ATTENTION_MAPS_H_
#define TRIVIUM_MODEL_TRANSFORMER_ATTENTION_MAPS_H_

#include <vector>

#include "model/engine.h"

namespace trivium {

// The attention weights of one sequence that somebody asked to see, as they
// are computed.
class AttentionMaps {
 public:
  // Of a stack with so many layers and heads. `values` becomes
  // [selected layers, selected heads, queries, keys]: zero where nothing is
  // written, and what it was if it is that large already.
  AttentionMaps(const AttentionSelection& selection, int layers, int heads,
                int queries, int keys, std::vector<float>* values);

  // [queries, keys] of a layer's head, or null where it is not selected.
  float* Map(int layer, int head) const;
  int keys() const { return keys_; }

 private:
  // "All" spelled out.
  std::vector<int> layers_;
  std::vector<int> heads_;
  int queries_;
  int keys_;
  std::vector<float>* values_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ATTENTION_MAPS_H_
