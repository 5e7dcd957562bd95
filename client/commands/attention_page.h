#ifndef TRIVIUM_CLIENT_COMMANDS_ATTENTION_PAGE_H_
#define TRIVIUM_CLIENT_COMMANDS_ATTENTION_PAGE_H_

#include <string>
#include <vector>

#include "client/commands/attention_maps.h"
#include "client/commands/terminal.h"
#include "nlohmann/json.hpp"

namespace trivium {

// What a page or a line of JSON says besides the maps.
struct AttentionContext {
  std::string model;
  // The text, or both of a pair; a translation or an answer comes last.
  std::vector<std::string> texts;
};

// The most weights that a page of 5 MB holds.
inline constexpr size_t kMaxPageWeights = 3'500'000;

// A page of one file (client/pages/attention.html) that shows `maps`, which
// have at most kMaxPageWeights. Weights have 16 bits where there is room for
// them, else 8.
std::string AttentionPage(const AttentionContext& context,
                          const std::vector<AttentionMaps>& maps);

// All there is, the weights nested as [layer][head][query][key].
nlohmann::json AttentionJson(const AttentionContext& context,
                             const std::vector<AttentionMaps>& maps);

// The mean of all heads of the last layer, for a terminal: a line for each
// query with a character for each key and the keys of the largest weights.
std::string AttentionText(const AttentionMaps& maps, const Colors& colors);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_ATTENTION_PAGE_H_
