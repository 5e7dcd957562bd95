// SentencePiece files of models that come from fairseq or Google. Their ids
// differ from the file's:
//
// - mBART: <s> <pad> </s> <unk>, the file's pieces from 3, languages, <mask>.
// - mBART-50: the same with more languages.
// - NLLB: the same, but languages and <mask> as the folder numbers them.
// - M2M-100: those of vocab.json, languages.
// - Pegasus: <pad> </s> <mask_1> <mask_2> <unk_2> to <unk_102>, then the file's
// pieces from 2, with ids that are 103 more than in the file.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "base/file.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/fairseq_languages.h"
#include "model/tokenizer/folder_config.h"
#include "model/tokenizer/sentencepiece_token_model.h"
#include "model/tokenizer/tokenizer_files.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {
namespace {

using Item = PostProcessor::Item;

struct TextToText {
  SentencePieceTokenModel::Layout layout;
  std::vector<std::string> languages;
  // True if the tokenizer finds them in texts although the folder does not name
  // them.
  bool languages_in_texts = true;
  // Source language of texts that name none, as in Transformers.
  std::string usual_source;
  bool source_behind = false;  // the source's token goes after the end token
  std::string mask;            // empty: there is none
  bool mask_strips_left = false;
};

const std::vector<std::string>& FairseqSpecials() {
  static const auto* const kPieces =
      new std::vector<std::string>{"<s>", "<pad>", "</s>", "<unk>"};
  return *kPieces;
}

TextToText MBart(std::vector<std::string> languages, bool source_behind) {
  TextToText family;
  family.layout = {.front = FairseqSpecials(), .skipped = 3, .back = languages};
  family.layout.back.push_back("<mask>");
  family.languages = std::move(languages);
  family.usual_source = "en_XX";
  family.source_behind = source_behind;
  family.mask = "<mask>";
  family.mask_strips_left = true;
  return family;
}

TextToText Nllb(const FolderConfig& config) {
  TextToText family;
  family.layout = {.front = FairseqSpecials(), .skipped = 3};
  family.languages = NllbLanguages();
  // A folder that names some languages names all that it has.
  for (const AddedToken& token : config.added_tokens) {
    if (std::find(family.languages.begin(), family.languages.end(),
                  token.content) == family.languages.end()) {
      continue;
    }
    family.languages.clear();
    break;
  }
  family.usual_source = "eng_Latn";
  family.source_behind = config.Flag("legacy_behaviour", false);
  family.mask = "<mask>";
  family.mask_strips_left = true;
  return family;
}

absl::StatusOr<TextToText> M2m100(const std::string& folder,
                                  const FolderConfig& config) {
  TextToText family;
  TRIVIUM_ASSIGN_OR_RETURN(family.layout.vocabulary,
                           Vocabulary::Load(folder + "/vocab.json"));
  family.languages =
      config.language_codes == "wmt21" ? Wmt21Languages() : M2m100Languages();
  family.layout.back = family.languages;
  family.languages_in_texts = false;
  family.usual_source = "__en__";
  return family;
}

TextToText Pegasus() {
  TextToText family;
  family.layout = {.front = {"<pad>", "</s>", "<mask_1>", "<mask_2>"},
                   .skipped = 2};
  for (int i = 2; i <= 102; ++i) {
    family.layout.front.push_back(fmt::format("<unk_{}>", i));
  }
  family.languages = family.layout.front;
  family.mask = "<mask_2>";
  return family;
}

absl::StatusOr<std::optional<TextToText>> Recognize(
    const std::string& folder, const FolderConfig& config) {
  const std::string& name = config.family;
  const std::string& tokenizer = config.tokenizer_class;
  if (name == "mbart50" || (name == "mbart" && tokenizer == "mbart50")) {
    return std::optional(MBart(MBart50Languages(), /*source_behind=*/false));
  }
  if (name == "mbart") {
    return std::optional(MBart(MBartLanguages(), /*source_behind=*/true));
  }
  std::error_code error;
  const bool has_vocabulary =
      std::filesystem::exists(folder + "/vocab.json", error);
  if (name == "nllb" ||
      (name == "m2m_100" &&
       (tokenizer == "nllb" || (tokenizer.empty() && !has_vocabulary)))) {
    return std::optional(Nllb(config));
  }
  if (name == "m2m_100" || name == "m2m100") {
    TRIVIUM_ASSIGN_OR_RETURN(TextToText family, M2m100(folder, config));
    return std::optional(std::move(family));
  }
  if (name == "pegasus") return std::optional(Pegasus());
  return std::optional<TextToText>();
}

PostProcessor MakeTemplates(const TextToText& family, const std::string& source,
                            const std::string& end, const TokenModel& model,
                            const AddedTokens& added) {
  const auto special = [&](const std::string& piece) {
    const int32_t id = added.IdOf(piece);
    return Item{Item::Kind::kSpecial, 0, id >= 0 ? id : model.IdOf(piece),
                piece};
  };
  const Item a = {Item::Kind::kFirst, 0, 0, ""};
  const Item b = {Item::Kind::kSecond, 0, 0, ""};
  const Item language = special(source);
  PostProcessor::Template single = {a, special(end)};
  if (language.id >= 0) {
    single.insert(family.source_behind ? single.end() : single.begin(),
                  language);
  }
  PostProcessor::Template pair = single;
  pair.insert(std::find_if(pair.begin(), pair.end(),
                           [](const Item& item) {
                             return item.kind == Item::Kind::kFirst;
                           }) +
                  1,
              b);
  PostProcessor processor;
  processor.set_templates(std::move(single), std::move(pair));
  return processor;
}

}  // namespace

