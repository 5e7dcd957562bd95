// A GGUF file stores a tokenizer as lists (tokens, their types, scores or
// merges) and a few flags. Here they become a tokenizer.json, which the one
// reader of such files then checks and loads, so a GGUF file's tokenizer cannot
// differ from its folder's in anything but these lists. llama.cpp's defaults
// apply to flags that a file does not have.
#include "model/gguf/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "base/status.h"
#include "model/gguf/merges.h"
#include "model/gguf/words.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr std::string_view kPrefix = "tokenizer.ggml.";
constexpr char kBlank[] = "\xE2\x96\x81";  // U+2581

// llama.h's llama_token_type; other types are ordinary pieces.
enum TokenType { kUnknown = 2, kControl = 3, kUserDefined = 4 };

absl::Status Broken(std::string_view key, const std::string& what) {
  return absl::InvalidArgumentError(fmt::format(
      "metadata: {}{} {}; fetch the file again", kPrefix, key, what));
}

const json* Find(const json& metadata, std::string_view key) {
  const auto found = metadata.find(fmt::format("{}{}", kPrefix, key));
  return found == metadata.end() ? nullptr : &*found;
}

std::string Text(const json& metadata, std::string_view key) {
  const json* const value = Find(metadata, key);
  return value != nullptr && value->is_string() ? value->get<std::string>()
                                                : std::string();
}

bool Flag(const json& metadata, std::string_view key, bool otherwise) {
  const json* const value = Find(metadata, key);
  return value != nullptr && value->is_boolean() ? value->get<bool>()
                                                 : otherwise;
}

absl::StatusOr<std::vector<std::string>> Texts(const json& metadata,
                                               std::string_view key) {
  const json* const list = Find(metadata, key);
  if (list == nullptr || !list->is_array()) {
    return Broken(key, "is not a list");
  }
  std::vector<std::string> texts;
  texts.reserve(list->size());
  for (const json& text : *list) {
    if (!text.is_string())
      return Broken(key, "has elements that are not texts");
    texts.push_back(text.get_ref<const std::string&>());
  }
  return texts;
}

// Returns a list of one number for each piece; nullopt if there is no such
// list.
absl::StatusOr<std::optional<std::vector<double>>> Numbers(const json& metadata,
                                                           std::string_view key,
                                                           size_t count) {
  const json* const list = Find(metadata, key);
  if (list == nullptr) return std::nullopt;
  if (!list->is_array() || list->size() != count) {
    return Broken(key, fmt::format("is not a list of {} numbers, one for each "
                                   "piece",
                                   count));
  }
  std::vector<double> numbers;
  numbers.reserve(count);
  for (const json& number : *list) {
    if (!number.is_number() || std::isnan(number.get<double>())) {
      return Broken(key, "has elements that are not numbers");
    }
    numbers.push_back(number.get<double>());
  }
  return numbers;
}

// Returns an id if it is below `count`, else nullopt.
std::optional<size_t> IdBelow(size_t count, const json& id) {
  if (!id.is_number_integer() || id < 0 || id >= count) return std::nullopt;
  return id.get<size_t>();
}

struct Pieces {
  std::vector<std::string> texts;  // [id]
  std::vector<int> types;          // [id]
};

absl::StatusOr<Pieces> ReadPieces(const json& metadata) {
  Pieces pieces;
  TRIVIUM_ASSIGN_OR_RETURN(pieces.texts, Texts(metadata, "tokens"));
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::optional<std::vector<double>> types,
      Numbers(metadata, "token_type", pieces.texts.size()));
  pieces.types.resize(pieces.texts.size());
  for (size_t i = 0; types && i < types->size(); ++i) {
    pieces.types[i] = static_cast<int>(std::clamp((*types)[i], -1.0, 100.0));
  }
  return pieces;
}

json Vocabulary(const Pieces& pieces) {
  json vocabulary = json::object();
  for (size_t i = 0; i < pieces.texts.size(); ++i) {
    vocabulary[pieces.texts[i]] = i;
  }
  return vocabulary;
}

