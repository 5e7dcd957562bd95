#include "client/commands/attention_page.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/escaping.h"
#include "client/pages/pages.h"

namespace trivium {
namespace {

// Packs weights for attention_data.js. 16 bits (little-endian) are proportional
// to the weight, 8 bits to its square root.
std::string Pack(const std::vector<float>& weights, int bits) {
  std::string bytes;
  bytes.reserve(weights.size() * bits / 8);
  for (const float weight : weights) {
    const float w = std::clamp(weight, 0.0f, 1.0f);  // NaN becomes 0
    if (bits == 16) {
      const long code = std::lround(w * 65535);
      bytes += static_cast<char>(code & 0xFF);
      bytes += static_cast<char>(code >> 8);
    } else {
      bytes += static_cast<char>(std::lround(std::sqrt(w) * 255));
    }
  }
  std::string text;
  absl::Base64Escape(bytes, &text);
  return text;
}

nlohmann::json Optional(const std::optional<uint32_t>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json Describe(const DrawnMaps& maps) {
  return {{"kind", NameOf(maps.kind)},
          {"layers", maps.layers},
          {"heads", maps.heads},
          {"rows", maps.rows},
          {"queries", maps.queries},
          {"keys", maps.keys},
          {"boundary", Optional(maps.boundary)},
          {"seen_first", Optional(maps.seen_first)},
          {"windows", maps.windows},
          {"prompt", maps.prompt},
          {"heads_per_kv", maps.heads_per_kv}};
}

}  // namespace

std::string AttentionPage(const AttentionContext& context,
                          const std::vector<DrawnMaps>& maps) {
  size_t weights = 0;
  for (const DrawnMaps& one : maps) weights += one.size();
  const int bits = 2 * weights <= kMaxPageWeights ? 16 : 8;
  nlohmann::json data = {{"model", context.model},
                         {"texts", context.texts},
                         {"bits", bits},
                         {"maps", nlohmann::json::array()}};
  for (const DrawnMaps& one : maps) {
    nlohmann::json added = Describe(one);
    added["weights"] = Pack(one.weights, bits);
    data["maps"].push_back(std::move(added));
  }
  return MakePage(kAttentionPage, data);
}

nlohmann::json AttentionJson(const AttentionContext& context,
                             const std::vector<DrawnMaps>& maps) {
  nlohmann::json all = {{"model", context.model},
                        {"texts", context.texts},
                        {"attention", nlohmann::json::array()}};
  for (const DrawnMaps& one : maps) {
    nlohmann::json added = Describe(one);
    nlohmann::json& layers = added["weights"] = nlohmann::json::array();
    auto from = one.weights.begin();
    for (size_t l = 0; l < one.layers.size(); ++l) {
      nlohmann::json& heads = layers.emplace_back(nlohmann::json::array());
      for (size_t h = 0; h < one.heads.size(); ++h) {
        nlohmann::json& rows = heads.emplace_back(nlohmann::json::array());
        for (size_t r = 0; r < one.rows.size(); ++r) {
          rows.push_back(std::vector<float>(from, from + one.keys.size()));
          from += one.keys.size();
        }
      }
    }
    all["attention"].push_back(std::move(added));
  }
  return all;
}

}  // namespace trivium
