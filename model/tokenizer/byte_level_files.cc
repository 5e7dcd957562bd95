// Order for every family: vocabulary and merges make the model; the family
// decides the normalizer and the pre-tokenizer, then the special tokens and the
// templates around texts. SetTokens comes last, because it needs the model to
// tell which of the special tokens that a family assumes exist.
#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/folder_config.h"
#include "model/tokenizer/merges_file.h"
#include "model/tokenizer/tokenizer_files.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {
namespace {

using Item = PostProcessor::Item;

// The end of a word's last piece in the first GPT's vocabulary.
constexpr char kWordEnd[] = "</w>";

// Qwen2's words.
constexpr char kQwenWords[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

bool IsQwen(const std::string& family) {
  return family.starts_with("qwen2") || family.starts_with("qwen3");
}

// The special tokens around texts; a family that is not named here uses
// GPT-2's.
enum class Style { kPlain, kRoberta, kDeberta };

Style StyleOf(const std::string& family) {
  for (const char* name : {"roberta", "bart", "longformer", "led", "blenderbot",
                           "mvp", "roberta-prelayernorm", "data2vec-text"}) {
    if (family == name) return Style::kRoberta;
  }
  return family == "deberta" ? Style::kDeberta : Style::kPlain;
}

absl::StatusOr<Item> Special(const std::string& path, const TokenModel& model,
                             const std::string& piece, int type_id) {
  const int32_t id = model.IdOf(piece);
  if (id < 0) {
    return absl::InvalidArgumentError(fmt::format(
        "{} lacks the special token \"{}\"; check that it belongs to this "
        "model",
        path, piece));
  }
  return Item{Item::Kind::kSpecial, type_id, id, piece};
}

// Sets the templates of the family.
absl::Status SetTemplates(const std::string& path, Style style,
                          FolderConfig* config, TokenizerParts* parts) {
  const Item a = {Item::Kind::kFirst, 0, 0, ""};
  Item b = {Item::Kind::kSecond, 1, 0, ""};
  if (style == Style::kPlain) {
    if (!config->Flag("add_bos_token", false)) return absl::OkStatus();
    TRIVIUM_ASSIGN_OR_RETURN(
        const Item begin,
        Special(path, *parts->model,
                config->Special("bos_token", "<|endoftext|>"), 0));
    parts->post_processor.set_templates({begin, a}, {begin, a, b});
    return absl::OkStatus();
  }
  const bool roberta = style == Style::kRoberta;
  TRIVIUM_ASSIGN_OR_RETURN(
      const Item begin,
      Special(path, *parts->model,
              config->Special("cls_token", roberta ? "<s>" : "[CLS]"), 0));
  TRIVIUM_ASSIGN_OR_RETURN(
      const Item middle,
      Special(path, *parts->model,
              config->Special("sep_token", roberta ? "</s>" : "[SEP]"), 0));
  Item end = middle;
  if (roberta) {
    // Both texts are of one segment, with two separators between.
    b.type_id = 0;
    parts->post_processor.set_templates({begin, a, middle},
                                        {begin, a, middle, middle, b, end});
    return absl::OkStatus();
  }
  end.type_id = 1;
  parts->post_processor.set_templates({begin, a, middle},
                                      {begin, a, middle, b, end});
  return absl::OkStatus();
}

void NameSpecials(Style style, const std::string& family,
                  FolderConfig* config) {
  if (style == Style::kRoberta) {
    for (const auto& [role, piece] : {std::pair("bos_token", "<s>"),
                                      {"eos_token", "</s>"},
                                      {"cls_token", "<s>"},
                                      {"sep_token", "</s>"},
                                      {"unk_token", "<unk>"},
                                      {"pad_token", "<pad>"}}) {
      config->Special(role, piece);
    }
    config->Special("mask_token", "<mask>", /*left_strip=*/true);
  } else if (style == Style::kDeberta) {
    for (const auto& [role, piece] : {std::pair("bos_token", "[CLS]"),
                                      {"eos_token", "[SEP]"},
                                      {"cls_token", "[CLS]"},
                                      {"sep_token", "[SEP]"},
                                      {"unk_token", "[UNK]"},
                                      {"pad_token", "[PAD]"}}) {
      config->Special(role, piece);
    }
    config->Special("mask_token", "[MASK]", /*left_strip=*/true);
  } else if (!IsQwen(family)) {
    for (const char* role : {"bos_token", "eos_token", "unk_token"}) {
      config->Special(role, "<|endoftext|>");
    }
  } else {
    config->Special("eos_token", "<|endoftext|>");
    config->Special("pad_token", "<|endoftext|>");
  }
}

// Sets added tokens and roles after the model has been made.
void SetTokens(FolderConfig* config, TokenizerParts* parts) {
  parts->clean_up_spaces = config->Flag("clean_up_tokenization_spaces", false);
  config->KeepKnown(*parts->model);
  parts->added_tokens = config->AllTokens();
  parts->special_ids =
      config->Ids(AddedTokens(parts->added_tokens, *parts->model, nullptr));
}

absl::StatusOr<std::unique_ptr<BpeModel>> MakeModel(
    const std::string& folder, Vocabulary vocabulary,
    const BpeModel::Merges& merges, const BpeModel::Options& options) {
  absl::StatusOr<std::unique_ptr<BpeModel>> model =
      BpeModel::Create(std::move(vocabulary), merges, options);
  if (model.ok()) return model;
  return absl::InvalidArgumentError(
      fmt::format("{}/merges.txt and vocab.json do not belong together: {}",
                  folder, std::string(model.status().message())));
}

// The first GPT's files: BERT's words in lower case; pieces of characters, with
// "</w>" at the end of a word's last piece.
absl::StatusOr<TokenizerParts> CharacterPieces(const std::string& folder,
                                               Vocabulary vocabulary,
                                               const BpeModel::Merges& merges,
                                               FolderConfig config) {
  if (config.family != "openai-gpt" && config.family != "openaigpt") {
    return absl::UnimplementedError(fmt::format(
        "{}/merges.txt has pieces that end with \"</w>\": this is BPE of "
        "characters, not of bytes, which this version supports only for the "
        "family \"openai-gpt\", and this folder's is \"{}\"; without the "
        "tokenizer's files the model serves token ids",
        folder, config.family));
  }
  TokenizerParts parts;
  const std::string unknown = config.Special("unk_token", "<unk>");
  TRIVIUM_ASSIGN_OR_RETURN(
      parts.model, MakeModel(folder, std::move(vocabulary), merges,
                             {.unknown = unknown, .end_suffix = kWordEnd}));
  parts.normalizer = MakeBertNormalizer({});
  parts.pre_tokenizer = MakeBertPreTokenizer();
  parts.decoder = {BpeDecoder(kWordEnd)};
  SetTokens(&config, &parts);
  return parts;
}

}  // namespace

absl::StatusOr<TokenizerParts> LoadByteLevelFiles(const std::string& folder) {
  TRIVIUM_ASSIGN_OR_RETURN(FolderConfig config, FolderConfig::Load(folder));
  const std::string path = folder + "/vocab.json";
  TRIVIUM_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::Load(path));
  TRIVIUM_ASSIGN_OR_RETURN(const BpeModel::Merges merges,
                           LoadMerges(folder + "/merges.txt"));
  if (std::any_of(merges.begin(), merges.end(), [](const auto& merge) {
        return merge.second.ends_with("</w>");
      })) {
    return CharacterPieces(folder, std::move(vocabulary), merges,
                           std::move(config));
  }
  TokenizerParts parts;
  TRIVIUM_ASSIGN_OR_RETURN(
      parts.model, MakeModel(folder, std::move(vocabulary), merges, {}));

