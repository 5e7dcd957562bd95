#ifndef TRIVIUM_MODEL_FAMILIES_WINDOWED_ATTENTION_H_
#define TRIVIUM_MODEL_FAMILIES_WINDOWED_ATTENTION_H_

#include <string>
#include <vector>

#include "base/config_reader.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/attention_description.h"

namespace trivium {

// Longformer's attention, which LED's encoder has, too.

// Returns how many tokens each of the encoder's layers sees on either side:
// half of attention_window, which is a number or a list of one for each layer.
std::vector<int> ReadAttentionWindows(ConfigReader* config, int layers);

// Reads the layers `name`query_global and its like, where `name` ends with a
// dot.
GlobalAttentionDescription ReadGlobalAttention(const std::string& name,
                                               int d_model,
                                               TensorReader* tensors);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_WINDOWED_ATTENTION_H_
