#ifndef TRIVIUM_CLIENT_COMMANDS_ATTENTION_MAPS_H_
#define TRIVIUM_CLIENT_COMMANDS_ATTENTION_MAPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trivium {

enum class AttentionKind {
  kEncoder,  // of a text's tokens to each other
  kCross,    // of a translation's tokens to the source's
  // Of a translation's tokens to those before them, or, by a decoder alone, of
  // a prompt's and its answer's.
  kDecoder,
};

// "encoder", "cross", "decoder".
const char* NameOf(AttentionKind kind);

// Attention maps of one kind with the tokens that they are about.
struct AttentionMaps {
  AttentionKind kind = AttentionKind::kEncoder;
  std::vector<uint32_t> layers, heads;  // which ones
  std::vector<uint32_t> rows;           // which queries
  std::vector<std::string> queries;     // [rows] pieces
  std::vector<std::string> keys;        // pieces
  uint32_t all_queries = 0;             // with those that are not in rows
  size_t all_maps = 0;                  // chosen, before some were dropped
  // The first token of a pair's second text, or of the answer to a prompt.
  std::optional<uint32_t> boundary;
  // With a causal mask: query i sees the first seen_first + i keys.
  std::optional<uint32_t> seen_first;
  // Of these, in layer i the last windows[i]; 0: all. Empty: all in each.
  std::vector<uint32_t> windows;  // [layers]
  // Of a prompt and its answer: a query is named by the token that was read
  // there, and not by the one that was chosen there.
  bool prompt = false;
  // So many heads of queries, neighbours, share keys and values.
  uint32_t heads_per_kv = 1;
  std::vector<float> weights;  // [layers, heads, rows, keys]

  size_t size() const {
    return layers.size() * heads.size() * rows.size() * keys.size();
  }
  // The keys [begin, end) that the query at `row` of rows may see in layer
  // `layer` of layers.
  struct Range {
    size_t begin, end;
  };
  Range Seen(size_t layer, size_t row) const;
};

// Keeps the rows of `chosen` (all, if it is empty) that `maps`, without weights
// yet, have; false if that is none.
bool ChooseRows(const std::vector<uint32_t>& chosen, AttentionMaps* maps);

// Drops layers (the first ones first), then heads, until the maps have at most
// `cells` weights in all; false where a head of each kind is more.
bool ShrinkToFit(size_t cells, std::vector<AttentionMaps>* maps);

// `maps` with these layers and heads of theirs only.
AttentionMaps Slice(const AttentionMaps& maps,
                    const std::vector<uint32_t>& layers,
                    const std::vector<uint32_t>& heads);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_ATTENTION_MAPS_H_
