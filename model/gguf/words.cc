#include "model/gguf/words.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace trivium {
namespace {

using nlohmann::json;

constexpr char kLlama3[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr char kQwen2[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr char kQwen35[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr char kSeed[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}|)"
    R"( ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr char kDeepSeek3[] =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)"
    R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
// Chinese, Hiragana and Katakana.
constexpr char kEastAsian[] =
    "[\xE4\xB8\x80-\xE9\xBE\xA5\xE3\x81\x80-\xE3\x82\x9F"
    "\xE3\x82\xA0-\xE3\x83\xBF]+";
// Tekken's words, with English endings and groups of three digits.
constexpr char kGpt4o[] =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr char kTekken[] =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// BLOOM's, with the punctuation of several scripts.
constexpr char kBloomWords[] =
    " ?[^(\\s|.,!?\xE2\x80\xA6\xE3\x80\x82\xEF\xBC\x8C\xE3\x80\x81"
    "\xE0\xA5\xA4\xDB\x94\xD8\x8C)]+";

enum class Kind {
  kGpt2,    // ByteLevel's own words
  kDigits,  // the same, with single digits
  kLlama3,
  kQwen2,
  kQwen35,
  kSeed,
  kTekken,
  kGpt4o,
  kDeepSeek3,
  kDeepseekCoder,
  kBloom,
  kFalcon,
};

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"bloom", Kind::kBloom},
    {"chatglm-bpe", Kind::kLlama3},
    {"codeshell", Kind::kDigits},
    {"command-r", Kind::kDigits},
    {"dbrx", Kind::kLlama3},
    {"deepseek-coder", Kind::kDeepseekCoder},
    {"deepseek-r1-qwen", Kind::kQwen2},
    {"deepseek-v3", Kind::kDeepSeek3},
    {"exaone", Kind::kDigits},
    {"exaone4", Kind::kGpt2},
    {"f2llmv2", Kind::kQwen2},
    {"falcon", Kind::kFalcon},
    {"falcon-h1", Kind::kLlama3},
    {"falcon3", Kind::kLlama3},
    {"glm4", Kind::kLlama3},
    {"gpt-2", Kind::kGpt2},
    {"gpt-4o", Kind::kGpt4o},
    {"granite-docling", Kind::kGpt2},
    {"hunyuan", Kind::kQwen2},
    {"hunyuan-dense", Kind::kDeepSeek3},
    {"jina-v2-de", Kind::kGpt2},
    {"jina-v2-es", Kind::kGpt2},
    {"jina-v5-nano", Kind::kLlama3},
    {"lfm2", Kind::kLlama3},
    {"llama-bpe", Kind::kLlama3},
    {"llama-v3", Kind::kLlama3},
    {"llama3", Kind::kLlama3},
    {"llama4", Kind::kGpt4o},
    {"megrez", Kind::kQwen2},
    {"minerva-7b", Kind::kDigits},
    {"modern-bert", Kind::kGpt2},
    {"mpt", Kind::kGpt2},
    {"olmo", Kind::kGpt2},
    {"phi-2", Kind::kGpt2},
    {"pixtral", Kind::kLlama3},
    {"qwen2", Kind::kQwen2},
    {"qwen35", Kind::kQwen35},
    {"refact", Kind::kDigits},
    {"roberta-bpe", Kind::kGpt2},
    {"seed-coder", Kind::kSeed},
    {"smaug-bpe", Kind::kLlama3},
    {"smollm", Kind::kDigits},
    {"stablelm2", Kind::kQwen2},
    {"starcoder", Kind::kDigits},
    {"tekken", Kind::kTekken},
};

json Split(const char* expression) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", expression}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

json ByteLevel(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

json Digits() { return {{"type", "Digits"}, {"individual_digits", true}}; }

json Sequence(json steps) {
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

json PreTokenizer(Kind kind) {
  switch (kind) {
    case Kind::kGpt2:
      return ByteLevel(true);
    case Kind::kDigits:
      return Sequence({Digits(), ByteLevel(true)});
    case Kind::kLlama3:
      return Sequence({Split(kLlama3), ByteLevel(false)});
    case Kind::kQwen2:
      return Sequence({Split(kQwen2), ByteLevel(false)});
    case Kind::kQwen35:
      return Sequence({Split(kQwen35), ByteLevel(false)});
    case Kind::kSeed:
      return Sequence({Split(kSeed), ByteLevel(false)});
    case Kind::kDeepSeek3:
      return Sequence({Split(R"(\p{N}{1,3})"), Split(kEastAsian),
                       Split(kDeepSeek3), ByteLevel(false)});
    case Kind::kTekken:
      return Sequence({Split(kTekken), ByteLevel(false)});
    case Kind::kGpt4o:
      return Sequence({Split(kGpt4o), ByteLevel(false)});
    case Kind::kDeepseekCoder:
      return Sequence({Split("[\r\n]"), Split(R"(\s?\p{L}+)"),
                       Split(R"(\s?\p{P}+)"),
                       // Chinese, and the other characters of its authors'
                       // range.
                       Split("[\xE4\xB8\x80-\xE9\xBE\xA5\xE0\xA0\x80-"
                             "\xE4\xB8\x80\xEA\xB0\x80-\xED\x9F\xBF]+"),
                       Digits(), ByteLevel(false)});
    case Kind::kBloom:
      return Sequence({Split(kBloomWords), ByteLevel(false)});
    case Kind::kFalcon:
      return Sequence({{{"type", "Punctuation"}, {"behavior", "Contiguous"}},
                       ByteLevel(true),
                       {{"type", "Digits"}, {"individual_digits", false}},
                       Split("[0-9][0-9][0-9]")});
  }
  return nullptr;
}

}  // namespace

std::optional<GgufWords> FindGgufWords(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [name](const auto& known) { return known.first == name; });
  if (found == std::end(kKinds)) return std::nullopt;
  const Kind kind = found->second;
  GgufWords words;
  words.pre_tokenizer = PreTokenizer(kind);
  if (kind == Kind::kQwen2 || kind == Kind::kQwen35 || name == "modern-bert") {
    words.normalizer = {{"type", "NFC"}};
  }
  // llama.cpp's list excludes some names with LLaMA 3's words.
  words.ignore_merges =
      kind == Kind::kTekken || (kind == Kind::kLlama3 && name != "dbrx" &&
                                name != "smaug-bpe" && name != "chatglm-bpe");
  words.begin_token = words.ignore_merges && name != "glm4";
  return words;
}

std::string GgufWordsNames() {
  std::string names;
  for (const auto& [name, kind] : kKinds) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

}  // namespace trivium
