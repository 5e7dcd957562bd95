#ifndef TRIVIUM_CLIENT_COMMANDS_ATTENTION_READER_H_
#define TRIVIUM_CLIENT_COMMANDS_ATTENTION_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/commands/attention_maps.h"

namespace trivium {

// Reads a text's attention maps from a server.
//
//   AttentionReader reader(client, model, input, languages);
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

  // `languages` of a translation; they may be unset.
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

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_ATTENTION_READER_H_
