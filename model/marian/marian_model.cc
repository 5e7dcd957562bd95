#include "model/marian/marian_model.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "model/marian/marian_files.h"
#include "model/marian/yaml.h"
#include "model/search/decoding.h"
#include "model/tokenizer/marian_tokenizer.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The array with the model's own configuration, as text.
constexpr std::string_view kConfiguration = "special:model.yml";
// Default of max_new_tokens, as in folders that were converted from Marian's
// files. Marian's own limit grows with the source.
constexpr int kMostNewTokens = 512;
// More pieces than any published vocabulary has.
constexpr JsonLimits kVocabulary = {size_t{64} << 20, size_t{256} << 20};

absl::StatusOr<json> ReadConfiguration(const Weights& weights) {
  const TensorView* const array = weights.Find(kConfiguration);
  if (array == nullptr ||
      (array->dtype != DType::kI8 && array->dtype != DType::kU8)) {
    return absl::InvalidArgumentError(fmt::format(
        "weights: array {} is missing; it says what the model is, so take the "
        "file as Marian wrote it",
        kConfiguration));
  }
  std::string_view text(reinterpret_cast<const char*>(array->data.data()),
                        array->data.size());
  text = text.substr(0, text.find('\0'));  // without the padding
  absl::StatusOr<json> config = ParseYaml(text, kConfigJson);
  if (config.ok() && config->is_object()) return config;
  return absl::InvalidArgumentError(
      fmt::format("{}: {}; fetch the model again", kConfiguration,
                  config.ok() ? "is not a mapping"
                              : std::string(config.status().message())));
}

// Reads a .yml of pieces and their ids.
absl::StatusOr<Vocabulary> ReadVocabulary(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const json pieces, ReadYamlFile(path, kVocabulary));
  std::vector<std::pair<std::string, int32_t>> entries;
  entries.reserve(pieces.size());
  for (const auto& [piece, id] : pieces.items()) {
    if (!id.is_number_integer() || id < 0 || id >= Vocabulary::MostIds()) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: gives piece \"{}\" the impossible id {}; fetch it again", path,
          piece.substr(0, 100), id.dump().substr(0, 100)));
    }
    entries.emplace_back(piece, id.get<int32_t>());
  }
  if (entries.empty()) {
    return absl::InvalidArgumentError(path + ": has no pieces; fetch it again");
  }
  return Vocabulary(std::move(entries));
}

