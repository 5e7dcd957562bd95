#ifndef TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ROW_H_
#define TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ROW_H_

#include "model/transformer/description.h"

namespace trivium {

// The row that a distance (query's position - key's position) reads, as
// Transformers computes it in f32.
int RelativeRow(const RelativeAttentionDescription& description, int distance);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ROW_H_
