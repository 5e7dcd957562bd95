#include "server/calls/convert/translating_model.h"

#include <fmt/format.h>

#include "server/errors/status.h"
#include "server/translation/pipeline/translation_options.h"

namespace trivium {
namespace {

// About what these take on the wire: a TokenLogprob with its piece, a
// GlossaryUse, a TargetWord with its source word.
constexpr int64_t kLogprobBytes = 24;
constexpr int64_t kUseBytes = 24;
constexpr int64_t kWordBytes = 48;

void SetPrefix(const GivenPrefix& prefix, v1::Input* input) {
  if (prefix.text) input->set_target_prefix(*prefix.text);
  if (prefix.ids) {
    input->mutable_target_prefix_ids()->mutable_ids()->Add(prefix.ids->begin(),
                                                           prefix.ids->end());
  }
}

}  // namespace

absl::Status CallTranslatingModel::CheckText(const std::string& text,
                                             const std::string& path) const {
  return trivium::CheckText(text, path, input_options_);
}

absl::StatusOr<PreparedInput> CallTranslatingModel::Read(
    const Text& text) const {
  const int64_t most = input_options_.limits->max_text_bytes;
  if (static_cast<int64_t>(text.text.size()) > most) {
    // With placeholders a text may be longer than the client sent it.
    if (text.divides) {
      PreparedInput too_long;
      too_long.too_long = true;
      return too_long;
    }
    return InvalidField(
        text.path + ".text",
        fmt::format("has {} bytes with a placeholder for each protected span; "
                    "a text has at most {}: send it in parts",
                    text.text.size(), most));
  }
  v1::Input input;
  input.set_text(std::string(text.text));
  if (text.prefix != nullptr) SetPrefix(*text.prefix, &input);
  InputOptions options = input_options_;
  options.divides = text.divides;
  options.tokens = text.tokens;
  return model().translator_prompt() != nullptr
             ? ConvertToPrompt(input, text.path, options)
             : ConvertInput(input, text.path, options);
}

absl::StatusOr<PreparedInput> CallTranslatingModel::ReadInput(
    const TranslationInput& input) const {
  v1::Input message;
  if (input.pair) {
    message.mutable_pair()->set_first(input.pair->first);
    message.mutable_pair()->set_second(input.pair->second);
  }
  if (input.ids) {
    const auto& [ids, types] = *input.ids;
    message.mutable_ids()->mutable_ids()->Add(ids.begin(), ids.end());
    message.mutable_ids()->mutable_type_ids()->Add(types.begin(), types.end());
  }
  SetPrefix(input.prefix, &message);
  absl::StatusOr<PreparedInput> read =
      ConvertInput(message, input.path, input_options_);
  // Ids are a whole prompt.
  if (read.ok()) read->text_tokens = static_cast<int>(read->prefix.size());
  return read;
}

absl::StatusOr<DecodingOptions> CallTranslatingModel::DecodingFor(
    const CallDecoding& decoding, const PreparedInput& input,
    const std::string& path) const {
  return ForInput(decoding, input, direction(), per_source_, path, model());
}

int64_t CallTranslatingModel::ResponseBytes(const TranslationOptions& options,
                                            const Request& request,
                                            size_t term_uses) const {
  const DecodingOptions& decoding = *request.decoding;
  const int64_t tokens = int64_t{decoding.hypotheses} * decoding.max_new_tokens;
  const ModelInfo& info = model().info();
  int64_t bytes = static_cast<int64_t>(term_uses) * kUseBytes;
  const auto add_maps = [&](const std::optional<MapSelection>& maps,
                            size_t keys) {
    if (!maps) return;
    bytes += decoding.hypotheses * AttentionBytes(*maps, info.decoder_layers,
                                                  info.decoder_heads,
                                                  decoding.max_new_tokens,
                                                  static_cast<int64_t>(keys));
  };
  add_maps(options.cross_attention, request.source.ids.size());
  add_maps(options.decoder_attention,
           request.prefix.size() + decoding.max_new_tokens - 1);
  bytes += TraceBytes(decoding);
  if (options.report_words) bytes += kWordBytes * tokens;
  if (decoding.top_logprobs > 0) {
    bytes += tokens * (1 + decoding.top_logprobs) * kLogprobBytes;
  }
  return bytes;
}

}  // namespace trivium
