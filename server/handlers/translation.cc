#include "server/handlers/translation.h"

#include <fmt/format.h>

#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

// About what a TokenLogprob with its piece takes on the wire.
constexpr int64_t kLogprobBytes = 24;

}  // namespace

absl::StatusOr<Translation> Translation::Create(
    const Environment& environment, const ServedModel& served,
    const v1::TranslateOptions& options, const std::string& path,
    std::function<absl::Status()> wanted) {
  const Model& model = *served.model;
  if (model.info().design != Design::kEncoderDecoder) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' is not an encoder-decoder, so it cannot translate; "
        "GetModel tells the calls it serves",
        served.name));
  }
  Translation result;
  result.model_ = &model;
  InputOptions& input = result.input_options_;
  TRIVIUM_ASSIGN_OR_RETURN(input.direction,
                           ConvertDirection(options, path + ".", model));
  TRIVIUM_ASSIGN_OR_RETURN(
      result.decoding_,
      ConvertDecoding(options.decoding(), path + ".decoding", input.direction,
                      model, environment.limits));
  input.model = &model;
  input.limits = &environment.limits;
  TRIVIUM_RETURN_IF_ERROR(
      ConvertTruncation(options, path + ".", environment, served, &input));
  input.decodes = true;
  input.wanted = std::move(wanted);
  result.tokens_ = options.tokens();
  const int layers = model.info().decoder_layers;
  const int heads = model.info().decoder_heads;
  if (options.has_cross_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        result.cross_attention_,
        ConvertSelection(options.cross_attention(), path + ".cross_attention",
                         layers, heads));
  }
  if (options.has_decoder_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        result.decoder_attention_,
        ConvertSelection(options.decoder_attention(),
                         path + ".decoder_attention", layers, heads));
  }
  return result;
}

absl::StatusOr<Translation::Item> Translation::Prepare(
    const v1::Input& input, const std::string& path) const {
  Item item;
  TRIVIUM_ASSIGN_OR_RETURN(item.input,
                           ConvertInput(input, path, input_options_));
  if (item.input.blank) return item;
  TRIVIUM_ASSIGN_OR_RETURN(
      DecodingOptions decoding,
      ForInput(decoding_, item.input, input_options_.direction,
               /*per_source=*/true, path, *model_));
  const int64_t tokens = int64_t{decoding.hypotheses} * decoding.max_new_tokens;
  const int layers = model_->info().decoder_layers;
  const int heads = model_->info().decoder_heads;
  const auto add_maps = [&](const std::optional<MapSelection>& maps,
                            size_t keys) {
    if (!maps) return;
    item.response_bytes +=
        decoding.hypotheses * AttentionBytes(*maps, layers, heads,
                                             decoding.max_new_tokens,
                                             static_cast<int64_t>(keys));
  };
  add_maps(cross_attention_, item.input.source.ids.size());
  add_maps(decoder_attention_,
           item.input.prefix.size() + decoding.max_new_tokens - 1);
  item.response_bytes += TraceBytes(decoding);
  if (decoding.top_logprobs > 0) {
    item.response_bytes += tokens * (1 + decoding.top_logprobs) * kLogprobBytes;
  }
  Request& request = item.request;
  request.source = item.input.source;
  request.prefix = item.input.prefix;
  request.default_max_new_tokens = decoding_.default_max_new_tokens;
  request.decoding = std::move(decoding);
  request.stop = decoding_.matcher;
  if (cross_attention_) request.cross_attention = cross_attention_->maps;
  if (decoder_attention_) request.decoder_attention = decoder_attention_->maps;
  return item;
}

v1::TranslateResult Translation::Result(const PreparedInput& input,
                                        RequestResult result) const {
  const HypothesisView view = {model_->tokenizer(), &decoding_.stop,
                               decoding_.options.stop_ids, tokens_};
  v1::TranslateResult out;
  for (size_t i = 0; i < result.hypotheses.size(); ++i) {
    v1::Hypothesis* hypothesis = out.add_hypotheses();
    *hypothesis = ConvertHypothesis(result.hypotheses[i], view);
    if (i < result.cross_attention.size()) {
      *hypothesis->mutable_cross_attention() =
          ConvertAttention(result.cross_attention[i], cross_attention_->rows);
    }
    if (i < result.decoder_attention.size()) {
      *hypothesis->mutable_decoder_attention() = ConvertAttention(
          result.decoder_attention[i], decoder_attention_->rows);
    }
  }
  if (result.trace) {
    *out.mutable_beam_trace() =
        ConvertTrace(*result.trace, model_->tokenizer());
  }
  out.set_source_token_count(static_cast<uint32_t>(input.source.ids.size()));
  out.set_truncated_tokens(static_cast<uint32_t>(input.truncated));
  if (tokens_) {
    AddPieces(input.source.ids, model_->tokenizer(), TextSide::kSource,
              out.mutable_source_pieces());
    AddPieces(input.prefix, model_->tokenizer(), TextSide::kTarget,
              out.mutable_prefix_pieces());
  }
  if (decoding_.options.sample) out.set_seed(decoding_.options.seed);
  return out;
}

v1::TranslateResult Translation::BlankResult() const {
  v1::TranslateResult out;
  out.add_hypotheses()->set_finish_reason(v1::FINISH_REASON_END);
  if (decoding_.options.sample) out.set_seed(decoding_.options.seed);
  return out;
}

}  // namespace trivium
