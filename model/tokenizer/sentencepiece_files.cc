#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/file.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/folder_config.h"
#include "model/tokenizer/sentencepiece_token_model.h"
#include "model/tokenizer/tokenizer_files.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {
namespace {

using Item = PostProcessor::Item;

// A family's use of its SentencePiece file.
struct Family {
  const char* begin;  // empty: there is no such token
  const char* end;
  const char* padding;
  const char* mask;
  bool mask_strips_left;
  int separators;   // between the texts of a pair
  int second_type;  // the second text's segment
  SentencePieceTokenModel::Layout layout;
};

std::optional<Family> FamilyOf(const std::string& name) {
  if (name.starts_with("xlm-roberta")) {  // also -xl
    return Family{
        "<s>",   "</s>",
        "<pad>", "<mask>",
        true,    2,
        0,       {{"<s>", "<pad>", "</s>", "<unk>"}, 3, {"<mask>"}, "<unk>"}};
  }
  if (name == "camembert") {
    return Family{
        "<s>",
        "</s>",
        "<pad>",
        "<mask>",
        true,
        2,
        0,
        {{"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"},
         1,
         {"<mask>"},
         "<unk>"}};
  }
  if (name == "albert") {
    return Family{"[CLS]", "[SEP]", "<pad>", "[MASK]", true, 1, 1, {}};
  }
  if (name == "t5" || name == "mt5" || name == "umt5") {
    return Family{"", "</s>", "<pad>", "", false, 1, 0, {}};
  }
  if (name == "deberta-v2") {
    return Family{"[CLS]", "[SEP]", "[PAD]", "[MASK]",
                  false,   1,       1,       {{}, 0, {}, "[UNK]"}};
  }
  for (const char* llama : {"llama", "mistral", "mixtral", "phi3"}) {
    if (name == llama) return Family{"<s>", "</s>", "", "", false, 0, 1, {}};
  }
  if (name.starts_with("gemma")) {
    return Family{"<bos>", "<eos>", "<pad>", "", false, 0, 1, {}};
  }
  return std::nullopt;
}

// Makes the steps before SentencePiece's own normalization.
absl::StatusOr<std::unique_ptr<Normalizer>> MakeNormalizer(
    const std::string& family, const FolderConfig& config) {
  std::vector<std::unique_ptr<Normalizer>> steps;
  if (family == "albert") {
    for (const char* quotes : {"``", "''"}) {
      steps.push_back(MakeReplace(Pattern::Literal(quotes), "\""));
    }
    if (!config.Flag("keep_accents", false)) {
      steps.push_back(MakeUnicodeNormalizer(DecompositionKind::kCompatible,
                                            /*compose=*/false));
      steps.push_back(MakeStripCombining());
    }
  }
  if (config.Flag("do_lower_case", family == "albert")) {
    steps.push_back(MakeLowerCase());
  }
  if (steps.empty()) return std::unique_ptr<Normalizer>();
  return MakeNormalizerSequence(std::move(steps));
}

absl::StatusOr<PostProcessor> MakePostProcessor(const Family& family,
                                                bool adds_begin, bool adds_end,
                                                FolderConfig* config,
                                                const TokenModel& model) {
  const auto special = [&](const char* role, const char* otherwise,
                           Item* item) -> absl::Status {
    item->kind = Item::Kind::kSpecial;
    item->piece = config->Special(role, otherwise);
    item->id = model.IdOf(item->piece);
    if (item->id >= 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("it lacks the special token \"{}\"; check that it belongs "
                    "to this model",
                    item->piece));
  };
  // Decoders call these tokens begin and end of a text.
  const bool has_begin = *family.begin != '\0';
  const bool plain = family.separators == 0;
  adds_begin = adds_begin && has_begin;
  Item begin;
  Item end;
  if (has_begin) {
    TRIVIUM_RETURN_IF_ERROR(
        special(plain ? "bos_token" : "cls_token", family.begin, &begin));
  }
  TRIVIUM_RETURN_IF_ERROR(special(
      plain || !has_begin ? "eos_token" : "sep_token", family.end, &end));
  const Item a = {Item::Kind::kFirst, 0, 0, ""};
  const Item b = {Item::Kind::kSecond, family.second_type, 0, ""};
  PostProcessor::Template single;
  if (adds_begin) single.push_back(begin);
  single.push_back(a);
  if (adds_end) single.push_back(end);
  PostProcessor::Template pair = single;
  for (int i = 1; i < family.separators; ++i) pair.push_back(end);
  begin.type_id = end.type_id = family.second_type;
  if (plain && adds_begin) pair.push_back(begin);
  pair.push_back(b);
  if (adds_end) pair.push_back(end);
  PostProcessor processor;
  processor.set_templates(std::move(single), std::move(pair));
  return processor;
}

}  // namespace

