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

enum class Kind {
  kGpt2,    // ByteLevel's own words
  kDigits,  // the same, with single digits
  kLlama3,
  kQwen2,
  kTekken,
  kGpt4o,
  kDeepseekCoder,
};

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"command-r", Kind::kDigits},
    {"dbrx", Kind::kLlama3},
    {"deepseek-coder", Kind::kDeepseekCoder},
    {"deepseek-r1-qwen", Kind::kQwen2},
    {"falcon3", Kind::kLlama3},
    {"gpt-2", Kind::kGpt2},
    {"gpt-4o", Kind::kGpt4o},
    {"llama-bpe", Kind::kLlama3},
    {"llama-v3", Kind::kLlama3},
    {"llama3", Kind::kLlama3},
    {"llama4", Kind::kGpt4o},
    {"megrez", Kind::kQwen2},
    {"minerva-7b", Kind::kDigits},
    {"olmo", Kind::kGpt2},
    {"pixtral", Kind::kLlama3},
    {"qwen2", Kind::kQwen2},
    {"smaug-bpe", Kind::kLlama3},
    {"smollm", Kind::kDigits},
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
  if (kind == Kind::kQwen2) words.normalizer = {{"type", "NFC"}};
  // llama.cpp's list excludes some names with LLaMA 3's words.
  words.ignore_merges =
      kind == Kind::kTekken ||
      (kind == Kind::kLlama3 && name != "dbrx" && name != "smaug-bpe");
  words.begin_token = words.ignore_merges;
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
