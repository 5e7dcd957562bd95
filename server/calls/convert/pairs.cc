// Converts pairs of texts to ids, and finds prompts.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "model/pair_template.h"
#include "server/calls/convert/convert.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

EncodeOptions PairOptions(const InputOptions& options) {
  const int limit = options.model->info().max_source_tokens;
  EncodeOptions encode;
  encode.max_tokens = options.truncate ? limit : 0;
  encode.truncate_left = options.truncate_left;
  encode.most_tokens = limit;
  encode.check_alive = options.check_alive;
  return encode;
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

absl::StatusOr<FirstOfPairs> ConvertFirst(const std::string& text,
                                          const std::string& path,
                                          const InputOptions& options) {
  TRIVIUM_RETURN_IF_ERROR(CheckText(text, path, options));
  FirstOfPairs first;
  first.text = text;
  if (options.model->pair_template() != nullptr) return first;
  TRIVIUM_ASSIGN_OR_RETURN(first.tokens,
                           AboutText(options.model->tokenizer()->TokenizeFirst(
                                         text, PairOptions(options)),
                                     path));
  return first;
}

absl::StatusOr<PreparedInput> ConvertSecond(const FirstOfPairs& first,
                                            const std::string& text,
                                            const std::string& path,
                                            const InputOptions& options) {
  TRIVIUM_RETURN_IF_ERROR(CheckText(text, path, options));
  const Model& model = *options.model;
  const Tokenizer& tokenizer = *model.tokenizer();
  const PairTemplate* const pairs = model.pair_template();
  const EncodeOptions encode = PairOptions(options);
  TRIVIUM_ASSIGN_OR_RETURN(
      Encoding encoding,
      AboutText(pairs == nullptr
                    ? tokenizer.EncodeSecond(first.tokens, text, encode)
                    : pairs->Encode({.query = first.text,
                                     .document = text,
                                     .prompt = options.prompt},
                                    tokenizer, encode),
                path));
  TRIVIUM_RETURN_IF_ERROR(CheckTokenCount(
      encoding, path, model.info().max_source_tokens, kShorten));
  PreparedInput out;
  out.truncated = encoding.truncated;
  CountTruncated(out, options);
  out.source = ToSource(std::move(encoding), model.info());
  return out;
}

}  // namespace trivium
