// tokenizer.json's model.

#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/json_fields.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/unigram_model.h"
#include "model/tokenizer/wordpiece_model.h"

namespace trivium {
namespace {

// Reads {"piece": id, ...}.
absl::StatusOr<Vocabulary> ReadVocabulary(const nlohmann::json& json) {
  if (!json.is_object() || json.empty()) {
    return absl::InvalidArgumentError("the model has no vocabulary");
  }
  std::vector<std::pair<std::string, int32_t>> entries;
  entries.reserve(json.size());
  for (const auto& [piece, id] : json.items()) {
    const uint64_t* value = id.get_ptr<const uint64_t*>();
    if (value == nullptr ||
        *value >= static_cast<uint64_t>(Vocabulary::MostIds())) {
      return absl::InvalidArgumentError(
          fmt::format("piece \"{}\" has an impossible id", piece));
    }
    entries.emplace_back(piece, static_cast<int32_t>(*value));
  }
  return Vocabulary(std::move(entries));
}

// Reads "left right" or ["left", "right"] in the order of their ranks.
absl::StatusOr<BpeModel::Merges> ReadMerges(const nlohmann::json& json) {
  if (!json.is_array()) {
    return absl::InvalidArgumentError("the model has no merges");
  }
  BpeModel::Merges merges;
  merges.reserve(json.size());
  for (const nlohmann::json& merge : json) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
        merge[1].is_string()) {
      merges.emplace_back(*merge[0].get_ptr<const std::string*>(),
                          *merge[1].get_ptr<const std::string*>());
      continue;
    }
    const std::string* text = merge.get_ptr<const std::string*>();
    if (text != nullptr && text->starts_with("#version")) continue;
    const size_t space = text == nullptr ? std::string::npos : text->find(' ');
    if (space == std::string::npos ||
        text->find(' ', space + 1) != std::string::npos) {
      return absl::InvalidArgumentError(
          fmt::format("merge {} is not two pieces", merges.size()));
    }
    merges.emplace_back(text->substr(0, space), text->substr(space + 1));
  }
  return merges;
}

absl::StatusOr<std::unique_ptr<TokenModel>> ReadBpe(nlohmann::json json) {
  const nlohmann::json& dropout = Field(json, "dropout");
  if (dropout.is_number() && dropout != 0) {
    return absl::UnimplementedError(
        "a BPE model with dropout gives other tokens each time, which this "
        "version does not support");
  }
  TRIVIUM_ASSIGN_OR_RETURN(Vocabulary vocabulary,
                           ReadVocabulary(Field(json, "vocab")));
  TRIVIUM_ASSIGN_OR_RETURN(const BpeModel::Merges merges,
                           ReadMerges(Field(json, "merges")));
  const BpeModel::Options options = {
      .unknown = StringField(json, "unk_token", ""),
      .continuing_prefix = StringField(json, "continuing_subword_prefix", ""),
      .end_suffix = StringField(json, "end_of_word_suffix", ""),
      .fuse_unknown = BoolField(json, "fuse_unk", false),
      .byte_fallback = BoolField(json, "byte_fallback", false),
      .ignore_merges = BoolField(json, "ignore_merges", false)};
  json = nullptr;
  return BpeModel::Create(std::move(vocabulary), merges, options);
}

absl::StatusOr<std::unique_ptr<TokenModel>> ReadUnigram(nlohmann::json json) {
  const nlohmann::json& vocabulary = Field(json, "vocab");
  std::vector<std::pair<std::string, double>> pieces;
  if (!vocabulary.is_array() ||
      static_cast<int64_t>(vocabulary.size()) > Vocabulary::MostIds()) {
    return absl::InvalidArgumentError("the model has no vocabulary");
  }
  pieces.reserve(vocabulary.size());
  for (const nlohmann::json& piece : vocabulary) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() ||
        !piece[1].is_number()) {
      return absl::InvalidArgumentError(
          fmt::format("piece {} of the vocabulary is not a text with a score",
                      pieces.size()));
    }
    pieces.emplace_back(*piece[0].get_ptr<const std::string*>(),
                        piece[1].get<double>());
  }
  UnigramModel::Options options;
  const nlohmann::json& unknown = Field(json, "unk_id");
  if (!unknown.is_null()) {
    options.unknown_id = static_cast<int32_t>(IntegerField(
        json, "unk_id", Vocabulary::MostIds(), Vocabulary::MostIds()));
  }
  options.byte_fallback = BoolField(json, "byte_fallback", false);
  json = nullptr;
  return UnigramModel::Create(std::move(pieces), options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenModel>> ReadTokenModel(
    nlohmann::json json) {
  if (!json.is_object()) {
    return absl::InvalidArgumentError("it has no model");
  }
  std::string type = StringField(json, "type", "");
  // Old files have no type.
  if (type.empty() && json.contains("merges")) type = "BPE";
  if (type.empty() && json.contains("unk_id")) type = "Unigram";
  if (type.empty() && json.contains("continuing_subword_prefix")) {
    type = "WordPiece";
  }
  if (type == "BPE") return ReadBpe(std::move(json));
  if (type == "Unigram") return ReadUnigram(std::move(json));
  if (type == "WordPiece") {
    TRIVIUM_ASSIGN_OR_RETURN(Vocabulary vocabulary,
                             ReadVocabulary(Field(json, "vocab")));
    return WordPieceModel::Create(
        std::move(vocabulary),
        {.unknown = StringField(json, "unk_token", "[UNK]"),
         .continuing_prefix =
             StringField(json, "continuing_subword_prefix", "##"),
         .max_word_characters = static_cast<size_t>(IntegerField(
             json, "max_input_chars_per_word", 100, int64_t{1} << 31))});
  }
  return absl::UnimplementedError(
      fmt::format("model \"{}\" is unknown to this version", type));
}

}  // namespace trivium
