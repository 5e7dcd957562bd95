#ifndef TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ROW_H_
#define TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ROW_H_

#include "model/transformer/description.h"

namespace trivium {

// Returns the table row of a distance (query's position - key's position), in
// the f32 arithmetic of Transformers.
int RelativeRow(const RelativeAttentionDescription& description, int distance);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_RELATIVE_ROW_H_
