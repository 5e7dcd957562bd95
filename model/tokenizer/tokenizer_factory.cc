#include "model/tokenizer/tokenizer_factory.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "model/tokenizer/folder_config.h"
#include "model/tokenizer/json_fields.h"
#include "model/tokenizer/marian_tokenizer.h"
#include "model/tokenizer/pipeline_tokenizer.h"
#include "model/tokenizer/sentence_config.h"
#include "model/tokenizer/tokenizer_files.h"
#include "model/tokenizer/unicode.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

// True if the piece has several Chinese characters.
bool IsChineseWord(std::string_view piece) {
  int count = 0;
  while (!piece.empty()) {
    const CodePoint first = FirstCodePoint(piece);
    count += IsChineseCharacter(first.value) ? 1 : 0;
    piece.remove_prefix(first.size);
  }
  return count > 1;
}

// Refuses RoFormer's Chinese vocabularies: the words in them come from jieba.
absl::Status CheckWords(const std::string& folder, const TokenModel& model) {
  const auto config = FolderConfig::Load(folder);
  if (!config.ok()) return absl::OkStatus();
  const std::string& name = config->tokenizer_class.empty()
                                ? config->family
                                : config->tokenizer_class;
  if (name != "roformer") return absl::OkStatus();
  for (int32_t id = 0; id < model.size(); ++id) {
    if (!IsChineseWord(model.PieceOf(id))) continue;
    return absl::UnimplementedError(fmt::format(
        "{}: RoFormerTokenizer cuts Chinese into words with jieba, which this "
        "version does not; without the tokenizer's files the model serves "
        "token ids",
        folder));
  }
  return absl::OkStatus();
}

// True if the tokenizer tells the model which of two texts a token is of.
// Transformers' general class does so only if the folder says it.
absl::StatusOr<bool> TellsTypes(const std::string& folder) {
  TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json config,
                           LoadObject(folder + "/tokenizer_config.json"));
  const auto names = config.find("model_input_names");
  if (names != config.end() && names->is_array()) {
    return std::find(names->begin(), names->end(), "token_type_ids") !=
           names->end();
  }
  return StringField(config, "tokenizer_class", "") != "TokenizersBackend";
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Pipeline(
    const std::string& folder, const SentenceConfig& sentences,
    absl::StatusOr<TokenizerParts> parts) {
  TRIVIUM_RETURN_IF_ERROR(parts.status());
  TRIVIUM_RETURN_IF_ERROR(CheckWords(folder, *parts->model));
  if (sentences.lower_case) {
    // Like sentence-transformers: before the tokenizer's own steps, but not for
    // its added tokens.
    std::vector<std::unique_ptr<Normalizer>> steps;
    steps.push_back(MakeLowerCase());
    if (parts->normalizer) steps.push_back(std::move(parts->normalizer));
    parts->normalizer = MakeNormalizerSequence(std::move(steps));
  }
  TRIVIUM_ASSIGN_OR_RETURN(parts->tells_types, TellsTypes(folder));
  if (!sentences.special_tokens) parts->post_processor = PostProcessor();
  absl::StatusOr<std::unique_ptr<PipelineTokenizer>> tokenizer =
      PipelineTokenizer::Create(*std::move(parts));
  if (tokenizer.ok()) return *std::move(tokenizer);
  return absl::InvalidArgumentError(
      fmt::format("{}: {}", folder, std::string(tokenizer.status().message())));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(
    const std::string& root) {
  TRIVIUM_ASSIGN_OR_RETURN(const SentenceConfig sentences,
                           SentenceConfig::Load(root));
  return LoadTokenizer(TransformerFolder(root), sentences);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(
    const std::string& folder, const SentenceConfig& sentences) {
  const auto has = [&folder](const char* name) {
    std::error_code error;
    return std::filesystem::exists(std::filesystem::path(folder) / name, error);
  };
  if (has("source.spm") || has("target.spm")) {
    TRIVIUM_ASSIGN_OR_RETURN(auto tokenizer, MarianTokenizer::Load(folder));
    return std::unique_ptr<Tokenizer>(std::move(tokenizer));
  }
  absl::Status unknown = absl::OkStatus();
  if (has("tokenizer.json")) {
    absl::StatusOr<TokenizerParts> parts = LoadTokenizerJson(folder);
    // The older files may say the same in a way that this version knows.
    if (!absl::IsUnimplemented(parts.status())) {
      return Pipeline(folder, sentences, std::move(parts));
    }
    unknown = parts.status();
  }
  if (has("merges.txt") && has("vocab.json")) {
    return Pipeline(folder, sentences, LoadByteLevelFiles(folder));
  }
  if (has("vocab.txt"))
    return Pipeline(folder, sentences, LoadWordPieceFiles(folder));
  for (const auto& [file, family] :
       {std::pair("sentencepiece.bpe.model", "xlm-roberta"),
        {"spiece.model", "albert"},
        {"spm.model", "deberta-v2"},
        {"tokenizer.model", "llama"}}) {
    if (!has(file)) continue;
    TRIVIUM_ASSIGN_OR_RETURN(std::optional<TokenizerParts> parts,
                             LoadTextToTextFile(folder, file));
    if (parts) return Pipeline(folder, sentences, *std::move(parts));
    return Pipeline(folder, sentences,
                    LoadSentencePieceFile(folder, file, family));
  }
  if (!unknown.ok()) return unknown;
  if (has("vocab.json")) {
    return absl::NotFoundError(
        fmt::format("{} has a vocab.json but neither source.spm (Marian) nor "
                    "merges.txt (byte-level BPE); add the missing file",
                    folder));
  }
  if (has("merges.txt")) {
    return absl::NotFoundError(
        folder + " has a merges.txt but no vocab.json; add the missing file");
  }
  return std::unique_ptr<Tokenizer>();
}

absl::StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(
    nlohmann::json tokenizer, const nlohmann::json& tokenizer_config) {
  TRIVIUM_ASSIGN_OR_RETURN(
      TokenizerParts parts,
      ReadTokenizerJson(std::move(tokenizer), tokenizer_config));
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<PipelineTokenizer> pipeline,
                           PipelineTokenizer::Create(std::move(parts)));
  return std::unique_ptr<Tokenizer>(std::move(pipeline));
}

}  // namespace trivium