absl::StatusOr<std::optional<TokenizerParts>> LoadTextToTextFile(
    const std::string& folder, const std::string& file) {
  TRIVIUM_ASSIGN_OR_RETURN(FolderConfig config, FolderConfig::Load(folder));
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<TextToText> family,
                           Recognize(folder, config));
  if (!family) return std::optional<TokenizerParts>();
  const std::string path = folder + "/" + file;
  TRIVIUM_ASSIGN_OR_RETURN(const std::string serialized, ReadFile(path));
  const auto broken = [&path](std::string_view what) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {}; fetch it again", path, what));
  };
  SentencePieceTokenModel::Layout layout = family->layout;
  layout.unknown = config.Special("unk_token", layout.unknown);
  absl::StatusOr<std::unique_ptr<SentencePieceTokenModel>> model =
      SentencePieceTokenModel::Create(serialized, layout);
  if (!model.ok()) return broken(std::string(model.status().message()));
  const std::string end = config.Special("eos_token", "</s>");
  config.Special("pad_token", "<pad>");
  config.Special("mask_token", family->mask, family->mask_strips_left);
  if ((*model)->IdOf(end) < 0) {
    return broken(fmt::format(
        "it lacks the special token \"{}\"; check that it belongs to this "
        "model",
        end));
  }
  if ((*model)->IdOf("<s>") >= 0) config.Special("bos_token", "<s>");
  for (const std::string& piece : family->languages) {
    config.AddSpecial(piece, family->languages_in_texts);
  }

  TokenizerParts parts;
  parts.decoder = {MetaspaceDecoder("\xE2\x96\x81", /*strips_first=*/true)};
  parts.clean_up_spaces = config.Flag("clean_up_tokenization_spaces", false);
  parts.model = *std::move(model);
  parts.added_tokens = config.AllTokens();
  const AddedTokens added(parts.added_tokens, *parts.model, nullptr);
  std::string source = config.source_language;
  if (source.empty()) source = family->usual_source;
  // M2M-100 names its source without the marks.
  if (added.IdOf(source) < 0) source = "__" + source + "__";
  parts.post_processor =
      MakeTemplates(*family, source, end, *parts.model, added);
  parts.special_ids = config.Ids(added);
  return std::optional(std::move(parts));
}

}  // namespace trivium
