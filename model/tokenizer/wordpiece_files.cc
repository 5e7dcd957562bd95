#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/folder_config.h"
#include "model/tokenizer/tokenizer_files.h"
#include "model/tokenizer/vocabulary.h"
#include "model/tokenizer/wordpiece_model.h"

namespace trivium {
namespace {

using Item = PostProcessor::Item;

}  // namespace

absl::StatusOr<TokenizerParts> LoadWordPieceFiles(const std::string& folder) {
  TRIVIUM_ASSIGN_OR_RETURN(FolderConfig config, FolderConfig::Load(folder));
  const std::string path = folder + "/vocab.txt";
  TRIVIUM_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::LoadLines(path));

  const bool mpnet = config.family == "mpnet";
  const std::string first =
      config.Special("cls_token", mpnet ? "<s>" : "[CLS]");
  const std::string separator =
      config.Special("sep_token", mpnet ? "</s>" : "[SEP]");
  config.Special("pad_token", mpnet ? "<pad>" : "[PAD]");
  config.Special("mask_token", mpnet ? "<mask>" : "[MASK]", mpnet);
  const std::string unknown = config.Special("unk_token", "[UNK]");
  for (const std::string& piece : {first, separator, unknown}) {
    if (vocabulary.IdOf(piece) < 0) {
      return absl::InvalidArgumentError(fmt::format(
          "{} lacks the special token \"{}\"; check that it belongs to this "
          "model",
          path, piece));
    }
  }
  const int32_t first_id = vocabulary.IdOf(first);
  const int32_t separator_id = vocabulary.IdOf(separator);

  TokenizerParts parts;
  const bool lower_case = config.Flag("do_lower_case", true);
  parts.normalizer = MakeBertNormalizer(
      {.space_chinese_chars = config.Flag("tokenize_chinese_chars", true),
       .strip_accents = config.Flag("strip_accents", lower_case),
       .lower_case = lower_case});
  // Without basic tokenization, the text is cut only at its white space.
  parts.pre_tokenizer = config.Flag("do_basic_tokenize", true)
                            ? MakeBertPreTokenizer()
                            : MakeWhitespaceSplit();
  TRIVIUM_ASSIGN_OR_RETURN(
      parts.model,
      WordPieceModel::Create(std::move(vocabulary), {.unknown = unknown}));
  const Item begin = {Item::Kind::kSpecial, 0, first_id, first};
  const Item middle = {Item::Kind::kSpecial, 0, separator_id, separator};
  const Item end = {Item::Kind::kSpecial, 1, separator_id, separator};
  const Item a = {Item::Kind::kFirst, 0, 0, ""};
  const Item b = {Item::Kind::kSecond, 1, 0, ""};
  PostProcessor::Template pair = {begin, a, middle};
  // MPNet reads two separators, like RoBERTa.
  if (mpnet) pair.push_back(middle);
  pair.insert(pair.end(), {b, end});
  parts.post_processor.set_templates({begin, a, middle}, std::move(pair));
  parts.decoder = {WordPieceDecoder("##", /*clean_up=*/true)};
  parts.clean_up_spaces = config.Flag("clean_up_tokenization_spaces", false);
  config.KeepKnown(*parts.model);
  parts.added_tokens = config.AllTokens();
  parts.special_ids =
      config.Ids(AddedTokens(parts.added_tokens, *parts.model, nullptr));
  return parts;
}

}  // namespace trivium
