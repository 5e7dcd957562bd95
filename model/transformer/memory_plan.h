#ifndef TRIVIUM_MODEL_TRANSFORMER_MEMORY_PLAN_H_
#define TRIVIUM_MODEL_TRANSFORMER_MEMORY_PLAN_H_

#include <cstdint>

#include "model/transformer/description.h"
#include "model/transformer/formats.h"

namespace trivium {

// What a Transformer takes, told by the shapes of its tensors alone.
struct MemoryPlan {
  // Packed, without what products pad: a little less than
  // Transformer::weight_bytes().
  int64_t weight_bytes = 0;
  // Of the decoder, for each token that a sequence has read; 0: no decoder.
  int64_t kv_bytes_per_token = 0;
  // Of one that reads as much as the model can, source and target.
  int64_t longest_kv_bytes = 0;
};

MemoryPlan PlanMemory(const TransformerDescription& description,
                      const Formats& formats);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_MEMORY_PLAN_H_
