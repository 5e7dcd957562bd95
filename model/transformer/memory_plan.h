#ifndef TRIVIUM_MODEL_TRANSFORMER_MEMORY_PLAN_H_
#define TRIVIUM_MODEL_TRANSFORMER_MEMORY_PLAN_H_

#include <cstdint>

#include "model/transformer/description.h"
#include "model/transformer/formats.h"

namespace trivium {

// The memory that a Transformer needs, computed from its tensors' shapes alone.
struct MemoryPlan {
  // Packed weights without padding, so a little less than
  // Transformer::weight_bytes().
  int64_t weight_bytes = 0;
  // The decoder's keys and values per token read; 0: it has none.
  int64_t kv_bytes_per_token = 0;
  // The states of a sequence (state_layout.h); 0: no layer has one.
  int64_t state_bytes = 0;
  // Keys, values and states of the longest possible sequence, source and
  // target.
  int64_t longest_kv_bytes = 0;
};

MemoryPlan PlanMemory(const TransformerDescription& description,
                      const Formats& formats);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_MEMORY_PLAN_H_
