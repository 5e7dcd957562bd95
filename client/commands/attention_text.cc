#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "client/commands/attention_page.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr size_t kMostShadedKeys = 64;
constexpr size_t kBestKeys = 3;
constexpr int kLabelColumns = 14;

std::string Heads(const DrawnMaps& maps) {
  if (maps.heads.size() > 1) {
    return fmt::format("mean of {} heads", maps.heads.size());
  }
  std::string head = fmt::format("head {}", maps.heads[0]);
  if (maps.heads_per_kv > 1) {
    head += fmt::format(", which reads KV head {}",
                        maps.heads[0] / maps.heads_per_kv);
  }
  return head;
}

std::string Title(const DrawnMaps& maps) {
  static const std::map<AttentionKind, const char*> kNames = {
      {AttentionKind::kEncoder, "Encoder self-attention"},
      {AttentionKind::kCross, "Cross-attention"},
      {AttentionKind::kDecoder, "Decoder self-attention"}};
  return fmt::format("{}, layer {}, {}", kNames.at(maps.kind),
                     maps.layers.back(), Heads(maps));
}

// Returns the mean weights of a row in the last layer, [keys].
std::vector<float> MeanOfHeads(const DrawnMaps& maps, size_t row) {
  const size_t keys = maps.keys.size();
  const size_t rows = maps.rows.size();
  std::vector<float> mean(keys);
  for (size_t h = 0; h < maps.heads.size(); ++h) {
    const size_t map = (maps.layers.size() - 1) * maps.heads.size() + h;
    const float* weights = maps.weights.data() + (map * rows + row) * keys;
    for (size_t k = 0; k < keys; ++k) mean[k] += weights[k];
  }
  for (float& weight : mean) weight /= static_cast<float>(maps.heads.size());
  return mean;
}

// Returns a character for each key; masked keys are hatched.
std::string Shades(const std::vector<float>& weights, DrawnMaps::Range seen,
                   const Colors& colors) {
  constexpr std::array<const char*, 5> kShades = {" ", "\u2591", "\u2592",
                                                  "\u2593", "\u2588"};
  std::string line;
  for (size_t k = 0; k < weights.size(); ++k) {
    if (k < seen.begin || k >= seen.end) {
      line += colors.Dim("\u2571");
      continue;
    }
    // The shades begin at 2 %, 10 %, 25 % and 50 %.
    const float w = weights[k];
    const int shade = (w >= .02f) + (w >= .1f) + (w >= .25f) + (w >= .5f);
    line += colors.Paint("36", kShades[shade]);
  }
  return line;
}

std::string Best(const DrawnMaps& maps, const std::vector<float>& weights,
                 DrawnMaps::Range seen, const Colors& colors) {
  std::vector<size_t> order(seen.end - seen.begin);
  std::iota(order.begin(), order.end(), seen.begin);
  const size_t shown = std::min(kBestKeys, order.size());
  std::partial_sort(order.begin(), order.begin() + shown, order.end(),
                    [&weights](size_t a, size_t b) {
                      return weights[a] != weights[b] ? weights[a] > weights[b]
                                                      : a < b;
                    });
  std::string line;
  for (size_t i = 0; i < shown; ++i) {
    line += fmt::format("  {} {}", Visible(maps.keys[order[i]]),
                        colors.Dim(fmt::format("{:.2f}", weights[order[i]])));
  }
  return line;
}

}  // namespace

std::string AttentionText(const DrawnMaps& maps, const Colors& colors) {
  std::string text = colors.Bold(Title(maps)) + "\n";
  int columns = 1;
  for (const std::string& query : maps.queries) {
    columns = std::max(columns, Columns(Visible(query)));
  }
  columns = std::min(columns, kLabelColumns);
  for (size_t row = 0; row < maps.rows.size(); ++row) {
    const std::vector<float> weights = MeanOfHeads(maps, row);
    const DrawnMaps::Range seen = maps.Seen(maps.layers.size() - 1, row);
    if (maps.prompt && maps.boundary && maps.rows[row] >= *maps.boundary &&
        (row == 0 || maps.rows[row - 1] < *maps.boundary)) {
      text += colors.Dim("     answer:") + "\n";
    }
    text += fmt::format("{:>4} {} ", maps.rows[row],
                        InColumns(Visible(maps.queries[row]), columns));
    if (maps.keys.size() <= kMostShadedKeys) {
      text += "|" + Shades(weights, seen, colors) + "|";
    }
    text += Best(maps, weights, seen, colors) + "\n";
  }
  return text;
}

}  // namespace trivium