absl::StatusOr<MarianTokenizer::SideFiles> ReadSide(
    const std::string& vocabulary, const std::string& pieces) {
  MarianTokenizer::SideFiles side;
  if (vocabulary.ends_with(".spm")) {
    side.sentencepiece = vocabulary;
    return side;
  }
  side.sentencepiece = pieces;
  TRIVIUM_ASSIGN_OR_RETURN(side.vocabulary, ReadVocabulary(vocabulary));
  side.vocabulary_path = vocabulary;
  return side;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizer(
    const MarianFiles& files) {
  TRIVIUM_ASSIGN_OR_RETURN(
      MarianTokenizer::SideFiles source,
      ReadSide(files.source_vocabulary, files.source_pieces));
  TRIVIUM_ASSIGN_OR_RETURN(
      MarianTokenizer::SideFiles target,
      ReadSide(files.target_vocabulary, files.target_pieces));
  TRIVIUM_ASSIGN_OR_RETURN(
      std::unique_ptr<MarianTokenizer> tokenizer,
      MarianTokenizer::Load(std::move(source), std::move(target)));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

// Returns the ids that Marian never writes: <unk>, and the control characters
// of vocabularies with byte pieces.
json SuppressedIds(const Tokenizer& tokenizer, ConfigReader* decoder) {
  json ids = json::array();
  const auto add = [&](const std::string& piece) {
    const int32_t id = tokenizer.PieceToId(piece, TextSide::kTarget);
    if (id >= 0) ids.push_back(id);
  };
  if (!decoder->Boolean("allow-unk").value_or(false)) add("<unk>");
  if (!decoder->Boolean("allow-special").value_or(false)) {
    constexpr int kControlCharacters = 32;
    for (int i = 0; i < kControlCharacters; ++i) {
      add(fmt::format("<0x{:02X}>", i));
    }
  }
  return ids;
}

// Returns the settings in the form of generation_config.json. Marian's search
// continues until all hypotheses of its beam have ended.
json GenerationConfig(const MarianFiles& files, const Tokenizer& tokenizer,
                      Problems* problems) {
  ConfigReader decoder({{files.decoder_path, &files.decoder}}, problems);
  json generation = {
      {"eos_token_id", tokenizer.PieceToId("</s>", TextSide::kTarget)},
      {"suppress_tokens", SuppressedIds(tokenizer, &decoder)},
      {"num_beams", decoder.Integer("beam-size", 1, kMaxBeamSize).value_or(1)},
      {"early_stopping", "never"},
      {"max_new_tokens", kMostNewTokens}};
  const ConfigReader::Layer normalize = decoder.Find("normalize");
  double length_penalty = 0;
  if (normalize.json != nullptr && normalize.json->is_boolean()) {
    length_penalty = *normalize.json ? 1 : 0;
  } else {
    length_penalty = decoder.Real("normalize", 0, 10).value_or(0);
  }
  generation["length_penalty"] = length_penalty;
  if (decoder.Real("word-penalty", -1e6, 1e6).value_or(0) != 0) {
    decoder.Report("word-penalty", decoder.Find("word-penalty"),
                   "this version does not support it; remove it");
  }
  return generation;
}

// Returns the languages that Firefox's metadata.json names, in the form of
// tokenizer_config.json; null if it names none.
json TokenizerConfig(const MarianFiles& files, Problems* problems) {
  const absl::StatusOr<json> metadata = ReadJsonFile(
      (fs::path(files.weights).parent_path() / "metadata.json").string());
  if (!metadata.ok()) {
    if (!absl::IsNotFound(metadata.status())) {
      problems->push_back(std::string(metadata.status().message()));
    }
    return nullptr;
  }
  json config;
  for (const auto& [from, to] : {std::pair("sourceLanguage", "source_lang"),
                                 {"targetLanguage", "target_lang"}}) {
    const auto found = metadata->find(from);
    if (found != metadata->end() && found->is_string()) config[to] = *found;
  }
  return config;
}

// Checks that every id that the tokenizer makes has an embedding, and that no
// piece has the id after the target's, with which the decoder starts
// (marian_npz.h).
void CheckVocabularies(const json& config, const Tokenizer& tokenizer,
                       json* generation, Problems* problems) {
  Problems told_by_the_family;
  ConfigReader reader({{std::string(kConfiguration), &config}},
                      &told_by_the_family);
  const std::vector<int> sizes =
      reader.Integers("dim-vocabs", 0, Vocabulary::MostIds());
  if (sizes.size() != 2) return;
  (*generation)["decoder_start_token_id"] = sizes[1];
  for (const auto& [side, name, size] :
       {std::tuple(TextSide::kSource, "source", sizes[0]),
        {TextSide::kTarget, "target", sizes[1]}}) {
    const int pieces = tokenizer.vocabulary_size(side);
    if (pieces <= size) continue;
    problems->push_back(fmt::format(
        "{}: dim-vocabs says that the model has {} {} embeddings, but the "
        "vocabulary has {} pieces; take both from the same model",
        kConfiguration, size, name, pieces));
  }
}

}  // namespace

MarianModel ReadMarianModel(const std::string& path, Problems* problems) {
  MarianModel model;
  const auto fail = [problems](const absl::Status& status) {
    problems->push_back(std::string(status.message()));
  };
  const absl::StatusOr<MarianFiles> files = FindMarianFiles(path);
  if (!files.ok()) {
    fail(files.status());
    return model;
  }
  absl::StatusOr<std::unique_ptr<Weights>> weights =
      Weights::OpenMarian(files->weights);
  if (!weights.ok()) {
    fail(weights.status());
    return model;
  }
  model.weights = *std::move(weights);
  absl::StatusOr<json> config = ReadConfiguration(*model.weights);
  if (!config.ok()) {
    fail(config.status());
    return model;
  }
  model.config = *std::move(config);
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = ReadTokenizer(*files);
  if (!tokenizer.ok()) {
    fail(tokenizer.status());
    model.config = nullptr;  // avoids reports of what follows from this
    return model;
  }
  model.tokenizer = *std::move(tokenizer);
  model.tokenizer_config = TokenizerConfig(*files, problems);
  model.shortlist = files->shortlist;
  model.shared_vocabulary =
      files->source_vocabulary == files->target_vocabulary;
  model.generation_config =
      GenerationConfig(*files, *model.tokenizer, problems);
  CheckVocabularies(model.config, *model.tokenizer, &model.generation_config,
                    problems);
  return model;
}

}  // namespace trivium