// Returns the added tokens, which are found in texts before the model splits
// them: pieces that the file calls unknown, control or user-defined, as in
// Transformers. `right_strip`: they take the white space behind them, too
// (Phi 3).
json AddedTokens(const Pieces& pieces, bool right_strip = false) {
  // <unk> and <s> are not.
  constexpr size_t kFirstStripped = 2;
  json added = json::array();
  for (size_t i = 0; i < pieces.texts.size(); ++i) {
    const int type = pieces.types[i];
    if (type != kUnknown && type != kControl && type != kUserDefined) continue;
    const std::string& text = pieces.texts[i];
    added.push_back({{"id", i},
                     {"content", text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", right_strip && i >= kFirstStripped &&
                                    text != "<|endoftext|>"},
                     {"normalized", false},
                     {"special", type != kUserDefined}});
  }
  return added;
}

// Returns a special token's id and text; nullopt if the file names none.
absl::StatusOr<std::optional<std::pair<size_t, std::string>>> Special(
    const json& metadata, const Pieces& pieces, std::string_view key) {
  const json* const value = Find(metadata, key);
  if (value == nullptr) return std::nullopt;
  const std::optional<size_t> id = IdBelow(pieces.texts.size(), *value);
  if (!id) return Broken(key, "is not the id of a piece");
  return std::pair(*id, pieces.texts[*id]);
}

// The tokens around a text, if the file does not say.
struct Around {
  bool begin = false;
  bool end = false;
  bool twice = false;  // the end stands twice between two texts
};

// Returns the post-processor that adds tokens around a text, or null.
absl::StatusOr<json> PostProcessor(const json& metadata, const Pieces& pieces,
                                   const Around& usual) {
  TRIVIUM_ASSIGN_OR_RETURN(auto begin,
                           Special(metadata, pieces, "bos_token_id"));
  TRIVIUM_ASSIGN_OR_RETURN(auto end, Special(metadata, pieces, "eos_token_id"));
  // Encoders begin with [CLS], and end with [SEP].
  TRIVIUM_ASSIGN_OR_RETURN(const auto first,
                           Special(metadata, pieces, "cls_token_id"));
  TRIVIUM_ASSIGN_OR_RETURN(const auto last,
                           Special(metadata, pieces, "seperator_token_id"));
  if (!begin) begin = first;
  const bool separates = Flag(metadata, "add_sep_token", false);
  if (!end || separates) end = last ? last : end;
  if (!Flag(metadata, "add_bos_token", usual.begin)) begin.reset();
  if (!Flag(metadata, "add_eos_token", usual.end) && !separates) end.reset();
  if (!begin && !end) return json();
  json special_tokens = json::object();
  const auto add = [&](const auto& token, unsigned type_id, json* items) {
    if (!token) return;
    special_tokens[token->second] = {{"id", token->second},
                                     {"ids", {token->first}},
                                     {"tokens", {token->second}}};
    items->push_back(
        {{"SpecialToken", {{"id", token->second}, {"type_id", type_id}}}});
  };
  json single = json::array(), pair = json::array();
  // The second text of an encoder has no begin token.
  const bool encoder = first || usual.twice;
  for (const auto& [text, second] : {std::pair("A", 0u), {"B", 1u}}) {
    const unsigned type_id = usual.twice ? 0 : second;
    const json item = {{"Sequence", {{"id", text}, {"type_id", type_id}}}};
    for (json* items : {&single, &pair}) {
      if (items == &single && second == 1) continue;
      if (second == 0 || !encoder) add(begin, type_id, items);
      if (second == 1 && usual.twice) add(end, type_id, items);
      items->push_back(item);
      add(end, type_id, items);
    }
  }
  return json{{"type", "TemplateProcessing"},
              {"single", std::move(single)},
              {"pair", std::move(pair)},
              {"special_tokens", std::move(special_tokens)}};
}

