#include "model/families/windowed_attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/families/sizes.h"

namespace trivium {

std::vector<int> ReadAttentionWindows(ConfigReader* config, int layers) {
  constexpr char kKey[] = "attention_window";
  const size_t reported = config->problems()->size();
  const ConfigReader::Layer given = config->Find(kKey);
  std::vector<int> windows;
  if (given.json != nullptr && given.json->is_array()) {
    windows = config->Integers(kKey, 2, kMaxPositions);
  } else {
    windows.assign(layers,
                   config->Integer(kKey, 2, kMaxPositions).value_or(512));
  }
  const bool odd = std::any_of(windows.begin(), windows.end(),
                               [](int window) { return window % 2 != 0; });
  if (config->problems()->size() == reported &&
      (odd || windows.size() != static_cast<size_t>(layers))) {
    config->Report(kKey, given,
                   fmt::format("give an even number, or one for each of {} "
                               "layers",
                               layers));
  }
  for (int& window : windows) window /= 2;
  return windows;
}

GlobalAttentionDescription ReadGlobalAttention(const std::string& name,
                                               int d_model,
                                               TensorReader* tensors) {
  return {tensors->Linear(name + "query_global", d_model, d_model),
          tensors->Linear(name + "key_global", d_model, d_model),
          tensors->Linear(name + "value_global", d_model, d_model)};
}

}  // namespace trivium
