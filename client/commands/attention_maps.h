#ifndef TRIVIUM_CLIENT_COMMANDS_ATTENTION_MAPS_H_
#define TRIVIUM_CLIENT_COMMANDS_ATTENTION_MAPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/client.h"

namespace trivium {

enum class AttentionKind {
  kEncoder,  // of a text's tokens to each other
  kCross,    // of a translation's tokens to the source's
  kDecoder,  // of a translation's tokens to those before them
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
  // Of a pair of texts: the first token of the second one.
  std::optional<uint32_t> boundary;
  // With a causal mask: query i sees the first seen_first + i keys.
  std::optional<uint32_t> seen_first;
  std::vector<float> weights;  // [layers, heads, rows, keys]

  size_t size() const {
    return layers.size() * heads.size() * rows.size() * keys.size();
  }
  // How many keys the query at `row` of rows may see.
  size_t Seen(size_t row) const;
};

// Reads a text's attention maps from a server.
//
//   AttentionReader reader(client, model);
//   reader.set_text(text) ...
//   maps = reader.Plan(choice)         // tokens, but no weights yet
//   ... drop what is not wanted from maps->layers and the like
//   reader.Read(&maps)                 // weights, in as many calls as it takes
class AttentionReader {
 public:
  // Empty lists: all. Rows that a kind of map does not have are left out.
  struct Choice {
    std::vector<AttentionKind> kinds;
    std::vector<uint32_t> layers, heads, rows;
  };

  // `second` is of a pair, else empty. `languages` may be unset.
  AttentionReader(Client& client, const v1::Model& model,
                  const v1::Input& input, const v1::TranslateOptions& languages)
      : client_(client), model_(model), input_(input), languages_(languages) {}

  absl::StatusOr<std::vector<AttentionMaps>> Plan(const Choice& choice);
  absl::Status Read(std::vector<AttentionMaps>* maps);

  // With maps of a decoder, after Plan: the text it gave.
  const std::string& translation() const { return translation_; }

 private:
  v1::EncodeRequest EncodeOnly() const;
  absl::StatusOr<AttentionMaps> PlanEncoder();
  absl::StatusOr<std::vector<AttentionMaps>> PlanDecoder();
  // The first token of a pair's second text.
  absl::StatusOr<std::optional<uint32_t>> Boundary();
  absl::StatusOr<v1::Attention> Call(AttentionKind kind,
                                     const v1::AttentionSelection& part);
  // How much of the maps fits into one answer of the server.
  struct Steps {
    size_t layers = 1, heads = 1, rows = 1;
  };
  Steps StepsOf(const AttentionMaps& maps) const;
  // Reads the part that begins at these places.
  absl::Status ReadPart(size_t layer, size_t head, size_t row,
                        const Steps& step, AttentionMaps* maps);

  Client& client_;
  const v1::Model model_;
  const v1::Input input_;
  const v1::TranslateOptions languages_;
  std::string translation_;
  uint32_t new_tokens_ = 0;
};

// Drops layers (the first ones first), then heads, until the maps have at most
// `cells` weights in all; false where a head of each kind is more.
bool ShrinkToFit(size_t cells, std::vector<AttentionMaps>* maps);

// `maps` with these layers and heads of theirs only.
AttentionMaps Slice(const AttentionMaps& maps,
                    const std::vector<uint32_t>& layers,
                    const std::vector<uint32_t>& heads);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_ATTENTION_MAPS_H_
