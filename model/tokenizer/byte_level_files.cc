#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "base/file.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/folder_config.h"
#include "model/tokenizer/tokenizer_files.h"
#include "model/tokenizer/vocabulary.h"

namespace trivium {
namespace {

using Item = PostProcessor::Item;

// Qwen2's words.
constexpr char kQwenWords[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Each makes a piece; some are written twice.
constexpr size_t kMaxMerges = 2 * Vocabulary::MostIds();

absl::StatusOr<BpeModel::Merges> LoadMerges(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  BpeModel::Merges merges;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    const size_t space = line.find(' ');
    if (space == 0 || space == std::string_view::npos ||
        space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos) {
      return absl::InvalidArgumentError(fmt::format(
          "{}:{} is not two pieces with a space between, download it again",
          path, number));
    }
    if (merges.size() >= kMaxMerges) {
      return absl::InvalidArgumentError(fmt::format(
          "{} has more than {} merges, check that it belongs to this model",
          path, kMaxMerges));
    }
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

// What stands around texts; families that are not named here are GPT-2's.
enum class Style { kPlain, kRoberta, kDeberta };

Style StyleOf(const std::string& family) {
  for (const char* name : {"roberta", "bart", "longformer", "led", "blenderbot",
                           "mvp", "roberta-prelayernorm"}) {
    if (family == name) return Style::kRoberta;
  }
  return family == "deberta" ? Style::kDeberta : Style::kPlain;
}

absl::StatusOr<Item> Special(const std::string& path, const TokenModel& model,
                             const std::string& piece, int type_id) {
  const int32_t id = model.IdOf(piece);
  if (id < 0) {
    return absl::InvalidArgumentError(fmt::format(
        "{} lacks the special token \"{}\", check that it belongs to this "
        "model",
        path, piece));
  }
  return Item{Item::Kind::kSpecial, type_id, id, piece};
}

// The templates of the family.
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
    // All of one segment, with two separators between.
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
  } else if (family != "qwen2") {
    for (const char* role : {"bos_token", "eos_token", "unk_token"}) {
      config->Special(role, "<|endoftext|>");
    }
  } else {
    config->Special("eos_token", "<|endoftext|>");
    config->Special("pad_token", "<|endoftext|>");
  }
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
    return absl::UnimplementedError(
        folder +
        "/merges.txt has pieces that end with \"</w>\": this is BPE of "
        "characters, not of bytes, which this version does not know");
  }
  TokenizerParts parts;
  absl::StatusOr<std::unique_ptr<BpeModel>> model =
      BpeModel::Create(std::move(vocabulary), merges, {});
  if (!model.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("{}/merges.txt and vocab.json do not belong together: {}",
                    folder, std::string(model.status().message())));
  }
  parts.model = *std::move(model);

  const Style style = StyleOf(config.family);
  const bool prefix_space = config.Flag("add_prefix_space", false);
  if (config.family == "qwen2") {
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
  parts.clean_up_spaces = config.Flag("clean_up_tokenization_spaces", false);
  config.KeepKnown(*parts.model);
  parts.added_tokens = config.AllTokens();
  parts.special_ids =
      config.Ids(AddedTokens(parts.added_tokens, *parts.model, nullptr));
  return parts;
}

}  // namespace trivium