absl::StatusOr<json> ByteLevel(const json& metadata,
                               std::string_view architecture) {
  std::string name = Text(metadata, "pre");
  // Early files do not name it: these are GPT-2's.
  if (name.empty() && architecture == "gpt2") name = "gpt-2";
  std::optional<GgufWords> words = FindGgufWords(name);
  if (!words) {
    return absl::UnimplementedError(
        fmt::format("metadata: {}pre is \"{}\", but supported are {}; use the "
                    "model's Hugging Face folder",
                    kPrefix, name.substr(0, 100), GgufWordsNames()));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const Pieces pieces, ReadPieces(metadata));
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<std::string> merges,
                           Texts(metadata, "merges"));
  json result;
  result["normalizer"] = std::move(words->normalizer);
  result["pre_tokenizer"] = std::move(words->pre_tokenizer);
  result["model"] = {{"type", "BPE"},
                     {"vocab", Vocabulary(pieces)},
                     {"merges", std::move(merges)},
                     {"ignore_merges", words->ignore_merges}};
  TRIVIUM_ASSIGN_OR_RETURN(
      result["post_processor"],
      PostProcessor(metadata, pieces, {.begin = words->begin_token}));
  result["decoder"] = {{"type", "ByteLevel"}};
  result["added_tokens"] = AddedTokens(pieces);
  return result;
}

