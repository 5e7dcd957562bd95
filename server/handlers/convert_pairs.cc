// Pairs of texts to ids, and prompts.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/pair_template.h"
#include "server/handlers/convert.h"
#include "server/handlers/status.h"

namespace trivium {
namespace {

absl::StatusOr<std::vector<Encoding>> EncodeTexts(
    const std::string& first, const std::vector<std::string_view>& seconds,
    const EncodeOptions& encode, const InputOptions& options) {
  const Tokenizer& tokenizer = *options.model->tokenizer();
  const PairTemplate* const pairs = options.model->pair_template();
  if (pairs == nullptr) return tokenizer.EncodePairs(first, seconds, encode);
  std::vector<Encoding> encodings;
  for (const std::string_view second : seconds) {
    if (encode.wanted) TRIVIUM_RETURN_IF_ERROR(encode.wanted());
    TRIVIUM_ASSIGN_OR_RETURN(
        encodings.emplace_back(),
        pairs->Encode(
            {.query = first, .document = second, .prompt = options.prompt},
            tokenizer, encode));
  }
  return encodings;
}

}  // namespace

absl::StatusOr<std::string> ConvertPrompt(
    std::optional<std::string_view> prompt,
    std::optional<std::string_view> prompt_name, const std::string& path,
    const InputOptions& options) {
  const SentenceEncoder& sentences = options.model->sentence_encoder();
  if (prompt) {
    TRIVIUM_RETURN_IF_ERROR(
        CheckTextBytes(prompt->size(), path + "prompt", *options.limits));
    return std::string(*prompt);
  }
  if (!prompt_name) return sentences.default_prompt();
  const auto found = sentences.prompts().find(std::string(*prompt_name));
  if (found != sentences.prompts().end()) return found->second;
  std::string known;
  for (const auto& one : sentences.prompts()) {
    known += (known.empty() ? "" : ", ") + one.first;
  }
  return InvalidField(path + "prompt_name",
                      fmt::format("is '{}'; the model's folder has {}",
                                  Shorten(std::string(*prompt_name)),
                                  known.empty() ? "no prompts" : known));
}

absl::StatusOr<std::vector<PreparedInput>> ConvertPairs(
    const std::string& first, const std::string& first_path,
    const google::protobuf::RepeatedPtrField<std::string>& seconds,
    const std::string& seconds_path, const InputOptions& options) {
  const auto path_of = [&](int i) {
    return fmt::format("{}[{}]", seconds_path, i);
  };
  TRIVIUM_RETURN_IF_ERROR(CheckText(first, first_path, options));
  std::vector<std::string_view> texts;
  for (int i = 0; i < seconds.size(); ++i) {
    TRIVIUM_RETURN_IF_ERROR(CheckText(seconds[i], path_of(i), options));
    texts.push_back(seconds[i]);
  }
  const ModelInfo& info = options.model->info();
  EncodeOptions encode;
  encode.max_tokens = options.truncate ? info.max_source_tokens : 0;
  encode.truncate_left = options.truncate_left;
  encode.most_tokens = info.max_source_tokens;
  encode.wanted = options.wanted;
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Encoding> encodings,
                           EncodeTexts(first, texts, encode, options));
  std::vector<PreparedInput> out(encodings.size());
  for (size_t i = 0; i < encodings.size(); ++i) {
    TRIVIUM_RETURN_IF_ERROR(CheckTokenCount(encodings[i],
                                            path_of(static_cast<int>(i)),
                                            info.max_source_tokens, kShorten));
    out[i].truncated = encodings[i].truncated;
    CountTruncated(out[i], options);
    out[i].source = ToSource(std::move(encodings[i]), info);
  }
  return out;
}

}  // namespace trivium
