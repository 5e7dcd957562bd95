#ifndef TRIVIUM_CLIENT_COMMANDS_ATTENTION_READER_H_
#define TRIVIUM_CLIENT_COMMANDS_ATTENTION_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/commands/attention_maps.h"

namespace trivium {

// Reads the attention maps of a text from a server, including those of its
// translation or, with a decoder-only model, of its answer.
//
//   AttentionReader reader(client, model, input, options);
//   maps = reader.Plan(choice)         // tokens, but no weights yet
//   ... drop unwanted entries of maps->layers, heads and rows
//   reader.Read(&maps)                 // weights, in as many calls as it takes
class AttentionReader {
 public:
  // An empty list selects all. Rows that a kind of map lacks are left out.
  struct Choice {
    std::vector<AttentionKind> kinds;
    std::vector<uint32_t> layers, heads, rows;

    bool Wants(AttentionKind kind) const {
      return kinds.empty() ||
             std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    }
    bool WantsADecoder() const {
      return Wants(AttentionKind::kCross) || Wants(AttentionKind::kDecoder);
    }
  };

  // `options` of the translation or the answer: its languages, which may be
  // unset, and its decoding options.
  AttentionReader(Client& client, const v1::Model& model,
                  const v1::Input& input, const v1::TranslateOptions& options)
      : client_(client), model_(model), input_(input), options_(options) {}

  // An error if the model has no such attention, or if `options` limits new
  // tokens but none are written.
  static absl::Status CheckChoice(const Choice& choice, const v1::Model& model,
                                  const v1::TranslateOptions& options);

  absl::StatusOr<std::vector<DrawnMaps>> Plan(const Choice& choice);
  absl::Status Read(std::vector<DrawnMaps>* maps);

  // Text that the decoder wrote. Set by Plan if it plans maps of a decoder.
  const std::string& answer() const { return answer_; }

 private:
  v1::EncodeRequest EncodeOnly() const;
  v1::TranslateRequest TranslateOnly() const;
  v1::GenerateRequest GenerateOnly() const;
  absl::StatusOr<DrawnMaps> PlanEncoder();
  absl::StatusOr<std::vector<DrawnMaps>> PlanTranslation();
  absl::StatusOr<DrawnMaps> PlanPrompt();
  // Fills in the layers, the heads and their properties in the model.
  absl::Status PlanHeads(const Choice& choice, DrawnMaps* maps) const;
  // Returns the pieces of `text` alone.
  absl::StatusOr<std::vector<std::string>> PiecesOf(const std::string& text);
  absl::StatusOr<v1::Attention> Call(const DrawnMaps& maps,
                                     const v1::AttentionSelection& part);
  // The part of the maps that fits into one response of the server.
  struct Steps {
    size_t layers = 1, heads = 1, rows = 1;
  };
  Steps StepsOf(const DrawnMaps& maps) const;
  // Reads the part that begins at these indices and is as large as `step`.
  absl::Status ReadPart(size_t layer, size_t head, size_t row,
                        const Steps& step, DrawnMaps* maps);

  Client& client_;
  const v1::Model model_;
  const v1::Input input_;
  const v1::TranslateOptions options_;
  std::string answer_;
  uint32_t new_tokens_ = 0;  // of answer_
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_ATTENTION_READER_H_
