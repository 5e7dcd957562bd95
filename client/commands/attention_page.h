#ifndef TRIVIUM_CLIENT_COMMANDS_ATTENTION_PAGE_H_
#define TRIVIUM_CLIENT_COMMANDS_ATTENTION_PAGE_H_

#include <string>
#include <vector>

#include "client/commands/attention_maps.h"
#include "client/commands/terminal.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The contents of a page or a line of JSON besides the maps.
struct AttentionContext {
  std::string model;
  // The text, or both texts of a pair; then the translation or answer, if any.
  std::vector<std::string> texts;
};

// The most weights that fit into a page of 5 MB.
inline constexpr size_t kMaxPageWeights = 3'500'000;

// Returns a self-contained page (client/pages/attention.html) that shows
// `maps`, which have at most kMaxPageWeights weights. Weights have 16 bits if
// that fits, else 8.
std::string AttentionPage(const AttentionContext& context,
                          const std::vector<DrawnMaps>& maps);

// Returns the context and the maps, with weights nested as
// [layer][head][query][key].
nlohmann::json AttentionJson(const AttentionContext& context,
                             const std::vector<DrawnMaps>& maps);

// Returns the mean of all heads of the last layer, for a terminal: a line for
// each query, with a character for each key and the keys of the largest
// weights.
std::string AttentionText(const DrawnMaps& maps, const Colors& colors);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_ATTENTION_PAGE_H_