json Replace(const char* from, const char* to) {
  return {
      {"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

// Gemma's files spell runs of blanks with spaces. The model sees texts in which
// U+2581 has replaced spaces, so such pieces are respelled.
void SpellBlanks(Pieces* pieces) {
  for (size_t i = 0; i < pieces->texts.size(); ++i) {
    std::string& text = pieces->texts[i];
    if (text.empty() || text.find_first_not_of(' ') != text.npos) continue;
    std::string blanks;
    for (size_t j = 0; j < text.size(); ++j) blanks += kBlank;
    text = std::move(blanks);
    pieces->types[i] = 1;  // ordinary
  }
}

absl::StatusOr<json> SentencePiece(const json& metadata,
                                   std::string_view architecture) {
  TRIVIUM_ASSIGN_OR_RETURN(Pieces pieces, ReadPieces(metadata));
  const bool gemma = architecture.starts_with("gemma");
  if (gemma) SpellBlanks(&pieces);
  TRIVIUM_ASSIGN_OR_RETURN(std::optional<std::vector<double>> scores,
                           Numbers(metadata, "scores", pieces.texts.size()));
  json merges = json::array();
  if (Find(metadata, "merges") != nullptr) {
    TRIVIUM_ASSIGN_OR_RETURN(merges, Texts(metadata, "merges"));
  } else if (!gemma && !scores) {
    return Broken("scores", "is missing");
  } else {
    // Gemma's merges are in the order of its pieces.
    if (gemma) {
      scores.emplace(pieces.texts.size());
      for (size_t i = 0; i < scores->size(); ++i) {
        (*scores)[i] = -static_cast<double>(i);
      }
    }
    for (auto& [left, right] : MergesFromScores(pieces.texts, *scores)) {
      merges.push_back({std::move(left), std::move(right)});
    }
  }
  const auto unknown =
      std::find(pieces.types.begin(), pieces.types.end(), kUnknown);
  json model = {{"type", "BPE"},
                {"vocab", Vocabulary(pieces)},
                {"merges", std::move(merges)},
                {"fuse_unk", true},
                {"byte_fallback", true}};
  if (unknown != pieces.types.end()) {
    model["unk_token"] = pieces.texts[unknown - pieces.types.begin()];
  }
  const bool space = Flag(metadata, "add_space_prefix", !gemma);
  json normalizers = json::array(), decoders = json::array();
  if (space) {
    normalizers.push_back({{"type", "Prepend"}, {"prepend", kBlank}});
  }
  normalizers.push_back(Replace(" ", kBlank));
  decoders.push_back(Replace(kBlank, " "));
  decoders.push_back({{"type", "ByteFallback"}});
  decoders.push_back({{"type", "Fuse"}});
  if (space) {
    decoders.push_back(
        {{"type", "Strip"}, {"content", " "}, {"start", 1u}, {"stop", 0u}});
  }
  json result;
  result["normalizer"] = {{"type", "Sequence"},
                          {"normalizers", std::move(normalizers)}};
  result["model"] = std::move(model);
  TRIVIUM_ASSIGN_OR_RETURN(result["post_processor"],
                           PostProcessor(metadata, pieces, {.begin = true}));
  result["decoder"] = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
  result["added_tokens"] = AddedTokens(pieces, architecture == "phi3");
  return result;
}

// BERT's pieces begin words with U+2581 instead of continuing them with "##".
// Files before 2026 do not say whether letters are made small; the vocabulary
// shows it.
absl::StatusOr<json> WordPiece(const json& metadata) {
  TRIVIUM_ASSIGN_OR_RETURN(Pieces pieces, ReadPieces(metadata));
  bool capitals = false;
  for (size_t i = 0; i < pieces.texts.size(); ++i) {
    std::string& text = pieces.texts[i];
    const bool special =
        text.size() > 2 && text.front() == '[' && text.back() == ']';
    if (text.starts_with(kBlank)) {
      text.erase(0, sizeof(kBlank) - 1);
    } else if (pieces.types[i] != kControl && pieces.types[i] != kUnknown &&
               !special) {
      text.insert(0, "##");
    } else {
      continue;
    }
    capitals |= std::any_of(text.begin(), text.end(),
                            [](char c) { return c >= 'A' && c <= 'Z'; }) &&
                text.front() != '[';
  }
  TRIVIUM_ASSIGN_OR_RETURN(const auto unknown,
                           Special(metadata, pieces, "unknown_token_id"));
  json result;
  result["normalizer"] = {
      {"type", "BertNormalizer"},
      {"clean_text", true},
      {"handle_chinese_chars", true},
      {"strip_accents", nullptr},
      {"lowercase", Flag(metadata, "normalizer.lowercase", !capitals)}};
  result["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  result["model"] = {{"type", "WordPiece"},
                     {"vocab", Vocabulary(pieces)},
                     {"unk_token", unknown ? unknown->second : "[UNK]"},
                     {"continuing_subword_prefix", "##"}};
  TRIVIUM_ASSIGN_OR_RETURN(
      result["post_processor"],
      PostProcessor(metadata, pieces, {.begin = true, .end = true}));
  result["decoder"] = {{"type", "WordPiece"}};
  result["added_tokens"] = AddedTokens(pieces);
  return result;
}

// Writes bytes in base64, as tokenizer.json has SentencePiece's table.
std::string Base64(const std::string& bytes) {
  std::string text;
  absl::Base64Escape(bytes, &text);
  return text;
}

// SentencePiece's unigram model, of T5 and XLM-R.
absl::StatusOr<json> Unigram(const json& metadata,
                             std::string_view architecture) {
  TRIVIUM_ASSIGN_OR_RETURN(const Pieces pieces, ReadPieces(metadata));
  TRIVIUM_ASSIGN_OR_RETURN(const std::optional<std::vector<double>> scores,
                           Numbers(metadata, "scores", pieces.texts.size()));
  if (!scores) return Broken("scores", "is missing");
  json vocabulary = json::array();
  std::optional<size_t> unknown;
  for (size_t i = 0; i < pieces.texts.size(); ++i) {
    vocabulary.push_back({pieces.texts[i], (*scores)[i]});
    if (pieces.types[i] == kUnknown && !unknown) unknown = i;
  }
  if (!unknown) return Broken("token_type", "has no unknown piece");
  json result;
  json normalizers = json::array();
  if (const json* table = Find(metadata, "precompiled_charsmap")) {
    std::string bytes;
    if (!table->is_array()) {
      return Broken("precompiled_charsmap", "is not a list");
    }
    for (const json& byte : *table) {
      if (!byte.is_number_integer()) {
        return Broken("precompiled_charsmap", "has elements that are no bytes");
      }
      bytes.push_back(static_cast<char>(byte.get<int64_t>() & 0xFF));
    }
    if (!bytes.empty()) {
      normalizers.push_back(
          {{"type", "Precompiled"}, {"precompiled_charsmap", Base64(bytes)}});
    }
  }
  if (Flag(metadata, "remove_extra_whitespaces", true)) {
    normalizers.push_back(
        {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    normalizers.push_back({{"type", "Replace"},
                           {"pattern", {{"Regex", " {2,}"}}},
                           {"content", " "}});
  }
  result["normalizer"] = {{"type", "Sequence"},
                          {"normalizers", std::move(normalizers)}};
  const json words = {
      {"type", "Metaspace"},
      {"replacement", kBlank},
      {"add_prefix_space", Flag(metadata, "add_space_prefix", true)},
      {"prepend_scheme",
       Flag(metadata, "add_space_prefix", true) ? "always" : "never"}};
  result["pre_tokenizer"] = words;
  result["model"] = {{"type", "Unigram"},
                     {"vocab", std::move(vocabulary)},
                     {"unk_id", *unknown}};
  const bool t5 = architecture.starts_with("t5");
  TRIVIUM_ASSIGN_OR_RETURN(
      result["post_processor"],
      PostProcessor(metadata, pieces,
                    {.begin = !t5, .end = true, .twice = !t5}));
  result["decoder"] = words;
  result["added_tokens"] = AddedTokens(pieces);
  return result;
}

}  // namespace

absl::StatusOr<json> GgufTokenizerJson(const json& metadata,
                                       std::string_view architecture) {
  if (Find(metadata, "model") == nullptr) return json();
  const std::string model = Text(metadata, "model");
  if (model == "none" || model == "no_vocab") return json();
  if (model == "gpt2") return ByteLevel(metadata, architecture);
  // Gemma 4's, which has merges instead of scores.
  if (model == "gemma4" && Find(metadata, "merges") == nullptr) {
    return Broken("merges", "is missing");
  }
  if (model == "llama" || model == "gemma4") {
    return SentencePiece(metadata, architecture);
  }
  if (model == "bert") return WordPiece(metadata);
  if (model == "t5") return Unigram(metadata, architecture);
  return absl::UnimplementedError(fmt::format(
      "metadata: {}model is \"{}\", but supported are gpt2, "
      "llama, gemma4, bert and t5; use the model's Hugging Face folder",
      kPrefix, model.substr(0, 100)));
}

json GgufTokenizerConfig(const json& metadata) {
  json config = json::object();
  const json* const tokens = Find(metadata, "tokens");
  for (const auto& [role, key] : {std::pair("bos_token", "bos_token_id"),
                                  {"eos_token", "eos_token_id"},
                                  {"unk_token", "unknown_token_id"},
                                  {"pad_token", "padding_token_id"},
                                  {"cls_token", "cls_token_id"},
                                  {"sep_token", "seperator_token_id"},
                                  {"mask_token", "mask_token_id"}}) {
    const json* const value = Find(metadata, key);
    if (value == nullptr || tokens == nullptr || !tokens->is_array()) continue;
    const std::optional<size_t> id = IdBelow(tokens->size(), *value);
    if (id) config[role] = (*tokens)[*id];
  }
  if (Flag(metadata, "add_bos_token", false) && config.contains("bos_token")) {
    config[kChatsBeginWith] = config["bos_token"];
  }
  // Additional templates have names: "tokenizer.chat_template.tool_use".
  const std::string chat = "tokenizer.chat_template";
  json templates = json::array();
  for (const auto& [key, value] : metadata.items()) {
    if (!key.starts_with(chat + ".") && key != chat) continue;
    const std::string name =
        key == chat ? "default" : key.substr(chat.size() + 1);
    templates.push_back({{"name", name}, {"template", value}});
  }
  if (!templates.empty()) config["chat_template"] = std::move(templates);
  return config;
}

}  // namespace trivium