absl::StatusOr<TokenizerParts> LoadSentencePieceFile(
    const std::string& folder, const std::string& file,
    const std::string& usual_family) {
  TRIVIUM_ASSIGN_OR_RETURN(FolderConfig config, FolderConfig::Load(folder));
  const std::string path = folder + "/" + file;
  const std::string name = config.family.empty() ? usual_family : config.family;
  std::optional<Family> family = FamilyOf(name);
  // Many models of other names use LLaMA's tokenizer.
  if (!family.has_value()) family = FamilyOf(config.tokenizer_class);
  if (!family.has_value()) {
    return absl::UnimplementedError(fmt::format(
        "{}: this version does not know how family \"{}\" uses a SentencePiece "
        "model; without the tokenizer's files the model serves token ids",
        path, name));
  }
  if (name == "t5" || name == "mt5" || name == "umt5") {
    // Sentinels for the spans that a text lacks, in descending order.
    for (int i = config.extra_ids; i-- > 0;) {
      family->layout.back.push_back(fmt::format("<extra_id_{}>", i));
      config.AddSpecial(family->layout.back.back());
    }
  }
  TRIVIUM_ASSIGN_OR_RETURN(const std::string serialized, ReadFile(path));
  const auto broken = [&path](const absl::Status& status) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: {}; fetch it again", path, std::string(status.message())));
  };
  family->layout.unknown = config.Special("unk_token", family->layout.unknown);
  absl::StatusOr<std::unique_ptr<SentencePieceTokenModel>> model =
      SentencePieceTokenModel::Create(serialized, family->layout);
  if (!model.ok()) return broken(model.status());

  TokenizerParts parts;
  const bool adds_prefix = (*model)->adds_prefix();
  TRIVIUM_ASSIGN_OR_RETURN(parts.normalizer, MakeNormalizer(name, config));
  const bool plain = family->separators == 0;
  if (plain && adds_prefix && !config.Flag("legacy", true)) {
    // Transformers' corrected behaviour: no space after special tokens.
    family->layout.without_prefix = true;
    model = SentencePieceTokenModel::Create(serialized, family->layout);
    if (!model.ok()) return broken(model.status());
    std::vector<TokenModel::Piece> pieces;
    (*model)->Tokenize(
        "\xE2\x96\x81"
        "a",
        &pieces);
    if (pieces.empty() ||
        !(*model)->PieceOf(pieces.front().id).starts_with("\xE2\x96\x81")) {
      return absl::UnimplementedError(fmt::format(
          "{}: the model removes spaces in front of texts, which this version "
          "does not support with \"legacy\": false in tokenizer_config.json; "
          "without the tokenizer's files the model serves token ids",
          path));
    }
    parts.pre_tokenizer = MakePrependToFirst("\xE2\x96\x81");
  } else if (config.Flag("split_by_punct", false)) {
    parts.pre_tokenizer = MakePunctuation(SplitBehavior::kIsolated);
  } else if (!plain && name != "deberta-v2") {
    // This leaves the pieces as they are, but their offsets begin after the
    // spaces.
    parts.pre_tokenizer = MakeWhitespaceSplit();
  }
  absl::StatusOr<PostProcessor> processor =
      MakePostProcessor(*family, config.Flag("add_bos_token", true),
                        config.Flag("add_eos_token", !plain), &config, **model);
  if (!processor.ok()) return broken(processor.status());
  parts.post_processor = *std::move(processor);
  config.Special("pad_token", family->padding);
  config.Special("mask_token", family->mask, family->mask_strips_left);
  if ((*model)->byte_fallback()) {
    parts.decoder = {ReplaceDecoder(Pattern::Literal("\xE2\x96\x81"), " "),
                     ByteFallbackDecoder()};
    if (adds_prefix) {
      parts.decoder.push_back(StripDecoder(U' ', 1, 0, /*fused=*/true));
    }
  } else {
    parts.decoder = {MetaspaceDecoder("\xE2\x96\x81", /*strips_first=*/true)};
  }
  parts.clean_up_spaces = config.Flag("clean_up_tokenization_spaces", false);
  parts.model = *std::move(model);
  parts.added_tokens = config.AllTokens();
  parts.special_ids =
      config.Ids(AddedTokens(parts.added_tokens, *parts.model, nullptr));
  return parts;
}

}  // namespace trivium
