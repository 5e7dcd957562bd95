#ifndef TRIVIUM_CLIENT_COMMANDS_ATTENTION_MAPS_H_
#define TRIVIUM_CLIENT_COMMANDS_ATTENTION_MAPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

enum class AttentionKind {
  kEncoder,  // a text's tokens attend to each other
  kCross,    // a translation's tokens attend to the source's
  // A translation's tokens attend to those before them. In a decoder-only
  // model, tokens of a prompt and its answer do.
  kDecoder,
};

// Returns "encoder", "cross" or "decoder".
const char* NameOf(AttentionKind kind);
// Returns these names.
std::vector<std::string> KindNames();
// Returns the kind of one of these names.
AttentionKind KindOf(std::string_view name);

// Attention maps of one kind, with their tokens.
struct DrawnMaps {
  AttentionKind kind = AttentionKind::kEncoder;
  std::vector<uint32_t> layers, heads;  // numbers of the layers and heads
  std::vector<uint32_t> rows;           // numbers of the queries
  std::vector<std::string> queries;     // [rows] pieces
  std::vector<std::string> keys;        // pieces
  uint32_t all_queries = 0;             // count, including those not in rows
  size_t all_maps = 0;                  // count, before some were dropped
  // Index of the first token of a pair's second text, or of the answer to a
  // prompt.
  std::optional<uint32_t> boundary;
  // Set if the mask is causal: query i sees the first seen_first + i keys.
  std::optional<uint32_t> seen_first;
  // Sizes of the layers' windows: of the keys that a causal query sees, layer i
  // keeps the last windows[i]; 0: all. Empty: all in every layer.
  std::vector<uint32_t> windows;  // [layers]
  // True for maps of a prompt and its answer. A query is then named by the
  // token that was read there, not by the one that was chosen there.
  bool prompt = false;
  // Number of neighbouring query heads that share one head of keys and values.
  uint32_t heads_per_kv = 1;
  std::vector<float> weights;  // [layers, heads, rows, keys]

  size_t size() const {
    return layers.size() * heads.size() * rows.size() * keys.size();
  }
  // Range of keys [begin, end) that a query may see in a layer. `row` and
  // `layer` are indices in rows and layers.
  struct Range {
    size_t begin, end;
  };
  Range Seen(size_t layer, size_t row) const;
};

// Keeps only those rows of `maps` that are in `chosen`; all if `chosen` is
// empty. `maps` must not have weights yet. Returns false if no row is left.
bool ChooseRows(const std::vector<uint32_t>& chosen, DrawnMaps* maps);

// Drops layers (the first ones first), then heads, until all maps together have
// at most `cells` weights. Returns false if one head of each kind has more.
bool ShrinkToFit(size_t cells, std::vector<DrawnMaps>* maps);

// Returns a copy of `maps` with only these of its layers and heads.
DrawnMaps Slice(const DrawnMaps& maps, const std::vector<uint32_t>& layers,
                const std::vector<uint32_t>& heads);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_ATTENTION_MAPS_H_