  // Other families use these tokenizers, such as data2vec-text RoBERTa's.
  Style style = StyleOf(config.family);
  if (style == Style::kPlain) style = StyleOf(config.tokenizer_class);
  const bool prefix_space = config.Flag("add_prefix_space", false);
  if (IsQwen(config.family)) {
    parts.normalizer = MakeUnicodeNormalizer(DecompositionKind::kCanonical,
                                             /*compose=*/true);
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Pattern> words,
                             Pattern::Regex(kQwenWords));
    std::vector<std::unique_ptr<PreTokenizer>> steps;
    steps.push_back(
        MakeSplit(std::move(words), SplitBehavior::kIsolated, false));
    steps.push_back(MakeByteLevel({prefix_space, /*use_regex=*/false}));
    parts.pre_tokenizer = MakePreTokenizerSequence(std::move(steps));
  } else {
    parts.pre_tokenizer = MakeByteLevel({prefix_space, /*use_regex=*/true});
  }
  NameSpecials(style, config.family, &config);
  TRIVIUM_RETURN_IF_ERROR(SetTemplates(path, style, &config, &parts));
  if (style == Style::kRoberta) {
    parts.post_processor.set_trim_offsets(prefix_space);
  }
  parts.decoder = {ByteLevelDecoder()};
  SetTokens(&config, &parts);
  return parts;
}

}  // namespace trivium
